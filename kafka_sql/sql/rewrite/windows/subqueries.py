"""Return the edits that write the windows of a statement as subqueries in Spark SQL.

Windows are those of the local time, as in Flink: a ``TIMESTAMP_LTZ`` is converted to the local time of the session's
time zone, a ``TIMESTAMP`` is one already. So the text is the same for both types. ``window_start`` and ``window_end``
are timestamps without time zone; ``window_time`` has the type of the time column.

In a stream, ``window_time`` is the event time. SQL has no way to say so, and Spark passes the metadata of an event-time
column on only through columns and fields of structs. So ``window_time`` is taken from an array whose first element, a
struct with the time column, determines the type. The text has no effect on the metadata if the time column is not an
event time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.expressions.interval import Interval, sum_intervals
from kafka_sql.sql.recognize.query_text import QueryBlock, QueryText, Span
from kafka_sql.sql.rewrite.edits import Edit, Template
from kafka_sql.sql.rewrite.hints import parse_hint
from kafka_sql.sql.rewrite.windows.group_windows import find_group_windows
from kafka_sql.sql.rewrite.windows.window_blocks import (
    END,
    LAST_INSTANT,
    START,
    TIME,
    TimeReference,
    WindowBlocks,
    add_window_time,
)
from kafka_sql.sql.rewrite.windows.window_call import MILLISECOND, WindowCall, find_window_calls

SESSION_COLUMN: Final = "__session_window"
_ONE_MILLISECOND: Final = "INTERVAL '0.001' SECOND"
_SESSION_MARK: Final = "__sessions_of "


def mark_sessions(keys: Sequence[str]) -> str:
    """Return the alias of a subquery whose sessions ``changelog.session_windows`` merges, with its PARTITION BY."""
    return _SESSION_MARK + json.dumps(list(keys))


def read_session_mark(alias: str) -> list[str] | None:
    """Return the columns of PARTITION BY if an alias is a mark; None for other aliases."""
    return list(json.loads(alias.removeprefix(_SESSION_MARK))) if alias.startswith(_SESSION_MARK) else None


def window_layers(call: WindowCall, keys: Sequence[Span]) -> list[Template]:
    """Return the select lists of the subqueries around the source of a call, the innermost first.

    The outermost one returns the columns of the source, window_start, window_end and window_time.
    """
    match call.function:
        case _ if call.is_aggregated:
            return [_spark_sessions(call)]
        case _ if call.is_merged:
            return [_spark_sessions(call), [f"*, {SESSION_COLUMN}.end AS {LAST_INSTANT}"], _session_times(call)]
        case "CUMULATE":
            layers, hidden, start, end = _cumulate(call), "__step, __window, __end", "__window.start", "__end"
        case "SESSION":
            layers, hidden = _session(call, keys), "__time, __starts, __number, __start, __end"
            start, end = "__start", "__end"
        case _:
            layers = [[f"*, {_window(call.time_column, call.size, call.step, call.offset)} AS __window"]]
            hidden, start, end = "__window", "__window.start", "__window.end"
    times = f"{start} AS window_start, {end} AS window_end, {_window_time(call)} AS window_time"
    last = f"*, {end} - {_ONE_MILLISECOND} AS {LAST_INSTANT}"
    return [*layers, [last], [f"* EXCEPT ({hidden}, {LAST_INSTANT}), {times}"]]


def _spark_sessions(call: WindowCall) -> Template:
    """Return each row with its own session, which is not merged with others."""
    return [f"*, session_window({quote(call.time_column)}, {_duration(call.size)}) AS {SESSION_COLUMN}"]


def _session_times(call: WindowCall) -> Template:
    """Return each row with the times of its session, once the sessions are merged."""
    time = f"{SESSION_COLUMN}.end - {_ONE_MILLISECOND}"
    times = {name.lower(): text.format(session=SESSION_COLUMN) for name, text in _SESSION_TIMES.items()}
    times[TIME.lower()] = _as_event_time(call, time)
    columns = ", ".join(f"{text} AS {name}" for name, text in times.items())
    return [f"* EXCEPT ({SESSION_COLUMN}, {LAST_INSTANT}), {columns}"]


def _cumulate(call: WindowCall) -> list[Template]:
    """Return each row once for each end of a step from its own step to the end of its window."""
    return [
        [f"*, {_window(call.time_column, call.step, call.step, call.offset % call.step)} AS __step"],
        [f"*, {_window(call.time_column, call.size, call.size, call.offset)} AS __window"],
        [f"*, explode(sequence(__step.end, __window.end, {_interval(call.step)})) AS __end"],
    ]


def _session(call: WindowCall, keys: Sequence[Span]) -> list[Template]:
    """Return each row with its session, whose rows are at most the gap apart."""
    gap = _interval(call.size)
    columns = [part for key in keys for part in (", ", key)][1:]
    by_key = ["PARTITION BY ", *columns, " "] if keys else []
    session = ["OVER (PARTITION BY ", *columns, ", " if keys else "", "__number)"]
    return [
        [f"*, {_window(call.time_column, MILLISECOND, MILLISECOND, 0)}.start AS __time"],
        ["*, if(__time <= lag(__time) OVER (", *by_key, f"ORDER BY __time) + {gap}, 0, 1) AS __starts"],
        ["*, sum(__starts) OVER (", *by_key, "ORDER BY __time) AS __number"],
        ["*, min(__time) ", *session, " AS __start, max(__time) ", *session, f" + {gap} AS __end"],
    ]


def _window(column: str, size: int, step: int, offset: int) -> str:
    """Return Spark's window of a column's local time, which also removes rows without a time."""
    arguments = [f"CAST({quote(column)} AS TIMESTAMP_NTZ)", *map(_duration, (size, step, offset))]
    return f"window({', '.join(arguments)})"


def _duration(microseconds: int) -> str:
    """Return a duration as Spark's windows take it."""
    return f"'{microseconds // MILLISECOND} milliseconds'"


