"""Parse expressions into sqlglot nodes with Flink's operator precedence.

sqlglot's own expression grammar accepts many dialects at once: it tolerates a missing THEN or BETWEEN ... AND, rewrites
functions while parsing, and gives ``||`` and IS a different precedence. Here, each operator appears once, at Flink's
precedence level.
"""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp
from sqlglot.parser import Parser
from sqlglot.tokens import TokenType

from kafka_sql.sql.grammar.call_parser import CallParser

_COMPARISONS: Final[dict[TokenType, type[exp.Expr]]] = {**Parser.EQUALITY, **Parser.COMPARISON}
_FACTORS: Final[dict[TokenType, type[exp.Expr]]] = {**Parser.FACTOR, TokenType.DPIPE: exp.DPipe}
_NUMBER: Final = re.compile(r"([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]+)?")
_FUNCTIONS_WITHOUT_PARENTHESES: Final = {
    "CURRENT_TIMESTAMP",
    "CURRENT_ROW_TIMESTAMP",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "LOCALTIME",
    "LOCALTIMESTAMP",
}
_RESERVED: Final = set(
    """AND AS BETWEEN BY ELSE END EXISTS FROM GROUP HAVING IN IS LIKE NOT ON OR ORDER SELECT SIMILAR THEN UNION WHEN
    WHERE WITH""".split()  # noqa: SIM905
)


