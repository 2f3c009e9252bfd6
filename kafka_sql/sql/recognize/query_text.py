"""The text of a statement or a query, with its tokens, blocks and hints. It is read once, when it is first needed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token
from kafka_sql.sql.recognize.query_blocks import QueryBlock, find_query_blocks


class Span(NamedTuple):
    """A part of a text: ``text[start:end]``."""

    start: int
    end: int


@dataclass(frozen=True)
class QueryText:
    """A statement or a query in Spark's syntax, with Flink's additions.

    Parts of it are ranges of indexes of tokens, such as ``range(1, 4)`` for ``a.b`` in ``SELECT a.b``.

    Attributes:
        text: as written.
    """

    text: str = field(repr=False)  # hints may contain secrets

    @cached_property
    def _all_tokens(self) -> list[Token]:
        return list(lexer.tokenize_spark_with_hints(self.text))

    @cached_property
    def tokens(self) -> list[Token]:
        """All tokens, without hints."""
        return [token for token in self._all_tokens if token.type != lexer.HINT]

    @cached_property
    def hints(self) -> list[Token]:
        """The hints, each one token."""
        return [token for token in self._all_tokens if token.type == lexer.HINT]

    @cached_property
    def blocks(self) -> list[QueryBlock]:
        """Each SELECT with its clauses, in text order."""
        return find_query_blocks(self.tokens)

    @cached_property
    def _closings(self) -> dict[int, int]:
        closings: dict[int, int] = {}
        opened: list[int] = []
        for index, token in enumerate(self.tokens):
            if token.is_symbol("("):
                opened.append(index)
            elif token.is_symbol(")") and opened:
                closings[opened.pop()] = index
        return closings

    def closing(self, index: int) -> int:
        """Return the index of the parenthesis that closes the one at ``index``; the number of tokens without one."""
        return self._closings.get(index, len(self.tokens))

    def word(self, index: int) -> str:
        """Return a word in upper case or a symbol; empty for literals and quoted names, and outside the text."""
        return self.tokens[index].word if 0 <= index < len(self.tokens) else ""

    def words(self, part: Iterable[int]) -> list[str]:
        """Return the words of a part in upper case, and its other tokens as written."""
        return [self.tokens[index].upper or self.tokens[index].text for index in part]

    def span(self, part: range) -> Span:
        """Return the position of a part, which is not empty."""
        return Span(self.tokens[part.start].start, self.tokens[part.stop - 1].end)

    def part(self, part: range) -> str:
        """Return the text of a part, which is not empty."""
        start, end = self.span(part)
        return self.text[start:end]

    def split(self, part: range, separator: str = ",") -> list[range]:
        """Return the elements of a list, such as that of GROUP BY, without those in parentheses."""
        elements, start, index = [], part.start, part.start
        while index < part.stop:
            token = self.tokens[index]
            if token.is_symbol("("):
                index = min(self.closing(index), part.stop - 1)
            elif (token.upper or token.text) == separator:
                elements.append(range(start, index))
                start = index + 1
            index += 1
        return [*elements, range(start, part.stop)] if part else []

    def is_name(self, part: range) -> bool:
        """Return whether a part is a name, with or without qualifiers."""
        return all(self.tokens[i].is_identifier or self.tokens[i].text == "." for i in part)

    def is_single_relation(self, part: range) -> bool:
        """Return whether a FROM clause reads one table, view or subquery, without a join."""
        index = part.start
        while index < part.stop:
            if self.tokens[index].text == "," or self.tokens[index].upper in _JOINS:
                return False
            index = self.closing(index) + 1 if self.tokens[index].is_symbol("(") else index + 1
        return True


_JOINS = ("JOIN", "LATERAL", "PIVOT", "UNPIVOT", "TABLESAMPLE")
