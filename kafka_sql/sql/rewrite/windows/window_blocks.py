"""Find the windows that the blocks of a query read, and select their event time where a query needs it.

``window_time`` is the event time by which Spark closes a window. Flink's queries need not select it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_sql.sql.recognize.query_text import QueryBlock, QueryText, nest, own_tokens
from kafka_sql.sql.rewrite.edits import Edit
from kafka_sql.sql.rewrite.windows.window_call import WindowCall

LAST_INSTANT: Final = "__last"  # a column in the subqueries of windows, and in no other ones
START, END, TIME = "WINDOW_START", "WINDOW_END", "WINDOW_TIME"
_TIMES: Final = (START, END, TIME)


class TimeReference(NamedTuple):
    """A reference to a time of a window, such as ``w.window_start``, or a function such as ``TUMBLE_START(...)``."""

    name: str  # WINDOW_START, WINDOW_END or WINDOW_TIME
    tokens: range  # with the qualifier, or with the arguments of the function
    qualifier: str = ""  # ``w.``, or empty


class WindowBlocks:
    """The blocks of a query. The subquery that a window becomes is one of them, although it is not written yet."""

    def __init__(
        self,
        query: QueryText,
        calls: Sequence[WindowCall] = (),
        functions: Mapping[int, TimeReference] | None = None,
    ) -> None:
        """Find the relations of all blocks."""
        self._query, self._functions = query, functions or {}
        self.windows = {QueryBlock(c.tokens.start, c.tokens.stop, {"FROM": c.source}): c for c in calls}
        self._inner = nest([*query.blocks, *self.windows])
        self.outer = {inner: block for block, blocks in self._inner.items() for inner in blocks}
        self._selected: set[int] = set()  # where window_time is already added
        self._readers: set[QueryBlock] = set()
        for block in reversed(self._inner):
            if block not in self.windows and any(
                relation in self._readers or self._is_window(relation) for relation in self.relations(block)
            ):
                self._readers.add(block)

    def relations(self, block: QueryBlock) -> list[QueryBlock]:
        """Return the subqueries and windows in FROM, without those inside them."""
        return [inner for inner in self._inner[block] if inner.start in block.clause("FROM")]

    def own_tokens(self, block: QueryBlock) -> Iterator[int]:
        """Return the indexes of a block's tokens, without those of its subqueries."""
        return own_tokens(block, self._inner[block])

    def reads_windows(self, block: QueryBlock) -> bool:
        """Return whether a relation in FROM is a window, or a query that can return its window_time."""
        return block in self._readers

    def _is_window(self, block: QueryBlock) -> bool:
        """Return whether a block is a window with window_time. The query of a view may have the subquery of one."""
        call = self.windows.get(block)
        if call is not None:
            return not call.is_aggregated
        return any(self._query.tokens[i].text == LAST_INSTANT for i in block.clause("SELECT"))

    def select_window_time(self, block: QueryBlock) -> Iterator[Edit]:
        """Yield the edits that add ``window_time`` to the subqueries of FROM that do not select it."""
        for subquery in self.relations(block):
            if self._is_window(subquery) or not self.reads_windows(subquery):
                continue
            select = subquery.clause("SELECT")
            names = {self._name(item) for item in self._query.split(select) if item}
            if TIME not in names and "*" not in names:
                end = self._query.span(select).end
                if end not in self._selected:
                    self._selected.add(end)
                    yield Edit(end, end, ", window_time")
            yield from self.select_window_time(subquery)

    def _name(self, item: range) -> str:
        """Return the name that an item gets in the result, in upper case."""
        function = self._functions.get(item.start)
        if function is not None and function.tokens == item:
            return function.name
        return self._query.tokens[item.stop - 1].name.upper()

    def references(self, part: Iterable[int]) -> Iterator[TimeReference]:
        """Yield the references to times of windows among tokens."""
        tokens, position = self._query.tokens, 0
        for index in part:
            if index < position:
                continue
            if index in self._functions:
                yield self._functions[index]
                position = self._functions[index].tokens.stop
            elif tokens[index].is_identifier and tokens[index].name.upper() in _TIMES:
                first = index
                while first > 1 and tokens[first - 1].text == ".":
                    first -= 2
                qualifier = "".join(tokens[i].text for i in range(first, index))
                yield TimeReference(tokens[index].name.upper(), range(first, index + 1), qualifier)


def add_window_time(query: QueryText, blocks: WindowBlocks) -> Iterator[Edit]:
    """Yield the edits that add ``window_time`` where a query groups or joins by ``window_start`` and ``window_end``.

    It has the same value for all rows of a window.
    """
    for block in query.blocks:
        if not blocks.reads_windows(block):
            continue
        edits = [*_group_by_window_time(query, blocks, block), *_join_on_window_time(query, blocks, block)]
        if edits:
            yield from edits
            yield from blocks.select_window_time(block)


def _group_by_window_time(query: QueryText, blocks: WindowBlocks, block: QueryBlock) -> Iterator[Edit]:
    group = block.clause("GROUP")
    calls = [blocks.windows[relation] for relation in blocks.relations(block) if relation in blocks.windows]
    if any(call.is_aggregated for call in calls):
        return
    qualifiers = {reference.name: reference.qualifier for reference in blocks.references(group)}
    if any(call.group_key for call in calls):
        qualifiers |= {START: "", END: ""}
    if START in qualifiers and END in qualifiers and TIME not in qualifiers:
        end = query.tokens[group.start - 1].end  # of GROUP BY
        yield Edit(end, end, f" {qualifiers[END]}window_time,")


def _join_on_window_time(query: QueryText, blocks: WindowBlocks, block: QueryBlock) -> Iterator[Edit]:
    """Yield the edit that adds ``L.window_time = R.window_time`` after ``L.window_end = R.window_end``."""
    relations = block.clause("FROM")
    if query.is_single_relation(relations):
        return
    own = [index for index in blocks.own_tokens(block) if index in relations]
    references = {reference.tokens.start: reference for reference in blocks.references(own)}
    ends = []
    for left in references.values():
        right = references.get(left.tokens.stop + 1)
        if right is None or query.word(left.tokens.stop) != "=" or right.name != left.name:
            continue
        if left.name == TIME:
            return
        if left.name == END:
            ends.append((left, right))
    for left, right in ends:
        end = query.span(right.tokens).end
        yield Edit(end, end, f" AND {left.qualifier}window_time = {right.qualifier}window_time")
