"""Find the continuous queries that need rows which are behind the watermark.

Spark drops these rows in every join of streams, and in every aggregate whose GROUP BY has the event time, also if the
query needs no watermark. Flink's regular joins and its GROUP BY of a column have no event time and drop no row. So such
a query reads its tables without their watermarks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame

from kafka_sql.spark.context import is_connect
from kafka_sql.spark.plan import ATTRIBUTE, STREAM, WATERMARK, Operator
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.sql.jobs.changelog.temporal_join_marks import has_temporal_join
from kafka_sql.sql.jobs.changelog.windows import has_sessions, is_window_time, orders_by_watermark

_INNER_JOINS: Final = ("CROSS", "INNER", "LEFT SEMI")  # those that need no watermark
_STATELESS_OR_UPDATING: Final = frozenset(
    {
        *("Aggregate", "CTERelationDef", "CTERelationRef", WATERMARK, "Expand", "Filter", "Generate"),
        *("Join", "Project", "RebalancePartitions", "Repartition", "RepartitionByExpression", "ResolvedHint"),
        *("SubqueryAlias", "Union", "View", "WithCTE", "Distinct"),
    }
)
_BOUNDS_PER_JOIN: Final = 2  # an interval join has a lower and an upper bound


def needs_late_rows(rows: DataFrame, accepts_changes: bool) -> bool:
    """Return whether a watermark would only drop rows that belong to the result.

    Args:
        accepts_changes: whether its sink accepts updates. If not, an aggregate needs the watermark to be final.
    """
    if not rows.isStreaming or is_connect(rows.sparkSession):
        return False
    plan = read_plan(rows)
    operators = list(plan.walk())
    if not any(operator.name == WATERMARK for operator in operators) or has_temporal_join(plan) or has_sessions(plan):
        return False
    drops_rows = False
    for operator in operators:
        if operator.joins_streams():
            if operator.detail not in _INNER_JOINS:
                return False
            drops_rows = True
        elif operator.name in ("Aggregate", "Distinct"):
            keys = operator.output if operator.name == "Distinct" else operator.keys
            times = [key for key in keys if key.name in ("Alias", ATTRIBUTE) and key.is_event_time]
            if times and (not accepts_changes or any(is_window_time(time, operator.children) for time in times)):
                return False
            drops_rows |= bool(times)
        elif operator.name == "Window":  # closed windows, and first rows by event time, need the watermark
            if orders_by_watermark(operator):
                return False
        elif operator.name not in _STATELESS_OR_UPDATING and not operator.name.startswith(STREAM):
            return False  # LIMIT, for example
    return drops_rows and not has_time_condition(operators)


def has_time_condition(operators: Sequence[Operator]) -> bool:
    """Return whether conditions bound the difference of two event times, as in interval joins and window joins."""
    bounds = 0
    conditions = [(part, o.children) for o in operators if o.condition is not None for part in o.condition.conjuncts()]
    for condition, inputs in conditions:
        columns = [part for part in condition.walk() if part.name == ATTRIBUTE]
        if condition.name in ("EqualTo", "EqualNullSafe") and any(is_window_time(column, inputs) for column in columns):
            return True
        if sum(column.is_event_time for column in columns) > 1:
            bounds += 1 if condition.name.startswith(("GreaterThan", "LessThan")) else _BOUNDS_PER_JOIN
    return bounds >= _BOUNDS_PER_JOIN
