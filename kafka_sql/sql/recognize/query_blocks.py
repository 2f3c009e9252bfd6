"""Find the blocks of a query, each SELECT with its clauses, as ranges of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token

SET_OPERATORS: Final = ("UNION", "INTERSECT", "EXCEPT", "MINUS", "SETMINUS")
WORDS_BEFORE_BY: Final = ("GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE")


@dataclass(eq=False)
class QueryBlock:
    """A SELECT with its clauses, without those of its subqueries.

    In ``SELECT a FROM t GROUP BY a``, the range of ``GROUP`` is that of the second ``a``.

    Attributes:
        start: index of the token SELECT.
        end: index after the last token.
        clauses: the tokens of each clause, by its first word; the word itself, and BY, are not in the range.
    """

    start: int
    end: int = 0
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


def find_query_blocks(tokens: Sequence[Token]) -> list[QueryBlock]:
    """Return all blocks of a statement, in text order."""
    return sorted(_BlockFinder(tokens).find(), key=lambda block: block.start)


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
            return clause == "SELECT" and not self._follows_is_distinct(index)
        if word in WORDS_BEFORE_BY:
            return self._word(index + 1) == "BY"
        if clause == "SELECT":
            return False
        if word == "WINDOW":
            return self._word(index + 2) == "AS"
        if word in ("LIMIT", "OFFSET"):
            return index + 1 < len(self._tokens) and self._tokens[index + 1].type == lexer.NUMBER
        return word in ("WHERE", "HAVING", "QUALIFY")

    def _follows_is_distinct(self, index: int) -> bool:
        """Return whether ``IS [NOT] DISTINCT`` precedes a token, which is then not the clause FROM."""
        return self._word(index - 1) == "DISTINCT" and self._word(index - 2) in ("IS", "NOT")

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