def _interval(microseconds: int) -> str:
    return f"INTERVAL {sum_intervals([Interval('', microseconds)]).sql}"


def _window_time(call: WindowCall) -> str:
    """Return the last millisecond of a window, as an event time if the time column is one.

    A local time that exists twice, when clocks are set back, is the later instant: rows of both hours belong to the
    window, and a stream must not close it before.
    """
    column = quote(call.time_column)
    # COALESCE has the type of the column, so that Spark converts the local time only if that is an instant
    instant = f"coalesce({LAST_INSTANT}, {column})"
    later = f"(coalesce({LAST_INSTANT} + INTERVAL '1' DAY, {column}) - INTERVAL '24' HOUR)"
    time = f"if(CAST({later} AS TIMESTAMP_NTZ) = {LAST_INSTANT}, greatest({instant}, {later}), {instant})"
    return _as_event_time(call, time)


def _as_event_time(call: WindowCall, time: str) -> str:
    """Return a time with the metadata of the time column."""
    return f"element_at(array_append(array(struct({quote(call.time_column)} AS t)), struct({time} AS t)), -1).t"


_MAY_HAVE_WINDOWS: Final = re.compile(
    r"\b(?:TUMBLE|HOP|CUMULATE|SESSION)(?:_(?:START|END|ROWTIME|PROCTIME))?\s*\(", re.IGNORECASE
)
_SESSION_TIMES: Final = {
    START: "CAST({session}.start AS TIMESTAMP_NTZ)",
    END: "CAST({session}.end AS TIMESTAMP_NTZ)",
    TIME: "({session}.end - INTERVAL '0.001' SECOND)",
}


@dataclass(frozen=True)
class Windows:
    """The windows of a statement."""

    blocks: WindowBlocks  # the blocks of the statement, with those that the windows become
    edits: Sequence[Edit] = ()  # what writes the windows in Spark SQL

    @property
    def sources(self) -> list[range]:
        """The relations that the windows read."""
        return [call.source for call in self.blocks.windows.values()]


def may_have_windows(text: str) -> bool:
    """Return whether a statement may have windows."""
    return _MAY_HAVE_WINDOWS.search(text) is not None


def rewrite_windows(query: QueryText, streaming: bool, merges_sessions: bool = False) -> Windows:
    """Return the windows of a statement.

    Args:
        streaming: whether tables are read as streams, also without the keyword STREAM.
        merges_sessions: whether the statement is run with the operators of ``state``, one of which merges sessions.

    Raises:
        SqlSyntaxError, StatementError, UnsupportedSqlError: Flink would reject a window, or Spark cannot run it.
    """
    if not may_have_windows(query.text):
        return Windows(WindowBlocks(query))
    groups, functions = find_group_windows(query)
    calls = [*groups, *find_window_calls(query)]
    for i, call in enumerate(calls):
        reads_stream = streaming or any(query.word(index) == "STREAM" for index in call.source)
        calls[i] = replace(call, is_aggregated=call.function == "SESSION" and reads_stream)
    blocks = WindowBlocks(query, calls, functions)
    if merges_sessions:
        calls = [_merge_sessions(query, blocks, block, call) for block, call in blocks.windows.items()]
        blocks = WindowBlocks(query, calls, functions)
    edits: list[Edit] = []
    for block, call in blocks.windows.items():
        edits += _write_subquery(query, blocks, block)
        if call.is_aggregated:
            edits += _aggregate_sessions(query, blocks, blocks.outer.get(block), call)
        elif call.group_key:
            edits.append(Edit(*query.span(call.group_key), "window_start, window_end"))
    edits += (Edit(*query.span(f.tokens), f.name.lower()) for f in functions.values())
    return Windows(blocks, [*edits, *add_window_time(query, blocks)])


