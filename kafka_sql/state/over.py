"""Compute OVER windows over streams, and sort streams by time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame

from kafka_sql.spark.jvm import JavaObject, java_array, java_expressions
from kafka_sql.state.operators import call_operator, operator_classes
from kafka_sql.table.changelog import ROW_KIND_NAME

UNBOUNDED: Final = -1
_CLASS: Final = "OverOperators"


@dataclass(frozen=True)
class OverCall:
    """A function of an OVER window. Its frame ends with the current row."""

    function: JavaObject  # an aggregate or window function, or LAG, without OVER
    filter: JavaObject | None  # the condition of FILTER
    is_rows: bool  # whether the frame is ROWS, or else RANGE: rows with an equal order have the same frame
    preceding: int  # where it begins: rows or microseconds before the current row, or UNBOUNDED


def is_over_function(rows: DataFrame, function: JavaObject) -> bool:
    """Return whether an OVER window of a stream can have a function, which is an expression of Spark."""
    return bool(getattr(operator_classes(rows.sparkSession), _CLASS).isSupported(function))


def over_event_time(
    rows: DataFrame,
    key: Sequence[str],
    columns: Sequence[str],
    time: str,
    order: Sequence[JavaObject],
    calls: Sequence[OverCall],
    drops_late_rows: bool,
) -> DataFrame:
    """Compute functions over the rows before each row in event time. A row is returned when the watermark passes it.

    Args:
        rows: rows that never change.
        key: the columns of PARTITION BY.
        columns: the columns that are returned, and those of the expressions.
        time: the column with the event time, one of ``columns``. Rows without a time are dropped.
        order: the order of rows with the same time (``SortOrder``), before the order of arrival.
        calls: the functions; can be empty, to only sort the rows.
        drops_late_rows: whether rows behind the watermark are dropped. Rows of a stateful operator never are.

    Returns:
        ``columns`` and the results ``r0``, ``r1`` and so on.
    """
    names = [java_array(rows.sparkSession, "String", part) for part in (key, columns)]
    orders = java_expressions(rows.sparkSession, order)
    arguments = (*names, time, orders, _java_calls(rows, calls), drops_late_rows)
    return call_operator("overEventTime", rows, *arguments, owner=_CLASS)


def over_processing_time(
    rows: DataFrame, key: Sequence[str], columns: Sequence[str], time: str, calls: Sequence[OverCall]
) -> DataFrame:
    """Compute functions over the rows that arrived before each row.

    Args:
        time: the column with the processing time; the other parameters are those of ``over_event_time``.

    Returns:
        ``columns`` and the results ``r0``, ``r1`` and so on.
    """
    names = [java_array(rows.sparkSession, "String", part) for part in (key, columns)]
    return call_operator("overProcessingTime", rows, *names, time, _java_calls(rows, calls), owner=_CLASS)


def over(
    changes: DataFrame,
    key: Sequence[str],
    columns: Sequence[str],
    place: str | None,
    order: Sequence[JavaObject],
    calls: Sequence[OverCall],
) -> DataFrame:
    """Compute functions over the rows before each row in any order, and return how the results change.

    Args:
        changes: rows with a row kind, and old rows.
        place: the column with the order of the changes; None for the order of arrival.
        order: the order of the rows (``SortOrder``), before the order of arrival.

    Returns:
        ``columns``, the results ``r0``, ``r1`` and so on, the row kind, and the order of the changes of a key.
    """
    names = [java_array(changes.sparkSession, "String", part) for part in (key, columns)]
    arguments = (*names, ROW_KIND_NAME, place, java_expressions(changes.sparkSession, order))
    return call_operator("over", changes, *arguments, _java_calls(changes, calls), owner=_CLASS)


def _java_calls(rows: DataFrame, calls: Sequence[OverCall]) -> JavaObject:
    spark = rows.sparkSession
    return operator_classes(spark).OverCalls(
        java_expressions(spark, [call.function for call in calls]),
        java_expressions(spark, [call.filter for call in calls]),
        java_array(spark, "boolean", [call.is_rows for call in calls]),
        java_array(spark, "long", [call.preceding for call in calls]),
    )
