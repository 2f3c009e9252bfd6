"""Find the continuous queries that need rows which are behind the watermark.

Spark drops these rows in every join of streams, and in every aggregate whose GROUP BY has the event time, also if the
query needs no watermark. Flink's regular joins and its GROUP BY of a column have no event time and drop no row. So such
a query reads its tables without their watermarks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pyspark.sql import DataFrame

from kafka_sql.spark.catalyst import (
    WATERMARK_METADATA,
    Attribute,
    Catalyst,
    Node,
    Plan,
    analyzed_plan,
    class_name,
    elements,
    output,
    walk,
)
from kafka_sql.spark.context import spark_context
from kafka_sql.sql.jobs.changelog.relation import WINDOW_COLUMNS
from kafka_sql.sql.jobs.changelog.temporal_joins import has_temporal_join

_INNER_JOINS: Final = ("CROSS", "INNER", "LEFT SEMI")  # those that need no watermark
_STATELESS_OR_UPDATING: Final = frozenset(
    {
        *("Aggregate", "CTERelationDef", "CTERelationRef", "EventTimeWatermark", "Expand", "Filter", "Generate"),
        *("Join", "Project", "RebalancePartitions", "Repartition", "RepartitionByExpression", "ResolvedHint"),
        *("SubqueryAlias", "Union", "View", "WithCTE", "Distinct"),
    }
)
_BOUNDS_PER_JOIN: Final = 2  # an interval join has a lower and an upper bound


def needs_late_rows(rows: DataFrame, accepts_changes: bool) -> bool:
    """Return whether a watermark would only drop rows that belong to the result.

    Args:
        rows: the continuous query.
        accepts_changes: whether its sink accepts updates. If not, an aggregate needs the watermark to be final.
    """
    if not rows.isStreaming or spark_context(rows.sparkSession) is None:
        return False
    plan = analyzed_plan(rows)
    operators = list(_streaming_operators(plan))
    if not any(class_name(operator) == "EventTimeWatermark" for operator in operators):
        return False
    if has_temporal_join(Catalyst(rows.sparkSession), plan):
        return False
    drops_rows = False
    for operator in operators:
        name = class_name(operator)
        if name == "Join" and all(child.isStreaming() for child in elements(operator.children())):
            if str(operator.joinType().sql()) not in _INNER_JOINS:
                return False
            drops_rows = True
        elif name in ("Aggregate", "Distinct"):
            keys = output(operator) if name == "Distinct" else elements(operator.groupingExpressions())
            times = [key for key in keys if class_name(key) in ("Alias", "AttributeReference") and _is_event_time(key)]
            if times and (not accepts_changes or any(map(_is_window, times))):
                return False
            drops_rows |= bool(times)
        elif name not in _STATELESS_OR_UPDATING and not name.startswith("StreamingRelation"):
            return False  # LIMIT, for example
    return drops_rows and not _has_time_condition(operators)


def _streaming_operators(plan: Plan) -> Iterator[Plan]:
    if plan.isStreaming():
        yield plan
        for child in elements(plan.children()):
            yield from _streaming_operators(child)


def _is_event_time(column: Attribute) -> bool:
    return bool(column.metadata().contains(WATERMARK_METADATA))


def _is_window(column: Attribute) -> bool:
    return str(column.name()).lstrip("_") in WINDOW_COLUMNS


def _has_time_condition(operators: Sequence[Plan]) -> bool:
    """Return whether conditions bound the difference of two event times, as in interval joins and window joins."""
    bounds = 0
    for condition in _conditions(operators):
        columns = [part for part in walk(condition) if class_name(part) == "AttributeReference"]
        name = class_name(condition)
        if name in ("EqualTo", "EqualNullSafe") and any(map(_is_window, columns)):
            return True
        if sum(map(_is_event_time, columns)) > 1:
            bounds += 1 if name.startswith(("GreaterThan", "LessThan")) else _BOUNDS_PER_JOIN
    return bounds >= _BOUNDS_PER_JOIN


def _conditions(operators: Sequence[Plan]) -> Iterator[Node]:
    for operator in operators:
        if class_name(operator) == "Filter":
            yield from _conjuncts(operator.condition())
        if class_name(operator) == "Join" and operator.condition().isDefined():
            yield from _conjuncts(operator.condition().get())


def _conjuncts(condition: Node) -> Iterator[Node]:
    if class_name(condition) == "And":
        for part in elements(condition.children()):
            yield from _conjuncts(part)
    else:
        yield condition
