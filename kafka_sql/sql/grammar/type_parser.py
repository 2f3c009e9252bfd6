"""Parse Flink's types with sqlglot's token cursor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NoReturn

from sqlglot.errors import ParseError
from sqlglot.parser import SENTINEL_NONE
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokens import Token, TokenType

from kafka_sql.sql.grammar.types import SPARK_NAMES, SYNONYMS, Field, FlinkType, to_flink_type

_NOT_TYPES = {"NOT", "NULL", "COMMENT", "METADATA", "PRIMARY", "UNIQUE", "CONSTRAINT", "WATERMARK", "AS", "WITH"}

MAX_DEPTH = 50  # nesting levels of an expression or a type


def shorten_name(name: str) -> str:
    """Return a name for an error message, cut short if a missing quote made it swallow half the statement."""
    head = name.partition("\n")[0][:40]
    return head if head == name else head.partition("'")[0] + "..."


class FlinkParseError(ParseError):
    """A parse error at ``sql[start:end]``. Unlike sqlglot's messages, this one quotes nothing from the statement."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.start, self.end = start, end


class TypeParser(SparkParser):
    """Token cursor and type grammar."""

    def fail(self, message: str, token: Token = SENTINEL_NONE) -> NoReturn:
        """Raise a parse error at a token, by default at the next one, or after the last one."""
        token = token or self._curr
        if token:
            raise FlinkParseError(message, token.start, token.end + 1)
        end = self._prev.end + 1 if self._prev else len(self.sql)
        raise FlinkParseError(message, end, end)

    def raise_error(self, message: str, token: Token = SENTINEL_NONE) -> None:
        """Raise sqlglot's own errors as FlinkParseError."""
        self.fail(message, token)

    @contextmanager
    def nested(self, what: str) -> Iterator[None]:
        """Enter a nesting level; fail before Python's stack overflows."""
        self._depth = getattr(self, "_depth", 0) + 1
        try:
            if self._depth > MAX_DEPTH:
                self.fail(f"{what} is nested more than {MAX_DEPTH} levels deep")
            yield
        finally:
            self._depth -= 1

    def take_words(self, *texts: str) -> bool:
        """Take these words if they come next; return whether they did."""
        return bool(self._match_text_seq(*texts))

    def expect(self, type: TokenType, message: str) -> Token:
        """Take a token of this type, or fail."""
        if not self._match(type):
            self.fail(message)
        return self._prev

    def take_identifier(self, what: str) -> str:
        """Take an identifier: an unquoted word, or anything in backquotes."""
        if self._curr.token_type not in (TokenType.VAR, TokenType.IDENTIFIER):
            self.fail(f"expected {what}")
        self._advance()
        return self._prev.text

    def take_string(self, what: str) -> str:
        """Take a string literal."""
        return self.expect(TokenType.STRING, f"expected {what} in single quotes").text

    def take_integer(self) -> int:
        """Take an unsigned integer of at most nine digits: no length, precision or scale has more."""
        text = self.expect(TokenType.NUMBER, "expected an integer").text
        if not text.isdecimal():
            self.fail("expected an integer", self._prev)
        if len(text) > 9:
            self.fail("the number is too large", self._prev)
        return int(text)

    def skip_group(self, opening: TokenType, closing: TokenType) -> bool:
        """Skip a bracketed group if one comes next; return whether it did."""
        if not self._match(opening):
            return False
        start, depth = self._prev, 1
        while depth:
            if not self._curr:
                self.fail("unclosed bracket", start)
            depth += {opening: 1, closing: -1}.get(self._curr.token_type, 0)
            self._advance()
        return True

    def read_type(self, what: str) -> FlinkType:
        """Read a type, in Flink's or Spark's words, with its [NOT] NULL and any ARRAY or MULTISET suffix."""
        start, first = self._curr, self._index
        if start.token_type != TokenType.VAR or start.text.upper() in _NOT_TYPES:
            self.fail(f"expected the type of {what}")
        with self.nested("the type"):
            type = self._read_base_type()
        is_spark = any(token.text.upper() in SPARK_NAMES for token in self._tokens[first : self._index])
        while True:
            type = replace(type, text=to_flink_type(type) if is_spark else self._find_sql(start, self._prev))
            nullable = self.read_nullability()
            if self.take_words("ARRAY") or self.take_words("MULTISET"):
                type = FlinkType(self._prev.text.upper(), elements=(replace(type, nullable=nullable),))
            else:
                return replace(type, nullable=nullable)

    def read_nullability(self) -> bool:
        """Read [NOT] NULL if it comes next; return whether the type is nullable, which is the default."""
        if self.take_words("NOT", "NULL"):
            return False
        self.take_words("NULL")
        return True

    def _read_base_type(self) -> FlinkType:
        self._advance()
        name = self._prev.text.upper()
        if name == "STRUCT":
            return FlinkType("ROW", fields=self._read_struct_fields())
        name = SYNONYMS.get(name) or SPARK_NAMES.get(name, name)
        if name == "ROW":
            return FlinkType(name, fields=self._read_fields())
        if name in ("ARRAY", "MULTISET"):
            return FlinkType(name, elements=self._read_element_types(name, 1))
        if name == "MAP":
            return FlinkType(name, elements=self._read_element_types(name, 2))
        if name in ("TIMESTAMP", "TIME"):
            return self._read_time_type(name)
        if name == "INTERVAL":
            return self._read_interval_type()
        if name == "DOUBLE":
            self.take_words("PRECISION")
        elif name in ("CHAR", "BINARY") and self.take_words("VARYING"):
            name = "VAR" + name
        return FlinkType(name, self._read_sizes(2 if name == "DECIMAL" else 1))

    def _read_sizes(self, max_count: int = 1) -> tuple[int, ...]:
        """Read sizes such as ``(10, 2)``; other bracketed text belongs to a type that is rejected by name later."""
        if self._curr.token_type == TokenType.L_PAREN and self._next.token_type == TokenType.NUMBER:
            self._advance()
            sizes = [self.take_integer()]
            while len(sizes) < max_count and self._match(TokenType.COMMA):
                sizes.append(self.take_integer())
            self.expect(TokenType.R_PAREN, "expected ')' after the size of the type")
            return tuple(sizes)
        if not self.skip_group(TokenType.L_PAREN, TokenType.R_PAREN):
            self.skip_group(TokenType.LT, TokenType.GT)
        return ()

    def _read_time_type(self, name: str) -> FlinkType:
        sizes = self._read_sizes()
        if self.take_words("WITH", "LOCAL", "TIME", "ZONE"):
            name += "_LTZ"
        elif self.take_words("WITH", "TIME", "ZONE"):
            name += " WITH TIME ZONE"
        else:
            self.take_words("WITHOUT", "TIME", "ZONE")
        return FlinkType(name, sizes)

    def _read_interval_type(self) -> FlinkType:
        for _ in range(2):
            self.take_identifier("a unit such as DAY")
            self._read_sizes()
            if not self.take_words("TO"):
                break
        return FlinkType("INTERVAL")

    def _read_element_types(self, name: str, count: int) -> tuple[FlinkType, ...]:
        self.expect(TokenType.LT, f"expected '<' after {name}")
        elements = [self.read_type(f"the elements of {name}")]
        while len(elements) < count:
            self.expect(TokenType.COMMA, f"expected ',' and the type of the values of {name}")
            elements.append(self.read_type(f"the values of {name}"))
        self.expect(TokenType.GT, f"expected '>' after the type of the elements of {name}")
        return tuple(elements)

    def _read_fields(self) -> tuple[Field, ...]:
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
            name = self.take_identifier("the name of a field of ROW")
            type = self.read_type(f"field '{shorten_name(name)}'")
            comment = self._prev.text if self._match(TokenType.STRING) else None
            fields.append(Field(name, type, comment))
        return tuple(fields)

    def _read_struct_fields(self) -> tuple[Field, ...]:
        """Read the fields of Spark's STRUCT: ``<name[:] type [NOT NULL] [COMMENT 'text'], ...>``."""
        if self._match(TokenType.NEQ):  # STRUCT<>
            return ()
        self.expect(TokenType.LT, "expected '<' after STRUCT")
        fields: list[Field] = []
        while not self._match(TokenType.GT):
            if fields:
                self.expect(TokenType.COMMA, "expected ',' or '>' after a field of STRUCT")
            name = self.take_identifier("the name of a field of STRUCT")
            self._match(TokenType.COLON)
            type = self.read_type(f"field '{shorten_name(name)}'")
            comment = self.take_string("the comment of the field") if self.take_words("COMMENT") else None
            fields.append(Field(name, type, comment))
        return tuple(fields)
