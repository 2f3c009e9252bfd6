"""Parse the declared type of a column. It has what Arrow's types lack: precisions, and NOT NULL in ARRAY and MAP.

The schema of a batch to write has the nullability of its query, not the table's. This parses a subset of Flink's type
grammar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

DECLARED_TYPE: Final = b"declared"  # key of an Arrow field's metadata: the type as written in the statement
_TOKEN: Final = re.compile(r"\s*(`(?:[^`]|``)*`|'(?:[^']|'')*'|\w+|[<>(),:]|.)", re.DOTALL)
_COLLECTIONS: Final = ("ARRAY", "MULTISET")
_DEFAULT_PRECISION: Final = {"TIME": 0, "TIMESTAMP": 6, "TIMESTAMP_LTZ": 6}  # Flink's
_SPARK_PRECISION: Final = 6


@dataclass(frozen=True)
class DeclaredType:
    """A type: its name (empty if unknown), its first parameter, and the types inside it."""

    name: str = ""
    precision: int | None = None
    children: tuple[DeclaredType, ...] = ()
    nullable: bool = True

    def allows_null(self, field: pa.Field) -> bool:
        """Return whether the declaration allows null; if it is unknown, whether the Arrow field does."""
        return self.nullable if self.name else bool(field.nullable)

    @property
    def fraction_digits(self) -> int:
        """Digits of the fractional seconds that values keep; 9 for other types."""
        default = _DEFAULT_PRECISION.get(self.name)
        return 9 if default is None else default if self.precision is None else self.precision

    @property
    def is_truncated(self) -> bool:
        """Whether values in Spark, or values in them, have more digits of fractional seconds."""
        return self.fraction_digits < _SPARK_PRECISION or any(child.is_truncated for child in self.children)

    def child(self, index: int) -> DeclaredType:
        """Return the type of the field or element with an index; an unknown type if there is none."""
        return self.children[index] if index < len(self.children) else DeclaredType()


def declared_type(field: pa.Field) -> DeclaredType:
    """Return the declared type of a column; an unknown type if it was not declared in Flink SQL."""
    return parse_declared_type((field.metadata or {}).get(DECLARED_TYPE, b"").decode())


def parse_declared_type(text: str) -> DeclaredType:
    """Return a type in Flink SQL; an unknown type if the text is not a type."""
    try:
        return _Parser(text).type()
    except (IndexError, ValueError):
        return DeclaredType()


def quote_identifier(name: str) -> str:
    """Return a field's name as it is written in a type."""
    return "`" + name.replace("`", "``") + "`"


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._position = 0

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _next(self) -> str:
        self._position += 1
        token: str = self._tokens[self._position - 1]
        return token

    def type(self) -> DeclaredType:
        name, precision, children = self._next().upper(), None, []
        opening = self._peek()
        if opening == "<" or (opening == "(" and name == "ROW"):
            self._next()
            while self._peek() not in (">", ")"):
                if name == "ROW":
                    self._next()  # the field's name
                children.append(self.type())
                if self._peek().startswith("'"):
                    self._next()  # its comment
                if self._peek() == ",":
                    self._next()
            self._next()
        parsed = DeclaredType(name, None, tuple(children))
        while self._peek() not in ("", ",", ">", ")") and not self._peek().startswith("'"):
            token = self._next()
            if token == "(":
                precision = int(self._next())
                while self._next() != ")":
                    pass
                parsed = replace(parsed, precision=precision)
            elif token.upper() == "NOT" and self._peek().upper() == "NULL":
                self._next()
                parsed = replace(parsed, nullable=False)
            elif token.upper() in _COLLECTIONS:
                parsed = DeclaredType(token.upper(), None, (parsed,))
            elif not token.isalnum():
                raise ValueError(f"not a Flink SQL type: {token}")
        return parsed
