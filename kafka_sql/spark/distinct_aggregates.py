"""Replace DISTINCT in the aggregates of a stream by two aggregates, because Spark's streams do not support it.

The first aggregate keeps each value once, the second one aggregates the values that are left. In append mode, both drop
the groups whose event time the watermark has passed, so the GROUP BY must have a window or another event time.

Spark's optimizer does the same for batches (``RewriteDistinctAggregates``), but orders the columns by their ids, which
differ after a restart. Here, the query determines the order. The state of checkpoints has these columns in this order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from itertools import zip_longest
from operator import and_, or_
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from kafka_sql.spark.catalyst import (
    Catalyst,
    Node,
    Plan,
    aggregate_calls,
    analyzed_plan,
    class_name,
    elements,
    is_event_time,
    output,
)
from kafka_sql.spark.internal import Internal, java_classes
from kafka_sql.spark.jvm import jvm

INTERNALS: Final[tuple[Internal, ...]] = java_classes(
    """
    org.apache.spark.sql.catalyst.plans.logical.Aggregate groupingExpressions/0 aggregateExpressions/0
    org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression copy/5 aggregateFunction/0 filter/0
    """,
    "aggregates with DISTINCT in windows of streams become two aggregates",
    "streaming INSERTs with such an aggregate are rejected",
)

_NUMBER: Final = "__kafka_sql_copy"  # 0 for a row, others for its copies
_SESSION: Final = "spark.sessionWindow"  # in the metadata of a session window's column
_DUPLICATES_ARE_EQUAL: Final = frozenset({"CollectSet", "Max", "Min"})  # DISTINCT makes no difference
_IGNORE_NULL: Final = frozenset({"Average", "Count", "StddevPop", "StddevSamp", "Sum", "VariancePop", "VarianceSamp"})


def expand_distinct(rows: DataFrame) -> DataFrame:
    """Return a stream whose DISTINCT aggregates by event time can run in append mode. Needs a classic session.

    Others keep their DISTINCT, which Spark rejects: without an event time, no group is ever final; and Spark would
    merge the sessions of each value by themselves.
    """
    spark, plan = rows.sparkSession, analyzed_plan(rows)
    catalyst = Catalyst(spark)
    expanded = catalyst.rewrite_streams(plan, partial(_expand, spark, catalyst))
    return rows if expanded is plan else catalyst.dataframe(expanded)


def _expand(spark: SparkSession, catalyst: Catalyst, plan: Plan) -> Plan:
    if class_name(plan) != "Aggregate" or not _groups_by_final_time(elements(plan.groupingExpressions())):
        return plan
    items = elements(plan.aggregateExpressions())
    calls = aggregate_calls(items)
    if not any(call.isDistinct() for call in calls):
        return plan
    names = {_function(call) for call in calls if call.isDistinct()}
    return _expand_aggregate(spark, catalyst, plan, calls) if names <= _IGNORE_NULL | _DUPLICATES_ARE_EQUAL else plan


def _groups_by_final_time(groupings: Sequence[Node]) -> bool:
    """Return whether the watermark ends the groups of an aggregate, and they are not sessions."""
    named = [key for key in groupings if class_name(key) in ("Alias", "AttributeReference")]
    return any(map(is_event_time, named)) and not any(key.metadata().contains(_SESSION) for key in named)


def _expand_aggregate(spark: SparkSession, catalyst: Catalyst, aggregate: Plan, calls: Sequence[Node]) -> Plan:
    groupings, items = elements(aggregate.groupingExpressions()), elements(aggregate.aggregateExpressions())
    distinct = [call for call in calls if call.isDistinct() and _function(call) not in _DUPLICATES_ARE_EQUAL]
    others = [call for call in calls if call not in distinct]
    values: list[Node] = []  # a call for each of the different arguments
    numbers = [_find_or_add(values, call) for call in distinct]

    # each row, and a copy of it for each of its values
    numbers_of_copies = F.explode(F.array(*map(F.lit, range(len(values) + 1)))).alias(_NUMBER)
    copies = catalyst.dataframe(aggregate.child()).select("*", numbers_of_copies)
    (number,) = catalyst.columns(_last(copies, 1))
    rows = copies.select(
        "*",
        *(key.alias(f"g{i}") for i, key in enumerate(catalyst.columns(groupings))),
        *(F.when(number == i, _value(catalyst, call)).alias(f"v{i}") for i, call in enumerate(values, 1)),
        (number == 0).alias("is_row"),
    )
    hidden = _last(rows, len(groupings) + len(values) + 1)
    keys, copied, is_row = hidden[: len(groupings)], hidden[len(groupings) : -1], hidden[-1]
    has_value = [column.isNotNull() for column in catalyst.columns(copied)]
    rows = rows.where(reduce(or_, has_value, catalyst.column(is_row)))

    def of_rows(call: Node) -> Column:
        condition = is_row
        for filter in elements(call.filter().toList()):
            condition = catalyst.all_of([is_row, filter])
        return catalyst.column(_call(spark, call, call.aggregateFunction(), condition))

    first = rows.groupBy(*catalyst.columns([*keys, *copied])).agg(F.min(number), *map(of_rows, others))
    columns = output(analyzed_plan(first))
    keys, copied = columns[: len(keys)], columns[len(keys) :]
    (first_number, *results) = catalyst.columns(copied[len(values) :])

    def of_values(call: Node, i: int) -> Column:
        if _function(call) == "Count":
            return F.count(catalyst.column(copied[i]))
        return catalyst.column(_call(spark, call, catalyst.with_inputs(call.aggregateFunction(), [copied[i]]), None))

    second = first.groupBy(*catalyst.columns(keys)).agg(
        *(of_values(call, i) for call, i in zip(distinct, numbers, strict=True)),
        *(F.first(F.when(first_number == 0, result), ignorenulls=True) for result in results),
    )
    plan = analyzed_plan(second)
    replacements = list(zip((*groupings, *distinct, *others), output(plan), strict=True))
    return catalyst.project(catalyst.replace_in_columns(items, replacements), plan)


def _call(spark: SparkSession, call: Node, function: Node, condition: Node | None) -> Node:
    """Return a call of an aggregate function without DISTINCT."""
    option = jvm(spark).scala.Option.apply(condition)
    return call.copy(function, call.mode(), False, option, call.resultId())


def _value(catalyst: Catalyst, call: Node) -> Column:
    """Return the value that a call aggregates; NULL if it ignores the row."""
    arguments = catalyst.columns(elements(call.aggregateFunction().children()))
    conditions = [catalyst.column(call.filter().get())] if call.filter().isDefined() else []
    if len(arguments) > 1:  # COUNT(DISTINCT a, b)
        conditions += [argument.isNotNull() for argument in arguments]
    value = arguments[0] if len(arguments) == 1 else F.struct(*arguments)
    return F.when(reduce(and_, conditions), value) if conditions else value


def _find_or_add(values: list[Node], call: Node) -> int:
    """Return the position of the call with the same arguments and filter; the call is added if there is none."""
    for i, value in enumerate(values):
        pairs = zip_longest(_inputs(value), _inputs(call))
        if all(old is new or (old and new and old.semanticEquals(new)) for old, new in pairs):
            return i
    values.append(call)
    return len(values) - 1


def _inputs(call: Node) -> list[Node | None]:
    """Return the filter of a call, and its arguments."""
    return [call.filter().get() if call.filter().isDefined() else None, *elements(call.aggregateFunction().children())]


def _function(call: Node) -> str:
    return class_name(call.aggregateFunction())


def _last(rows: DataFrame, count: int) -> list[Node]:
    """Return the last columns of rows."""
    return output(analyzed_plan(rows))[-count:]
