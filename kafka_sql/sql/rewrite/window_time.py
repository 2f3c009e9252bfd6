"""Find the column ``window_time`` of a window in the relations of a query, and select it where a query needs it.

``window_time`` is the event time by which Spark closes a window. Flink's queries need not select it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.recognize.lexer import Token
from kafka_sql.sql.rewrite.query_blocks import QueryBlock, is_single_relation, split_list
from kafka_sql.sql.rewrite.table_references import Edit

LAST_INSTANT: Final = "__last"  # a column in the subqueries of windows, and in no other ones
START, END, TIME = "WINDOW_START", "WINDOW_END", "WINDOW_TIME"
_TIMES: Final = (START, END, TIME)


class WindowTimes:
    """The blocks of a statement that read windows."""

    def __init__(self, tokens: Sequence[Token], blocks: Sequence[QueryBlock]) -> None:
        self._tokens, self._blocks = tokens, blocks

    def subqueries(self, block: QueryBlock) -> list[QueryBlock]:
        """Return the blocks of the subqueries in FROM, without those inside them."""
        inner = [b for b in self._blocks if b.start in block.clause("FROM")]
        return [b for b in inner if not any(o.start < b.start < o.end for o in inner)]

    def own_tokens(self, block: QueryBlock) -> list[int]:
        """Return the indexes of a block's tokens, without those of its subqueries."""
        inner = [b for b in self._blocks if block.start < b.start < block.end]
        return [i for i in range(block.start, block.end) if not any(b.start <= i < b.end for b in inner)]

    def reads_windows(self, block: QueryBlock) -> bool:
        """Return whether a relation in FROM is a window, or a query that can return its window_time."""
        return any(self._is_window(b) or self.reads_windows(b) for b in self.subqueries(block))

    def select_window_time(self, block: QueryBlock) -> Iterator[Edit]:
        """Yield the edits that add ``window_time`` to the subqueries of FROM that do not select it."""
        for subquery in self.subqueries(block):
            if self._is_window(subquery) or not self.reads_windows(subquery):
                continue
            items = split_list(self._tokens, subquery.clause("SELECT"))
            names = {self._tokens[item.stop - 1].name.upper() for item in items if item}
            if TIME not in names and "*" not in names:
                end = self._tokens[subquery.clause("SELECT").stop - 1].end
                yield end, end, ", window_time"
            yield from self.select_window_time(subquery)

    def _is_window(self, block: QueryBlock) -> bool:
        return any(self._tokens[i].text == LAST_INSTANT for i in block.clause("SELECT"))


def window_references(tokens: Sequence[Token], part: Sequence[int]) -> Iterator[tuple[str, int, int]]:
    """Yield name, first and last token of the references to the times of a window, such as ``w.window_start``."""
    for index in part:
        is_name = tokens[index].type in (lexer.WORD, lexer.QUOTED)
        if is_name and tokens[index].name.upper() in _TIMES:
            first = index
            while first > 1 and tokens[first - 1].text == ".":
                first -= 2
            yield tokens[index].name.upper(), first, index


def add_window_time(tokens: Sequence[Token], blocks: Sequence[QueryBlock]) -> Iterator[Edit]:
    """Yield the edits that add ``window_time`` where a query groups or joins by ``window_start`` and ``window_end``.

    It has the same value for all rows of a window.
    """
    times = WindowTimes(tokens, blocks)
    for block in blocks:
        if not times.reads_windows(block):
            continue
        edits = [*_group_by_window_time(tokens, block), *_join_on_window_time(tokens, block, times)]
        if edits:
            yield from edits
            yield from times.select_window_time(block)


def _group_by_window_time(tokens: Sequence[Token], block: QueryBlock) -> Iterator[Edit]:
    group = block.clause("GROUP")
    names = {name: (first, last) for name, first, last in window_references(tokens, group)}
    if START in names and END in names and TIME not in names:
        start = tokens[group.start].start
        yield start, start, f"{_qualifier(tokens, *names[END])}window_time, "


def _join_on_window_time(tokens: Sequence[Token], block: QueryBlock, times: WindowTimes) -> Iterator[Edit]:
    """Yield the edit that adds ``L.window_time = R.window_time`` after ``L.window_end = R.window_end``."""
    own = set(times.own_tokens(block)) & set(block.clause("FROM"))
    if is_single_relation(tokens, block.clause("FROM")):
        return
    references = {first: (name, last) for name, first, last in window_references(tokens, sorted(own))}
    ends = []
    for first, (name, last) in references.items():
        following = references.get(last + 2)
        if following is None or tokens[last + 1].text != "=" or following[0] != name:
            continue
        if name == TIME:
            return
        if name == END:
            ends.append((first, last, last + 2, following[1]))
    for first, last, other_first, other_last in ends:
        left, right = _qualifier(tokens, first, last), _qualifier(tokens, other_first, other_last)
        end = tokens[other_last].end
        yield end, end, f" AND {left}window_time = {right}window_time"


def _qualifier(tokens: Sequence[Token], first: int, last: int) -> str:
    return "".join(tokens[index].text for index in range(first, last))
