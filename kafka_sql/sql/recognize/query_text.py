"""The text of a statement or a query, with its tokens, blocks and hints. It is read once, when it is first needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token

SET_OPERATORS: Final = ("UNION", "INTERSECT", "EXCEPT", "MINUS", "SETMINUS")
WORDS_BEFORE_BY: Final = ("GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE")


@dataclass(eq=False)
class QueryBlock:
    """A SELECT with its clauses, without those of its subqueries.

    In ``SELECT a FROM t GROUP BY a``, the range of ``GROUP`` is that of the second ``a``.
    """

    start: int  # index of the token SELECT
    end: int = 0  # index after the last token
    # the tokens of each clause, by its first word; the word itself, and BY, are not in the range
    clauses: dict[str, range] = field(default_factory=dict)

    def clause(self, name: str) -> range:
        """Return the tokens of a clause; empty if the block does not have it."""
        return self.clauses.get(name, range(0))


def nest(blocks: Iterable[QueryBlock]) -> dict[QueryBlock, list[QueryBlock]]:
    """Return the blocks directly inside each block, in text order, as are the keys."""
    nested: dict[QueryBlock, list[QueryBlock]] = {}
    enclosing: list[QueryBlock] = []
    for block in sorted(blocks, key=lambda block: (block.start, -block.end)):
        nested[block] = []
        while enclosing and enclosing[-1].end <= block.start:
            enclosing.pop()
        if enclosing:
            nested[enclosing[-1]].append(block)
        enclosing.append(block)
    return nested


def own_tokens(block: QueryBlock, inner: Iterable[QueryBlock]) -> Iterator[int]:
    """Yield the indexes of a block's tokens, without those of the blocks directly inside it."""
    index = block.start
    for other in inner:
        yield from range(index, other.start)
        index = other.end
    yield from range(index, block.end)


class _BlockFinder:
    """Find blocks in one pass, with the open block of each level of parentheses; None without one."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._open: list[QueryBlock | None] = [None]
        self._clauses: list[tuple[str, int]] = [("", 0)]  # the open clause of each level, and its first token
        self._blocks: list[QueryBlock] = []

    def find(self) -> list[QueryBlock]:
        for index, token in enumerate(self._tokens):
            if token.is_symbol("("):
                self._open.append(None)
                self._clauses.append(("", 0))
            elif token.is_symbol(")"):
                self._end_block(index)
                if len(self._open) > 1:
                    self._open.pop()
                    self._clauses.pop()
            elif not (index and self._tokens[index - 1].text == "."):
                self._read_word(index)
        self._end_block(len(self._tokens))
        return self._blocks

    def _read_word(self, index: int) -> None:
        word = self._tokens[index].word
        block = self._open[-1]
        if word == "SELECT":
            self._end_block(index)
            self._open[-1], self._clauses[-1] = QueryBlock(index), ("SELECT", index + 1)
        elif block is None:
            return
        elif word == ";" or (word in SET_OPERATORS and not self._is_star_except(index)):
            self._end_block(index)
        elif self._starts_clause(word, index):
            self._end_clause(block, index)
            self._clauses[-1] = (word, index + (2 if word in WORDS_BEFORE_BY else 1))

    def _starts_clause(self, word: str, index: int) -> bool:
        clause = self._clauses[-1][0]
        if word == "FROM":
            is_distinct = self._word(index - 1) == "DISTINCT" and self._word(index - 2) in ("IS", "NOT")
            return clause == "SELECT" and not is_distinct
        if word in WORDS_BEFORE_BY:
            return self._word(index + 1) == "BY"
        if clause == "SELECT":
            return False
        if word == "WINDOW":
            return self._word(index + 2) == "AS"
        if word in ("LIMIT", "OFFSET"):
            return index + 1 < len(self._tokens) and self._tokens[index + 1].type == lexer.NUMBER
        return word in ("WHERE", "HAVING", "QUALIFY")

    def _is_star_except(self, index: int) -> bool:
        return self._word(index) == "EXCEPT" and self._word(index - 1) == "*" and self._word(index + 1) == "("

    def _word(self, index: int) -> str:
        return self._tokens[index].word if 0 <= index < len(self._tokens) else ""

    def _end_clause(self, block: QueryBlock, index: int) -> None:
        name, start = self._clauses[-1]
        block.clauses.setdefault(name, range(start, index))

    def _end_block(self, index: int) -> None:
        block = self._open[-1]
        if block is not None:
            self._end_clause(block, index)
            block.end = index
            self._blocks.append(block)
            self._open[-1] = None


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
        return sorted(_BlockFinder(self.tokens).find(), key=lambda block: block.start)

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