def _write_subquery(query: QueryText, blocks: WindowBlocks, block: QueryBlock) -> Iterator[Edit]:
    """Yield the edits before and after the source of a window, which stays where it is."""
    call = blocks.windows[block]
    source, tokens = query.span(call.source), query.span(call.tokens)
    hint = parse_hint(query.text, source.end)
    source_end = hint.end if hint is not None else source.end
    layers = window_layers(call, [query.span(key) for key in call.partition_keys])
    before = [part for layer in reversed(layers) for part in ("(SELECT ", *layer, " FROM ")]
    alias = ""
    last = query.tokens[call.source.stop - 1]
    if call.group_key and call.source.stop == blocks.outer[block].clause("FROM").stop and last.text != ")":
        alias = f" AS {quote(last.name)}"  # qualifiers of columns stay valid
    yield Edit(tokens.start, source.start, before)
    names = [_last_name(query, key) for key in call.partition_keys]
    mark = f" AS {quote(mark_sessions(names))}" if call.is_merged else ""
    after = ")" + mark + ")" * (len(layers) - 1) + alias
    yield Edit(source_end, max(tokens.end, source_end), after)


def _merge_sessions(query: QueryText, blocks: WindowBlocks, block: QueryBlock, call: WindowCall) -> WindowCall:
    """Return a call whose sessions are merged before they are aggregated, unless Spark's aggregate can merge them."""
    outer = blocks.outer.get(block)
    has_names = not call.group_key and all(map(query.is_name, call.partition_keys))
    if not (call.is_aggregated and has_names):
        return call
    if outer is not None and _find_session(query, blocks, outer, call) is not None:
        return call
    return replace(call, is_aggregated=False, is_merged=True)


def _find_session(
    query: QueryText, blocks: WindowBlocks, block: QueryBlock, call: WindowCall
) -> tuple[TimeReference, list[range]] | None:
    """Return the start of sessions in GROUP BY, and the other elements; None if these are not those of PARTITION BY."""
    elements = query.split(block.clause("GROUP"))
    references = {element: _reference(blocks, element) for element in elements}
    names = {reference.name: reference for reference in references.values() if reference is not None}
    if call.group_key:
        names |= dict.fromkeys((START, END), TimeReference(START, call.group_key))
    others = [e for e in elements if e != call.group_key and references[e] is None]
    keys = {query.tokens[element.stop - 1].name.lower() for element in others}
    partition = {_last_name(query, key) for key in call.partition_keys}
    return (names[START], others) if START in names and END in names and keys == partition else None


def _aggregate_sessions(
    query: QueryText, blocks: WindowBlocks, block: QueryBlock | None, call: WindowCall
) -> Iterator[Edit]:
    """Yield the edits that make Spark aggregate the sessions of a stream.

    Spark merges rows into sessions as part of an aggregate only, with the other grouping columns as key.
    """
    found = _find_session(query, blocks, block, call) if block is not None else None
    if block is None or found is None:
        expected = ", ".join([*map(query.part, call.partition_keys), "window_start", "window_end"])
        raise UnsupportedSqlError(
            "SESSION in a stream: outside of an INSERT INTO, Spark computes sessions only for an aggregate by the "
            f"columns of PARTITION BY. Write GROUP BY {expected}; or write the rows into a table with INSERT INTO."
        )
    start, others = found
    group = block.clause("GROUP")
    texts = [part for element in others for part in (", ", query.span(element))]
    yield Edit(*query.span(group), [start.qualifier + SESSION_COLUMN, *texts])
    items = set(query.split(block.clause("SELECT")))
    outside = [i for i in blocks.own_tokens(block) if i not in group and i not in block.clause("FROM")]
    for reference in blocks.references(outside):
        if query.word(reference.tokens.start - 1) == "AS":  # an alias of that name
            continue
        text = _SESSION_TIMES[reference.name].format(session=reference.qualifier + SESSION_COLUMN)
        alias = f" AS {reference.name.lower()}" if reference.tokens in items else ""
        yield Edit(*query.span(reference.tokens), text + alias)


def _reference(blocks: WindowBlocks, element: range) -> TimeReference | None:
    """Return the reference to the time of a window that an element of GROUP BY is."""
    references = [r for r in blocks.references(element) if r.tokens.stop == element.stop]
    return references[-1] if references and references[-1].tokens == element else None


def _last_name(query: QueryText, key: range) -> str:
    names = [query.tokens[index].name.lower() for index in key if query.tokens[index].is_identifier]
    return names[-1] if names else ""
