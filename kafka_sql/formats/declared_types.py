"""A type as it is declared, for what Arrow's types do not tell: precisions, and NOT NULL inside ARRAY and MAP.

The schema of a batch that is written tells what its query can be, and not what the table declares. This is a little of
Flink's type grammar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

DECLARED_TYPE: Final = b"declared"  # of an Arrow field's metadata: the type as the statement spells it
_TOKEN: Final = re.compile(r"\s*(`(?:[^`]|``)*`|'(?:[^']|'')*'|\w+|[<>(),:]|.)", re.DOTALL)
_COLLECTIONS: Final = ("ARRAY", "MULTISET")


@dataclass(frozen=True)
class DeclaredType:
    """A type: its first word (empty where nothing is known), its first number in brackets, and the types in it."""

    name: str = ""
    precision: int | None = None
    children: tuple[DeclaredType, ...] = ()
    nullable: bool = True

    def allows_null(self, field: pa.Field) -> bool:
        """Whether the declaration allows null; where it is unknown, whether the Arrow field does."""
        return self.nullable if self.name else bool(field.nullable)

    def child(self, index: int) -> DeclaredType:
        """The type of a field or element; one that says nothing where there is none."""
        return self.children[index] if index < len(self.children) else DeclaredType()


def declared_type(field: pa.Field) -> DeclaredType:
    """What is known of a column's type; nothing where the column was not declared in Flink's words."""
    text = (field.metadata or {}).get(DECLARED_TYPE, b"").decode()
    try:
        return _Parser(text).type()
    except (IndexError, ValueError):
        return DeclaredType()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._at = 0

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        self._at += 1
        found: str = self._tokens[self._at - 1]
        return found

    def type(self) -> DeclaredType:
        word, precision, children = self._next().upper(), None, []
        opening = self._peek()
        if opening == "<" or (opening == "(" and word == "ROW"):
            self._next()
            while self._peek() not in (">", ")"):
                if word == "ROW":
                    self._next()  # the field's name
                children.append(self.type())
                if self._peek().startswith("'"):
                    self._next()  # its comment
                if self._peek() == ",":
                    self._next()
            self._next()
        found = DeclaredType(word, None, tuple(children))
        while self._peek() not in ("", ",", ">", ")") and not self._peek().startswith("'"):
            token = self._next()
            if token == "(":
                precision = int(self._next())
                while self._next() != ")":
                    pass
                found = replace(found, precision=precision)
            elif token.upper() == "NOT" and self._peek().upper() == "NULL":
                self._next()
                found = replace(found, nullable=False)
            elif token.upper() in _COLLECTIONS:
                found = DeclaredType(token.upper(), None, (found,))
            elif not token.isalnum():
                raise ValueError(f"not a type of Flink's: {token}")
        return found
