"""Find the blocks of a query, each SELECT with its clauses, as ranges of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token

_SET_OPERATORS: Final = ("UNION", "INTERSECT", "EXCEPT", "MINUS", "SETMINUS")
_WORDS_BEFORE_BY: Final = ("GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE")
_JOINS: Final = ("JOIN", "LATERAL", "PIVOT", "UNPIVOT", "TABLESAMPLE")


@dataclass
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


def find_query_blocks(tokens: Sequence[Token]) -> list[QueryBlock]:
    """Return all blocks of a statement, in text order."""
    return _BlockFinder(tokens).find()


def closing_parenthesis(tokens: Sequence[Token], start: int) -> int:
    """Return the index of the parenthesis that closes the one at ``start``, or the number of tokens."""
    depth = 0
    for index in range(start, len(tokens)):
        depth += depth_change(tokens[index])
        if depth == 0:
            return index
    return len(tokens)


def depth_change(token: Token) -> int:
    """Return 1 for an opening parenthesis, -1 for a closing one, and 0 for other tokens."""
    return {"(": 1, ")": -1}.get(token.text, 0) if token.type == lexer.SYMBOL else 0


def split_list(tokens: Sequence[Token], part: range) -> list[range]:
    """Return the elements of a list that commas separate, such as that of GROUP BY; empty for an empty list."""
    elements, depth, start = [], 0, part.start
    for index in part:
        depth += depth_change(tokens[index])
        if depth == 0 and tokens[index].text == ",":
            elements.append(range(start, index))
            start = index + 1
    return [*elements, range(start, part.stop)] if part else []


def is_single_relation(tokens: Sequence[Token], part: range) -> bool:
    """Return whether a FROM clause reads one table, view or subquery, without a join."""
    depth = 0
    for index in part:
        depth += depth_change(tokens[index])
        if depth == 0 and (tokens[index].text == "," or tokens[index].upper in _JOINS):
            return False
    return True


class _BlockFinder:
    """Find blocks in one pass, with the open block of each level of parentheses; None without one."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._open: list[QueryBlock | None] = [None]
        self._clauses: list[tuple[str, int]] = [("", 0)]  # the open clause of each level, and its first token
        self._blocks: list[QueryBlock] = []

    def find(self) -> list[QueryBlock]:
        for index, token in enumerate(self._tokens):
            change = depth_change(token)
            if change > 0:
                self._open.append(None)
                self._clauses.append(("", 0))
            elif change < 0:
                self._end_block(index)
                if len(self._open) > 1:
                    self._open.pop()
                    self._clauses.pop()
            elif not (index and self._tokens[index - 1].text == "."):
                self._read_word(index)
        self._end_block(len(self._tokens))
        return sorted(self._blocks, key=lambda block: block.start)

    def _read_word(self, index: int) -> None:
        word = self._tokens[index].upper or self._tokens[index].text
        block = self._open[-1]
        if word == "SELECT":
            self._end_block(index)
            self._open[-1], self._clauses[-1] = QueryBlock(index), ("SELECT", index + 1)
        elif block is None:
            return
        elif word == ";" or (word in _SET_OPERATORS and not self._is_star_except(index)):
            self._end_block(index)
        elif self._starts_clause(word, index):
            self._end_clause(block, index)
            self._clauses[-1] = (word, index + (2 if word in _WORDS_BEFORE_BY else 1))

    def _starts_clause(self, word: str, index: int) -> bool:
        clause = self._clauses[-1][0]
        if word == "FROM":
            return clause == "SELECT" and not self._follows_is_distinct(index)
        if word in _WORDS_BEFORE_BY:
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
        following = self._tokens[index + 1].text if index + 1 < len(self._tokens) else ""
        return self._word(index) == "EXCEPT" and self._tokens[index - 1].text == "*" and following == "("

    def _word(self, index: int) -> str:
        return self._tokens[index].upper if 0 <= index < len(self._tokens) else ""

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
