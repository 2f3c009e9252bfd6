"""Write a window function as a subquery in Spark SQL.

Windows are those of the local time, as in Flink: a ``TIMESTAMP_LTZ`` is converted to the local time of the session's
time zone, a ``TIMESTAMP`` is one already. So the text is the same for both types. ``window_start`` and ``window_end``
are timestamps without time zone; ``window_time`` has the type of the time column.

In a stream, ``window_time`` is the event time. SQL has no way to say so, and Spark passes the metadata of an event-time
column on only through columns and fields of structs. So ``window_time`` is taken from an array whose first element, a
struct with the time column, determines the type. The text has no effect on the metadata if the time column is not an
event time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.sql.expressions.interval import Interval, sum_intervals
from kafka_sql.sql.recognize.query_text import Span
from kafka_sql.sql.rewrite.edits import Template
from kafka_sql.sql.rewrite.windows.window_blocks import LAST_INSTANT
from kafka_sql.sql.rewrite.windows.window_call import MILLISECOND, WindowCall

SESSION_COLUMN: Final = "__session"
_ONE_MILLISECOND: Final = "INTERVAL '0.001' SECOND"


def window_layers(call: WindowCall, keys: Sequence[Span]) -> list[Template]:
    """Return the select lists of the subqueries around the source of a call, the innermost first.

    The outermost one returns the columns of the source, window_start, window_end and window_time.
    """
    match call.function:
        case _ if call.is_aggregated:
            return [[f"*, session_window({quote(call.time_column)}, {_duration(call.size)}) AS {SESSION_COLUMN}"]]
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
    return f"element_at(array_append(array(struct({column} AS t)), struct({time} AS t)), -1).t"
