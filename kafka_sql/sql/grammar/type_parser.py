"""Parse types, with Flink's names or Spark's."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from sqlglot.tokens import TokenType

from kafka_sql.sql.grammar.cursor import Cursor, shorten_name
from kafka_sql.sql.grammar.types import KNOWN_TYPES, SPARK_NAMES, SYNONYMS, Field, FlinkType, to_flink_type

_NOT_TYPES: Final = {"NOT", "NULL", "COMMENT", "METADATA", "PRIMARY", "UNIQUE", "CONSTRAINT", "WATERMARK", "AS", "WITH"}


class TypeParser(Cursor):
    """Grammar of types."""

    def read_type(self, what: str) -> FlinkType:
        """Read a type with its [NOT] NULL and any ARRAY or MULTISET suffix; ``what`` has the type, for errors."""
        start, first = self._curr, self._index
        if start.token_type != TokenType.VAR or start.text.upper() in _NOT_TYPES:
            self.fail(f"expected the type of {what}")
        with self.nested("the type"):
            type = self._read_base_type()
        is_spark = any(token.text.upper() in SPARK_NAMES for token in self._tokens[first : self._index])
        while True:
            type = replace(type, text=to_flink_type(type) if is_spark else self._find_sql(start, self._prev))
            nullable = self.read_nullability()
            if self.take_one_of(("ARRAY", "MULTISET")):
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
        if name in ("ROW", "STRUCT"):
            return FlinkType("ROW", fields=self._read_fields(name))
        name = SYNONYMS.get(name) or SPARK_NAMES.get(name, name)
        if name in ("ARRAY", "MULTISET", "MAP"):
            return FlinkType(name, elements=self._read_element_types(name))
        if name in ("TIMESTAMP", "TIME"):
            return self._read_time_type(name)
        if name == "INTERVAL":
            return self._read_interval_type()
        if name == "DOUBLE":
            self.take_words("PRECISION")
        elif name in ("CHAR", "BINARY") and self.take_words("VARYING"):
            name = "VAR" + name
        return FlinkType(name, self._read_sizes(name, 2 if name == "DECIMAL" else 1))

    def _read_sizes(self, name: str, max_count: int = 1) -> tuple[int, ...]:
        """Read sizes such as ``(10, 2)``; other bracketed text belongs to a type that is rejected by name later."""
        if name in KNOWN_TYPES and self._match(TokenType.L_PAREN):
            sizes = [self.take_integer()]
            while len(sizes) < max_count and self._match(TokenType.COMMA):
                sizes.append(self.take_integer())
            self.expect(TokenType.R_PAREN, "expected ')' after the size of the type")
            return tuple(sizes)
        if not self.skip_group(TokenType.L_PAREN, TokenType.R_PAREN):
            self.skip_group(TokenType.LT, TokenType.GT)
        return ()

    def _read_time_type(self, name: str) -> FlinkType:
        sizes = self._read_sizes(name)
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
            self.skip_group(TokenType.L_PAREN, TokenType.R_PAREN)
            if not self.take_words("TO"):
                break
        return FlinkType("INTERVAL")

    def _read_element_types(self, name: str) -> tuple[FlinkType, ...]:
        self.expect(TokenType.LT, f"expected '<' after {name}")
        elements = [self.read_type(f"the elements of {name}")]
        if name == "MAP":
            self.expect(TokenType.COMMA, f"expected ',' and the type of the values of {name}")
            elements.append(self.read_type(f"the values of {name}"))
        self.expect(TokenType.GT, f"expected '>' after the type of the elements of {name}")
        return tuple(elements)

    def _read_fields(self, name: str) -> tuple[Field, ...]:
        """Read the fields of Flink's ``ROW<...>`` or ``ROW(...)``, or of Spark's ``STRUCT<...>``."""
        if self._match(TokenType.NEQ):  # ROW<>
            return ()
        closing = TokenType.R_PAREN if name == "ROW" and self._match(TokenType.L_PAREN) else TokenType.GT
        if closing == TokenType.GT:
            self.expect(TokenType.LT, "expected '<' or '(' after ROW" if name == "ROW" else "expected '<' after STRUCT")
        if self._match(closing):
            return ()
        bracket = ")" if closing == TokenType.R_PAREN else ">"
        message = f"expected ',' or '{bracket}' after a field of {name}"
        return tuple(self.read_list(partial(self._read_field, name), closing, message))

    def _read_field(self, row: str) -> Field:
        """Read ``name type ['comment']``, or Spark's ``name[:] type [COMMENT 'comment']``."""
        name = self.take_identifier(f"the name of a field of {row}")
        if row == "STRUCT":
            self._match(TokenType.COLON)
        type = self.read_type(f"field '{shorten_name(name)}'")
        if row == "STRUCT":
            return Field(
                name, type, self.take_string("the comment of the field") if self.take_words("COMMENT") else None
            )
        return Field(name, type, self._prev.text if self._match(TokenType.STRING) else None)
