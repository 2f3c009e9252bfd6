"""The grammar of expressions, with Flink's precedence, into sqlglot's nodes.

sqlglot's own expression grammar takes many dialects at once: it lets THEN and the AND of BETWEEN go missing, rewrites
functions as it reads them, and binds ``||`` and IS otherwise than Flink. Here every operator stands once, at Flink's
level.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokens import TokenType

from kafka_sql.sql.grammar.call_parser import CallParser

_COMPARISONS: dict[TokenType, type[exp.Binary]] = {
    TokenType.EQ: exp.EQ,
    TokenType.NEQ: exp.NEQ,
    TokenType.LT: exp.LT,
    TokenType.LTE: exp.LTE,
    TokenType.GT: exp.GT,
    TokenType.GTE: exp.GTE,
}
_SUMS: dict[TokenType, type[exp.Binary]] = {TokenType.PLUS: exp.Add, TokenType.DASH: exp.Sub}
_PRODUCTS: dict[TokenType, type[exp.Binary]] = {
    TokenType.STAR: exp.Mul,
    TokenType.SLASH: exp.Div,
    TokenType.MOD: exp.Mod,
    TokenType.DPIPE: exp.DPipe,
}
_NO_PARENTHESES = {
    "CURRENT_TIMESTAMP",
    "CURRENT_ROW_TIMESTAMP",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "LOCALTIME",
    "LOCALTIMESTAMP",
}
_RESERVED = set(
    """AND AS BETWEEN BY ELSE END EXISTS FROM GROUP HAVING IN IS LIKE NOT ON OR ORDER SELECT SIMILAR THEN UNION WHEN
    WHERE WITH""".split()  # noqa: SIM905
)


class ExpressionParser(CallParser):
    """Types, and expressions; from the loosest binding operator to the tightest."""

    def value(self) -> exp.Expr:
        """Take an expression."""
        with self.level("the expression"):
            return self._disjunction()

    def _disjunction(self) -> exp.Expr:
        this = self._conjunction()
        while self.words("OR"):
            this = exp.Or(this=this, expression=self._conjunction())
        return this

    def _conjunction(self) -> exp.Expr:
        this = self._negation()
        while self.words("AND"):
            this = exp.And(this=this, expression=self._negation())
        return this

    def _negation(self) -> exp.Expr:
        if not self.words("NOT"):
            return self._postfix_test()
        with self.level("the expression"):
            return exp.Not(this=self._negation())

    def _postfix_test(self) -> exp.Expr:
        this = self._comparison()
        while self.words("IS"):
            negated = self.words("NOT")
            if self.words("DISTINCT", "FROM"):
                node: type[exp.Binary] = exp.NullSafeEQ if negated else exp.NullSafeNEQ
                this = node(this=this, expression=self._range())
                continue
            if not any(self.words(word) for word in ("NULL", "TRUE", "FALSE", "UNKNOWN")):
                self.fail("expected NULL after IS [NOT]")
            this = exp.Is(this=this, expression=exp.Var(this=self._prev.text.upper()))
            this = exp.Not(this=this) if negated else this
        return this

    def _comparison(self) -> exp.Expr:
        this = self._range()
        if self._curr.token_type not in _COMPARISONS:
            return this
        node = _COMPARISONS[self._curr.token_type]
        self._advance()
        this = node(this=this, expression=self._range())
        if self._curr.token_type in _COMPARISONS:
            self.fail("a comparison of a comparison needs parentheses")
        return this

    def _range(self) -> exp.Expr:
        this = self.operand()
        negated = self.words("NOT")
        if self.words("BETWEEN"):
            symmetric = self.words("SYMMETRIC")
            if not symmetric:
                self.words("ASYMMETRIC")
            low = self.operand()
            if not self.words("AND"):
                self.fail("expected AND in BETWEEN")
            this = exp.Between(this=this, low=low, high=self.operand(), symmetric=symmetric)
        elif self.words("IN"):
            this = exp.In(this=this, expressions=self.arguments("a list in parentheses after IN"))
        elif self.words("LIKE"):
            this = exp.Like(this=this, expression=self.operand())
            if self.words("ESCAPE"):
                this = exp.Escape(this=this, expression=self.operand())
        elif self.words("SIMILAR", "TO"):
            this = exp.SimilarTo(this=this, expression=self.operand())
        elif negated:
            self.fail("expected BETWEEN, IN or LIKE after NOT")
        else:
            return this
        return exp.Not(this=this) if negated else this

    def operand(self) -> exp.Expr:
        """Take what a comparison compares."""
        this = self._product()
        while node := _SUMS.get(self._curr.token_type):
            self._advance()
            this = node(this=this, expression=self._product())
        return this

    def _product(self) -> exp.Expr:
        this = self._sign()
        while node := _PRODUCTS.get(self._curr.token_type):
            self._advance()
            this = node(this=this, expression=self._sign())
        return this

    def _sign(self) -> exp.Expr:
        negative = bool(self._match(TokenType.DASH))
        if not negative and not self._match(TokenType.PLUS):
            return self._access()
        with self.level("the expression"):
            this = self._sign()
        return exp.Neg(this=this) if negative else this

    def _access(self) -> exp.Expr:
        this = self._primary()
        while True:
            if self._match(TokenType.DOT):
                this = exp.Dot(this=this, expression=exp.to_identifier(self.identifier("a field's name")))
            elif self._match(TokenType.L_BRACKET):
                this = exp.Bracket(this=this, expressions=[self.value()])
                self.expect(TokenType.R_BRACKET, "expected ']'")
            else:
                return this

    def _primary(self) -> exp.Expr:
        if self._match(TokenType.NUMBER):
            return exp.Literal.number(self._prev.text)
        if self._curr.token_type == TokenType.DOT and self._next.token_type == TokenType.NUMBER:
            self._advance(2)
            return exp.Literal.number(f".{self._prev.text}")
        if self._match(TokenType.STRING):
            return exp.Literal.string(self._prev.text)
        if self._match(TokenType.L_PAREN):
            if self._curr.text.upper() in ("SELECT", "WITH", "VALUES"):
                self.fail("a computed column cannot have a subquery")
            this = exp.Paren(this=self.value())
            self.expect(TokenType.R_PAREN, "expected ')'")
            return this
        if self._match(TokenType.IDENTIFIER):
            return exp.column(exp.to_identifier(self._prev.text, quoted=True))
        if self._curr.token_type != TokenType.VAR or self._curr.text.upper() in _RESERVED:
            self.fail("expected an expression")
        return self._word()

    def _word(self) -> exp.Expr:
        self._advance()
        text, word = self._prev.text, self._prev.text.upper()
        if word == "NULL":
            return exp.Null()
        if word in ("TRUE", "FALSE"):
            return exp.Boolean(this=word == "TRUE")
        if word == "CASE":
            return self._case()
        if word == "INTERVAL":
            return self._interval_literal()
        if word in ("DATE", "TIME", "TIMESTAMP") and self._match(TokenType.STRING):
            return exp.Introducer(this=exp.Var(this=word), expression=exp.Literal.string(self._prev.text))
        if self._curr.token_type == TokenType.L_PAREN:
            return self.call(word)
        if word in ("ARRAY", "MAP") and self._match(TokenType.L_BRACKET):
            return exp.Anonymous(this=f"{word}[]", expressions=self.items())
        if word in _NO_PARENTHESES:
            return exp.Anonymous(this=word, expressions=[])
        return exp.column(text)

    def _case(self) -> exp.Expr:
        this = None if self._curr.text.upper() == "WHEN" else self.value()
        branches = []
        while self.words("WHEN"):
            condition = self.value()
            if not self.words("THEN"):
                self.fail("expected THEN in CASE")
            branches.append(exp.If(this=condition, true=self.value()))
        if not branches:
            self.fail("expected WHEN in CASE")
        default = self.value() if self.words("ELSE") else None
        if not self.words("END"):
            self.fail("expected WHEN, ELSE or END in CASE")
        return exp.Case(this=this, ifs=branches, default=default)

    def _interval_literal(self) -> exp.Expr:
        sign = "-" if self._match(TokenType.DASH) else ""
        text = self.string("the length of the interval")
        units = [self._unit()]
        if self.words("TO"):
            units.append(self._unit())
        return exp.Interval(this=exp.Literal.string(sign + text), unit=exp.Var(this=" TO ".join(units)))

    def _unit(self) -> str:
        unit = self.identifier("a unit such as SECOND").upper()
        if self._match(TokenType.L_PAREN):  # digits of the leading field and of the fraction; Spark takes any number
            self.integer()
            if self._match(TokenType.COMMA):
                self.integer()
            self.expect(TokenType.R_PAREN, "expected ')' after the unit's precision")
        return unit.removesuffix("S")
