"""Find out which columns of a plan are times of windows, also under other names, and what waits for the watermark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafka_sql.spark.expression_text import WINDOW_MARK
from kafka_sql.spark.plan import ATTRIBUTE, Expression, Operator, resolve
from kafka_sql.spark.stream_support import event_time_keys
from kafka_sql.sql.jobs.changelog.relation import WINDOW_COLUMNS
from kafka_sql.sql.rewrite.windows.subqueries import read_session_mark

# operators of Spark that may return rows with an event time that the watermark has passed
_WAITING: Final = ("Deduplicate", "DeduplicateWithinWatermark", "Distinct", "Sort")


def is_window_time(column: Expression, inputs: Sequence[Operator]) -> bool:
    """Return whether a column of an operator's inputs is a window, or its start, end or time."""
    name = column.text.lstrip("_")
    return name in WINDOW_COLUMNS or any(part.name == WINDOW_MARK for part in resolve(column, tuple(inputs)).walk())


def groups_by_window(operator: Operator) -> bool:
    """Return whether an operator is an aggregate whose groups end when the watermark passes their windows."""
    return any(is_window_time(time, operator.children) for time in event_time_keys(operator))


def has_sessions(plan: Operator) -> bool:
    """Return whether a plan has subqueries whose sessions are to be merged."""
    return any(o.name == "SubqueryAlias" and read_session_mark(o.detail) is not None for o in plan.walk())


def orders_by_watermark(window: Operator) -> bool:
    """Return whether a window function is over a window, or in the ascending order of an event time."""
    descending = [e for e in window.others if e.name == "SortOrder" and e.text.startswith("DESC")]
    return any(
        part.name == ATTRIBUTE
        and ((part.is_event_time and expression not in descending) or is_window_time(part, window.children))
        for expression in window.others
        for part in expression.walk()
    )


def waits_for_watermark(rows: Operator) -> bool:
    """Return whether an operator of a plan returns rows when the watermark passes them: none of these is late."""
    return has_sessions(rows) or any(map(_waits, rows.walk()))


def _waits(operator: Operator) -> bool:
    if not operator.is_streaming:
        return False
    if operator.name == "Window":
        return orders_by_watermark(operator)
    is_waiting = operator.name in _WAITING or operator.joins_streams() or "WithState" in operator.name
    return is_waiting or bool(event_time_keys(operator))