class ExpressionParser(CallParser):
    """Grammar of types and expressions, from the lowest operator precedence to the highest."""

    def read_expression(self) -> exp.Expr:
        with self.nested("the expression"):
            return self._read_or()

    def _read_or(self) -> exp.Expr:
        this = self._read_and()
        while self.take_words("OR"):
            this = exp.Or(this=this, expression=self._read_and())
        return this

    def _read_and(self) -> exp.Expr:
        this = self._read_not()
        while self.take_words("AND"):
            this = exp.And(this=this, expression=self._read_not())
        return this

    def _read_not(self) -> exp.Expr:
        if not self.take_words("NOT"):
            return self._read_is_test()
        with self.nested("the expression"):
            return exp.Not(this=self._read_not())

    def _read_is_test(self) -> exp.Expr:
        this = self._read_comparison()
        while self.take_words("IS"):
            negated = self.take_words("NOT")
            if self.take_words("DISTINCT", "FROM"):
                node: type[exp.Binary] = exp.NullSafeEQ if negated else exp.NullSafeNEQ
                this = node(this=this, expression=self._read_predicate())
                continue
            if self.take_words("JSON"):
                kind = self.take_one_of(("VALUE", "OBJECT", "ARRAY", "SCALAR")) or "VALUE"
                this = exp.Anonymous(this="IS JSON", expressions=[exp.Var(this=kind), this])
            elif word := self.take_one_of(("NULL", "TRUE", "FALSE", "UNKNOWN")):
                this = exp.Is(this=this, expression=exp.Var(this=word))
            else:
                self.fail("expected NULL, TRUE, FALSE, UNKNOWN, JSON or DISTINCT FROM after IS [NOT]")
            this = exp.Not(this=this) if negated else this
        return this

    def _read_comparison(self) -> exp.Expr:
        this = self._read_predicate()
        if self.take_words("OVERLAPS"):
            return exp.Overlaps(this=this, expression=self._read_predicate())
        if self._curr.token_type not in _COMPARISONS:
            return this
        node = _COMPARISONS[self._curr.token_type]
        self._advance()
        this = node(this=this, expression=self._read_predicate())
        if self._curr.token_type in _COMPARISONS:
            self.fail("chained comparisons need parentheses")
        return this

    def _read_predicate(self) -> exp.Expr:
        this = self.read_operand()
        negated = self.take_words("NOT")
        if self.take_words("BETWEEN"):
            symmetric = self.take_words("SYMMETRIC")
            if not symmetric:
                self.take_words("ASYMMETRIC")
            low = self.read_operand()
            self.expect_words("AND", message="expected AND in BETWEEN")
            this = exp.Between(this=this, low=low, high=self.read_operand(), symmetric=symmetric)
        elif self.take_words("IN"):
            this = exp.In(this=this, expressions=self.read_arguments("a list in parentheses after IN"))
        elif operator := self.take_one_of(("LIKE", "SIMILAR TO")):
            node = exp.Like if operator == "LIKE" else exp.SimilarTo
            this = node(this=this, expression=self.read_operand())
            if self.take_words("ESCAPE"):
                this = exp.Escape(this=this, expression=self.read_operand())
        elif negated:
            self.fail("expected BETWEEN, IN, LIKE or SIMILAR TO after NOT")
        else:
            return this
        return exp.Not(this=this) if negated else this

    def read_operand(self) -> exp.Expr:
        this = self._read_product()
        while node := self.TERM.get(self._curr.token_type):
            self._advance()
            this = node(this=this, expression=self._read_product())
        return this

    def _read_product(self) -> exp.Expr:
        this = self._read_sign()
        while node := _FACTORS.get(self._curr.token_type):
            self._advance()
            this = node(this=this, expression=self._read_sign())
        return this

    def _read_sign(self) -> exp.Expr:
        negative = bool(self._match(TokenType.DASH))
        if not negative and not self._match(TokenType.PLUS):
            return self._read_access()
        with self.nested("the expression"):
            this = self._read_sign()
        return exp.Neg(this=this) if negative else this

    def _read_access(self) -> exp.Expr:
        this = self._read_primary()
        while True:
            if self._match(TokenType.DOT):
                this = exp.Dot(this=this, expression=exp.to_identifier(self.take_identifier("a field name")))
            elif self._match(TokenType.L_BRACKET):
                this = exp.Bracket(this=this, expressions=[self.read_expression()])
                self.expect(TokenType.R_BRACKET, "expected ']'")
            else:
                return this

    def _read_primary(self) -> exp.Expr:
        if self._match(TokenType.NUMBER):
            return self._read_number("")
        if self._curr.token_type == TokenType.DOT and self._next.token_type == TokenType.NUMBER:
            self._advance(2)
            return self._read_number(".")
        if self._match(TokenType.STRING):
            return exp.Literal.string(self._prev.text)
        if self._match(TokenType.L_PAREN):
            if self._curr.text.upper() in ("SELECT", "WITH", "VALUES"):
                self.fail("a computed column cannot contain a subquery")
            this = self.read_expression()
            second = self.read_expression() if self._match(TokenType.COMMA) else None
            self.expect(TokenType.R_PAREN, "expected ')'")
            return exp.Paren(this=this) if second is None else exp.Tuple(expressions=[this, second])
        if self._match(TokenType.IDENTIFIER):
            return exp.column(exp.to_identifier(self._prev.text, quoted=True))
        if self._curr.token_type != TokenType.VAR or self._curr.text.upper() in _RESERVED:
            self.fail("expected an expression")
        return self._read_word()

    def _read_number(self, start: str) -> exp.Expr:
        text = start + self._prev.text
        if not _NUMBER.fullmatch(text):
            self.fail("expected a number", self._prev)
        return exp.Literal.number(text)

    def _read_word(self) -> exp.Expr:
        self._advance()
        text, word = self._prev.text, self._prev.text.upper()
        if word == "NULL":
            return exp.Null()
        if word in ("TRUE", "FALSE"):
            return exp.Boolean(this=word == "TRUE")
        if word == "CASE":
            return self._read_case()
        if word == "INTERVAL":
            return self._read_interval()
        if word in ("DATE", "TIME", "TIMESTAMP") and self._match(TokenType.STRING):
            return exp.Introducer(this=exp.Var(this=word), expression=exp.Literal.string(self._prev.text))
        if self._curr.token_type == TokenType.L_PAREN:
            return self.read_call(word)
        if word in ("ARRAY", "MAP") and self._match(TokenType.L_BRACKET):
            return exp.Anonymous(
                this=f"{word}[]", expressions=self.read_items(TokenType.R_BRACKET, "expected ',' or ']'")
            )
        if word in _FUNCTIONS_WITHOUT_PARENTHESES:
            return exp.Anonymous(this=word, expressions=[])
        return exp.column(text)

    def _read_case(self) -> exp.Expr:
        this = None if self._curr.text.upper() == "WHEN" else self.read_expression()
        branches = []
        while self.take_words("WHEN"):
            condition = self.read_expression()
            self.expect_words("THEN", message="expected THEN in CASE")
            branches.append(exp.If(this=condition, true=self.read_expression()))
        if not branches:
            self.fail("expected WHEN in CASE")
        default = self.read_expression() if self.take_words("ELSE") else None
        self.expect_words("END", message="expected WHEN, ELSE or END in CASE")
        return exp.Case(this=this, ifs=branches, default=default)

    def _read_interval(self) -> exp.Expr:
        sign = "-" if self._match(TokenType.DASH) else ""
        text = self.take_string("the length of the interval")
        units = [self._read_interval_unit()]
        if self.take_words("TO"):
            units.append(self._read_interval_unit())
        return exp.Interval(this=exp.Literal.string(sign + text), unit=exp.Var(this=" TO ".join(units)))

    def _read_interval_unit(self) -> str:
        unit = self.take_identifier("a unit such as SECOND").upper()
        if self._match(TokenType.L_PAREN):  # Flink's precisions; Spark accepts any number of digits
            self.take_integer()
            if self._match(TokenType.COMMA):
                self.take_integer()
            self.expect(TokenType.R_PAREN, "expected ')' after the unit's precision")
        return unit.removesuffix("S")
