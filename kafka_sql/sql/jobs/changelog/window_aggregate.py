"""Aggregate changes in windows: an operator of ``kafka_sql/state`` returns each group once, when its window ends.

This is Flink's WindowAggregate, and its GroupWindowAggregate. Spark's own aggregate of a stream does the same, but
cannot retract rows.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from kafka_sql import state
from kafka_sql.spark.catalyst import Catalyst, Plan, aggregate_calls, analyzed_plan, elements, is_event_time, is_session
from kafka_sql.spark.plan import Operator
from kafka_sql.sql.jobs.changelog.aggregate_calls import restore_columns
from kafka_sql.sql.jobs.changelog.group_aggregate import aggregate_inputs, order_column
from kafka_sql.sql.jobs.changelog.relation import MakeError, Mode, Relation
from kafka_sql.sql.jobs.changelog.windows import waits_for_watermark
from kafka_sql.sql.jobs.checkpoints.fingerprint import describe_aggregate

_TIME: Final = "window_time"


def aggregate_windows(
    catalyst: Catalyst, plan: Plan, changes: Relation, operator: Operator, unsupported: MakeError
) -> Relation:
    """Return the rows of an aggregate whose groups end at the watermark. They never change.

    Args:
        plan: the aggregate. One of its grouping columns is an event time: the last instant of a window.
        changes: its input, with old rows and with the watermark.
        operator: the description of ``plan``.
        unsupported: returns the error for what is not supported.

    Raises:
        UnsupportedSqlError: an aggregate function cannot retract rows.
    """
    groupings, items = elements(plan.groupingExpressions()), elements(plan.aggregateExpressions())
    nodes = aggregate_calls(items)
    inputs, keys, calls = aggregate_inputs(catalyst, changes, groupings, nodes, unsupported)
    time = next(i for i, grouping in enumerate(groupings) if is_event_time(grouping))
    # those of an operator that waits for the watermark, too, are not late
    drops_late_rows = not any(map(is_session, groupings)) and not waits_for_watermark(operator.children[0])
    inputs = inputs.withColumn(_TIME, _last_instant(inputs, keys[time]))
    order = order_column(inputs)
    result = state.aggregate(inputs, [*keys, _TIME], calls, order, _TIME, drops_late_rows).drop(_TIME)
    restored = restore_columns(catalyst, analyzed_plan(result), groupings, nodes, items, Mode.INSERT_ONLY)
    rows = catalyst.project(restored.columns, restored.plan)
    described = {**describe_aggregate(operator), "operator": "WindowAggregate"}
    return Relation(rows, states=(*changes.states, described))


def _last_instant(rows: DataFrame, window: str) -> Column:
    """Return the event time of a window; of a struct of its start and its end, the last millisecond."""
    if not isinstance(rows.schema[window].dataType, StructType):
        return F.col(window)
    return F.col(window).getField("end") - F.expr("INTERVAL '0.001' SECOND")
