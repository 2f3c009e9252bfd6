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
        return _parse(["", *reversed(_TOKEN.findall(text))])
    except (IndexError, ValueError):
        return DeclaredType()


def quote_identifier(name: str) -> str:
    """Return a field's name as it is written in a type."""
    return "`" + name.replace("`", "``") + "`"


def _parse(tokens: list[str]) -> DeclaredType:
    """Take a type from the end of reversed tokens, after an empty one."""
    name, children = tokens.pop().upper(), []
    if tokens[-1] == "<" or (tokens[-1] == "(" and name == "ROW"):
        tokens.pop()
        while tokens[-1] not in (">", ")"):
            if name == "ROW":
                tokens.pop()  # the field's name
            children.append(_parse(tokens))
            if tokens[-1].startswith("'"):
                tokens.pop()  # its comment
            if tokens[-1] == ",":
                tokens.pop()
        tokens.pop()
    parsed = DeclaredType(name, None, tuple(children))
    while tokens[-1] not in ("", ",", ">", ")") and not tokens[-1].startswith("'"):
        token = tokens.pop().upper()
        if token == "(":
            parsed = replace(parsed, precision=int(tokens.pop()))
            while tokens.pop() != ")":
                pass
        elif token == "NOT" and tokens[-1].upper() == "NULL":
            tokens.pop()
            parsed = replace(parsed, nullable=False)
        elif token in _COLLECTIONS:
            parsed = DeclaredType(token, None, (parsed,))
        elif not token.isalnum():
            raise ValueError(f"not a Flink SQL type: {token}")
    return parsed
