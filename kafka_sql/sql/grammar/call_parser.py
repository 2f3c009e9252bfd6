"""The grammar of function calls, into sqlglot's nodes: arguments with commas, and those with words between them."""

from __future__ import annotations

from abc import abstractmethod

from sqlglot import exp
from sqlglot.tokens import TokenType

from kafka_sql.sql.grammar.type_parser import TypeParser

# Functions whose arguments have a grammar of their own. They are refused by name, so their arguments are passed over.
_OWN_GRAMMAR = set(
    """CONVERT JSON_ARRAY JSON_ARRAYAGG JSON_EXISTS JSON_OBJECT JSON_OBJECTAGG JSON_QUERY JSON_VALUE""".split()  # noqa: SIM905
)


class CallParser(TypeParser):
    """Types, and calls; what an argument is, the grammar of expressions says."""

    @abstractmethod
    def value(self) -> exp.Expr:
        """Take an expression."""

    @abstractmethod
    def operand(self) -> exp.Expr:
        """Take what a comparison compares."""

    def call(self, name: str) -> exp.Expr:
        """Take the arguments of the function ``name``, whose opening bracket is next."""
        if name in _OWN_GRAMMAR:
            self.skip_group(TokenType.L_PAREN, TokenType.R_PAREN)
            return exp.Anonymous(this=name, expressions=[])
        if name in ("CAST", "TRY_CAST"):
            return self._cast(exp.Cast if name == "CAST" else exp.TryCast)
        if name in ("SUBSTRING", "OVERLAY", "POSITION"):
            separators = {"SUBSTRING": ("FROM", "FOR"), "OVERLAY": ("PLACING", "FROM", "FOR"), "POSITION": ("IN",)}
            return exp.Anonymous(this=name, expressions=self._separated(name, separators[name]))
        if name == "TRIM":
            return self._trim()
        if name == "EXTRACT":
            return self._extract()
        if name in ("FLOOR", "CEIL", "CEILING"):
            return self._floor("CEIL" if name == "CEILING" else name)
        if name in ("TIMESTAMPADD", "TIMESTAMPDIFF"):
            return self._timestamp_function(name)
        return exp.Anonymous(this=name, expressions=self.arguments("arguments in parentheses"))

    def _extract(self) -> exp.Expr:
        self._advance()
        unit = exp.Var(this=self.identifier("a unit such as YEAR").upper())
        if not self.words("FROM"):
            self.fail("expected FROM in EXTRACT")
        value = self.value()
        self.expect(TokenType.R_PAREN, "expected ')' after the arguments of EXTRACT")
        return exp.Anonymous(this="EXTRACT", expressions=[unit, value])

    def _floor(self, name: str) -> exp.Expr:
        self._advance()
        values = [self.value()]
        if self.words("TO"):
            name += " TO"
            values.append(exp.Var(this=self.identifier("a unit such as HOUR").upper()))
        self.expect(TokenType.R_PAREN, f"expected ')' after the arguments of {name}")
        return exp.Anonymous(this=name, expressions=values)

    def _timestamp_function(self, name: str) -> exp.Expr:
        self._advance()
        unit = self.identifier("a unit such as DAY").upper().removeprefix("SQL_TSI_")
        values: list[exp.Expr] = [exp.Var(this=unit)]
        while self._match(TokenType.COMMA):
            values.append(self.value())
        self.expect(TokenType.R_PAREN, f"expected ',' or ')' in {name}")
        return exp.Anonymous(this=name, expressions=values)

    def arguments(self, what: str) -> list[exp.Expr]:
        """Take a list in parentheses; ``what`` it is, for the error if there is none."""
        self.expect(TokenType.L_PAREN, f"expected {what}")
        if self._match(TokenType.R_PAREN):
            return []
        values = [self.value()]
        while self._match(TokenType.COMMA):
            values.append(self.value())
        self.expect(TokenType.R_PAREN, "expected ',' or ')'")
        return values

    def items(self) -> list[exp.Expr]:
        """Take what stands in ARRAY[...] and MAP[...], behind the opening bracket."""
        if self._match(TokenType.R_BRACKET):
            return []
        values = [self.value()]
        while self._match(TokenType.COMMA):
            values.append(self.value())
        self.expect(TokenType.R_BRACKET, "expected ',' or ']'")
        return values

    def _cast(self, node: type[exp.Cast]) -> exp.Expr:
        self._advance()
        this = self.value()
        if not self.words("AS"):
            self.fail("expected AS and a type")
        to = self.data_type("CAST")
        self.expect(TokenType.R_PAREN, "expected ')' after the type of CAST")
        return node(this=this, to=to)

    def _separated(self, name: str, words: tuple[str, ...]) -> list[exp.Expr]:
        """Arguments with words or commas between them; behind each may follow no more."""
        self._advance()
        values = [self.operand() if name == "POSITION" else self.value()]
        for word in words:
            if not (self.words(word) or self._match(TokenType.COMMA)):
                break
            values.append(self.value())
        self.expect(TokenType.R_PAREN, f"expected ')' after the arguments of {name}")
        return values

    def _trim(self) -> exp.Expr:
        """``TRIM(s)`` and ``TRIM([BOTH | LEADING | TRAILING] [characters] FROM s)``."""
        self._advance()
        side = next((word for word in ("BOTH", "LEADING", "TRAILING") if self.words(word)), None)
        characters: exp.Expr = exp.Literal.string(" ")
        if not self.words("FROM"):
            characters = self.value()
            if side is None and self._match(TokenType.R_PAREN):
                return exp.Anonymous(this="TRIM", expressions=[characters])
            if not self.words("FROM"):
                self.fail("expected FROM or ')' in TRIM")
        value = self.value()
        self.expect(TokenType.R_PAREN, "expected ')' after the arguments of TRIM")
        return exp.Anonymous(this="TRIM", expressions=[exp.Var(this=side or "BOTH"), characters, value])
