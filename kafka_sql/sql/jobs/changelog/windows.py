"""Find out which columns of a plan are times of windows, also under other names."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_sql.spark.expression_text import WINDOW_MARK
from kafka_sql.spark.plan import Expression, Operator, resolve
from kafka_sql.spark.stream_support import event_time_keys
from kafka_sql.sql.jobs.changelog.relation import WINDOW_COLUMNS


def is_window_time(column: Expression, inputs: Sequence[Operator]) -> bool:
    """Return whether a column of an operator's inputs is a window, or its start, end or time."""
    name = column.text.lstrip("_")
    return name in WINDOW_COLUMNS or any(part.name == WINDOW_MARK for part in resolve(column, tuple(inputs)).walk())


def groups_by_window(operator: Operator) -> bool:
    """Return whether an operator is an aggregate whose groups end when the watermark passes their windows."""
    return any(is_window_time(time, operator.children) for time in event_time_keys(operator))
