"""Parse function calls into sqlglot nodes, including functions with keywords between their arguments."""

from __future__ import annotations

from abc import abstractmethod

from sqlglot import exp
from sqlglot.tokens import TokenType

from kafka_sql.sql.grammar.json_call_parser import JsonCallParser

# Functions with a special argument syntax. They are rejected by name later, so their arguments are skipped.
_SPECIAL_SYNTAX = ("CONVERT", "JSON_ARRAYAGG", "JSON_OBJECTAGG")
_JSON_FUNCTIONS = ("JSON_VALUE", "JSON_EXISTS", "JSON_QUERY", "JSON_OBJECT", "JSON_ARRAY")


class CallParser(JsonCallParser):
    """Grammar of types and calls; subclasses define the grammar of arguments."""

    @abstractmethod
    def read_operand(self) -> exp.Expr:
        """Read one side of a comparison."""

    def read_call(self, name: str) -> exp.Expr:
        """Read the arguments of the function ``name``; its opening parenthesis comes next."""
        if name in _SPECIAL_SYNTAX:
            self.skip_group(TokenType.L_PAREN, TokenType.R_PAREN)
            return exp.Anonymous(this=name, expressions=[])
        if name in ("CAST", "TRY_CAST"):
            return self._read_cast(exp.Cast if name == "CAST" else exp.TryCast)
        if name in ("SUBSTRING", "OVERLAY", "POSITION"):
            separators = {"SUBSTRING": ("FROM", "FOR"), "OVERLAY": ("PLACING", "FROM", "FOR"), "POSITION": ("IN",)}
            return exp.Anonymous(this=name, expressions=self._read_separated(name, separators[name]))
        if name == "TRIM":
            return self._read_trim()
        if name == "EXTRACT":
            return self._read_extract()
        if name in ("FLOOR", "CEIL", "CEILING"):
            return self._read_floor_or_ceil("CEIL" if name == "CEILING" else name)
        if name in _JSON_FUNCTIONS:
            return self.read_json_call(name)
        if name in ("TIMESTAMPADD", "TIMESTAMPDIFF"):
            return self._read_timestamp_function(name)
        return exp.Anonymous(this=name, expressions=self.read_arguments("arguments in parentheses"))

    def _read_extract(self) -> exp.Expr:
        self._advance()
        unit = exp.Var(this=self.take_identifier("a unit such as YEAR").upper())
        if not self.take_words("FROM"):
            self.fail("expected FROM in EXTRACT")
        value = self.read_expression()
        self.expect(TokenType.R_PAREN, "expected ')' after the arguments of EXTRACT")
        return exp.Anonymous(this="EXTRACT", expressions=[unit, value])

    def _read_floor_or_ceil(self, name: str) -> exp.Expr:
        """Read ``FLOOR(x)`` or ``FLOOR(x TO unit)``. The node of the latter is named ``FLOOR TO``."""
        self._advance()
        values = [self.read_expression()]
        has_unit = self.take_words("TO")
        if has_unit:
            values.append(exp.Var(this=self.take_identifier("a unit such as HOUR").upper()))
        self.expect(TokenType.R_PAREN, f"expected ')' after the arguments of {name}")
        return exp.Anonymous(this=f"{name} TO" if has_unit else name, expressions=values)

    def _read_timestamp_function(self, name: str) -> exp.Expr:
        self._advance()
        unit = self.take_identifier("a unit such as DAY").upper().removeprefix("SQL_TSI_")
        values: list[exp.Expr] = [exp.Var(this=unit)]
        while self._match(TokenType.COMMA):
            values.append(self.read_expression())
        self.expect(TokenType.R_PAREN, f"expected ',' or ')' in {name}")
        return exp.Anonymous(this=name, expressions=values)

    def read_arguments(self, what: str) -> list[exp.Expr]:
        """Read a list in parentheses; ``what`` describes it in the error if it is missing."""
        self.expect(TokenType.L_PAREN, f"expected {what}")
        if self._match(TokenType.R_PAREN):
            return []
        values = [self.read_expression()]
        while self._match(TokenType.COMMA):
            values.append(self.read_expression())
        self.expect(TokenType.R_PAREN, "expected ',' or ')'")
        return values

    def read_items(self) -> list[exp.Expr]:
        """Read the items of ARRAY[...] or MAP[...] after the opening bracket."""
        if self._match(TokenType.R_BRACKET):
            return []
        values = [self.read_expression()]
        while self._match(TokenType.COMMA):
            values.append(self.read_expression())
        self.expect(TokenType.R_BRACKET, "expected ',' or ']'")
        return values

    def _read_cast(self, node: type[exp.Cast]) -> exp.Expr:
        self._advance()
        this = self.read_expression()
        if not self.take_words("AS"):
            self.fail("expected AS and a type")
        to = self.read_type("CAST")
        self.expect(TokenType.R_PAREN, "expected ')' after the type of CAST")
        return node(this=this, to=to)

    def _read_separated(self, name: str, separators: tuple[str, ...]) -> list[exp.Expr]:
        """Read arguments separated by keywords or commas; trailing arguments are optional."""
        self._advance()
        values = [self.read_operand() if name == "POSITION" else self.read_expression()]
        for separator in separators:
            if not (self.take_words(separator) or self._match(TokenType.COMMA)):
                break
            values.append(self.read_expression())
        self.expect(TokenType.R_PAREN, f"expected ')' after the arguments of {name}")
        return values

    def _read_trim(self) -> exp.Expr:
        """Read ``TRIM(s)`` or ``TRIM([BOTH | LEADING | TRAILING] [characters] FROM s)``."""
        self._advance()
        side = next((word for word in ("BOTH", "LEADING", "TRAILING") if self.take_words(word)), None)
        characters: exp.Expr = exp.Literal.string(" ")
        if not self.take_words("FROM"):
            characters = self.read_expression()
            if side is None and self._match(TokenType.R_PAREN):
                return exp.Anonymous(this="TRIM", expressions=[characters])
            if not self.take_words("FROM"):
                self.fail("expected FROM or ')' in TRIM")
        value = self.read_expression()
        self.expect(TokenType.R_PAREN, "expected ')' after the arguments of TRIM")
        return exp.Anonymous(this="TRIM", expressions=[exp.Var(this=side or "BOTH"), characters, value])
