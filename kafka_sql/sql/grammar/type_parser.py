"""The grammar of Flink's types, on sqlglot's token cursor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NoReturn

from sqlglot.errors import ParseError
from sqlglot.parser import SENTINEL_NONE
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokens import Token, TokenType

from kafka_sql.sql.grammar.types import SYNONYMS, Field, FlinkType

_NO_TYPE = {"NOT", "NULL", "COMMENT", "METADATA", "PRIMARY", "UNIQUE", "CONSTRAINT", "WATERMARK", "AS", "WITH"}


MAX_DEPTH = 50  # levels of an expression or a type


def shorten_name(name: str) -> str:
    """A name for a message; one that a forgotten quote has made of half the statement is cut short."""
    head = name.partition("\n")[0][:40]
    return head if head == name else head.partition("'")[0] + "..."


class FlinkParseError(ParseError):
    """What was expected at ``sql[start:end]``; unlike sqlglot's own, the message quotes nothing of the statement."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.start, self.end = start, end


class TypeParser(SparkParser):
    """The token cursor, and types."""

    def fail(self, message: str, token: Token = SENTINEL_NONE) -> NoReturn:
        """Raise at a token, by default at the one that is next, or behind the last one."""
        at = token or self._curr
        if at:
            raise FlinkParseError(message, at.start, at.end + 1)
        end = self._prev.end + 1 if self._prev else len(self.sql)
        raise FlinkParseError(message, end, end)

    def raise_error(self, message: str, token: Token = SENTINEL_NONE) -> None:
        """sqlglot's own complaints in our form."""
        self.fail(message, token)

    @contextmanager
    def level(self, what: str) -> Iterator[None]:
        """One more level of nesting, as long as Python's stack carries it."""
        self._depth = getattr(self, "_depth", 0) + 1
        try:
            if self._depth > MAX_DEPTH:
                self.fail(f"{what} is nested more than {MAX_DEPTH} levels deep")
            yield
        finally:
            self._depth -= 1

    def words(self, *texts: str) -> bool:
        """Take these words, if they are next."""
        return bool(self._match_text_seq(*texts))

    def expect(self, type: TokenType, message: str) -> Token:
        """Take a token of this type."""
        if not self._match(type):
            self.fail(message)
        return self._prev

    def identifier(self, what: str) -> str:
        """Take a name: a word that is not quoted, or anything in backquotes."""
        if self._curr.token_type not in (TokenType.VAR, TokenType.IDENTIFIER):
            self.fail(f"expected {what}")
        self._advance()
        return self._prev.text

    def string(self, what: str) -> str:
        """Take a string literal."""
        return self.expect(TokenType.STRING, f"expected {what} in single quotes").text

    def integer(self) -> int:
        """Take an unsigned whole number."""
        text = self.expect(TokenType.NUMBER, "expected a whole number").text
        if not text.isdecimal():
            self.fail("expected a whole number", self._prev)
        if len(text) > 60:  # Python reads no number of more than 4,300 digits
            self.fail("expected a smaller number", self._prev)
        return int(text)

    def skip_group(self, opening: TokenType, closing: TokenType) -> bool:
        """Pass over a bracketed group, if one is next."""
        if not self._match(opening):
            return False
        start, depth = self._prev, 1
        while depth:
            if not self._curr:
                self.fail("this bracket is not closed", start)
            depth += {opening: 1, closing: -1}.get(self._curr.token_type, 0)
            self._advance()
        return True

    def data_type(self, what: str) -> FlinkType:
        """Take a type with its [NOT] NULL and the ARRAY or MULTISET behind it."""
        start = self._curr
        if start.token_type != TokenType.VAR or start.text.upper() in _NO_TYPE:
            self.fail(f"expected the type of {what}")
        with self.level("the type"):
            type = self._plain_type()
        while True:
            type = replace(type, text=self._find_sql(start, self._prev))
            nullable = self.nullability()
            if self.words("ARRAY") or self.words("MULTISET"):
                type = FlinkType(self._prev.text.upper(), elements=(replace(type, nullable=nullable),))
            else:
                return replace(type, nullable=nullable)

    def nullability(self) -> bool:
        """Take [NOT] NULL, if it is next; absent is nullable."""
        if self.words("NOT", "NULL"):
            return False
        self.words("NULL")
        return True

    def _plain_type(self) -> FlinkType:
        self._advance()
        typed = self._prev.text.upper()
        name = SYNONYMS.get(typed, typed)
        if name == "ROW":
            return FlinkType(name, fields=self._fields())
        if name in ("ARRAY", "MULTISET"):
            return FlinkType(name, elements=self._elements(name, 1))
        if name == "MAP":
            return FlinkType(name, elements=self._elements(name, 2))
        if name in ("TIMESTAMP", "TIME"):
            return self._time(name)
        if name == "INTERVAL":
            return self._interval_type()
        if name == "DOUBLE":
            self.words("PRECISION")
        elif name in ("CHAR", "BINARY") and self.words("VARYING"):
            name = "VAR" + name
        return FlinkType(name, self._sizes(2 if name == "DECIMAL" else 1))

    def _sizes(self, most: int = 1) -> tuple[int, ...]:
        """``(10, 2)``; what else stands in brackets belongs to a type that is refused by its name later."""
        if self._curr.token_type == TokenType.L_PAREN and self._next.token_type == TokenType.NUMBER:
            self._advance()
            sizes = [self.integer()]
            while len(sizes) < most and self._match(TokenType.COMMA):
                sizes.append(self.integer())
            self.expect(TokenType.R_PAREN, "expected ')' after the size of the type")
            return tuple(sizes)
        if not self.skip_group(TokenType.L_PAREN, TokenType.R_PAREN):
            self.skip_group(TokenType.LT, TokenType.GT)
        return ()

    def _time(self, name: str) -> FlinkType:
        sizes = self._sizes()
        if self.words("WITH", "LOCAL", "TIME", "ZONE"):
            name += "_LTZ"
        elif self.words("WITH", "TIME", "ZONE"):
            name += " WITH TIME ZONE"
        else:
            self.words("WITHOUT", "TIME", "ZONE")
        return FlinkType(name, sizes)

    def _interval_type(self) -> FlinkType:
        for _ in range(2):
            self.identifier("a unit such as DAY")
            self._sizes()
            if not self.words("TO"):
                break
        return FlinkType("INTERVAL")

    def _elements(self, name: str, count: int) -> tuple[FlinkType, ...]:
        self.expect(TokenType.LT, f"expected '<' after {name}")
        elements = [self.data_type(f"the elements of {name}")]
        while len(elements) < count:
            self.expect(TokenType.COMMA, f"expected ',' and the type of the values of {name}")
            elements.append(self.data_type(f"the values of {name}"))
        self.expect(TokenType.GT, f"expected '>' after the type of the elements of {name}")
        return tuple(elements)

    def _fields(self) -> tuple[Field, ...]:
        if self._match(TokenType.NEQ):  # ROW<>
            return ()
        closing = TokenType.R_PAREN if self._match(TokenType.L_PAREN) else TokenType.GT
        if closing == TokenType.GT:
            self.expect(TokenType.LT, "expected '<' or '(' after ROW")
        fields: list[Field] = []
        while not self._match(closing):
            if fields:
                bracket = ")" if closing == TokenType.R_PAREN else ">"
                self.expect(TokenType.COMMA, f"expected ',' or '{bracket}' after a field of ROW")
            name = self.identifier("the name of a field of ROW")
            type = self.data_type(f"field '{shorten_name(name)}'")
            comment = self._prev.text if self._match(TokenType.STRING) else None
            fields.append(Field(name, type, comment))
        return tuple(fields)
