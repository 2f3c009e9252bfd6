"""Give Spark's own aggregates of streams the order in which rows arrive: FIRST_VALUE, ARRAY_AGG, LISTAGG and others.

Spark merges partial aggregates of tasks and of micro-batches in any order. So ``first_value(x)`` of a window becomes
``min_by(x, arrival_order())``, and ``array_agg(x)`` sorts what it has collected.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kafka_sql.spark.catalyst import Catalyst, Node, Plan, aggregate_calls, analyzed_plan, class_name, elements, output
from kafka_sql.sql.jobs.changelog.aggregate_calls import all_of
from kafka_sql.sql.jobs.changelog.aggregate_functions import ignores_null, needs_order, separator_of
from kafka_sql.state import arrival_order

_ORDER: Final = "__kafka_sql_order"
_BY: Final[dict[str, Callable[[Column, Column], Column]]] = {
    "AnyValue": F.min_by,
    "First": F.min_by,
    "Last": F.max_by,
    "MaxBy": F.max_by,
    "MinBy": F.min_by,
}


def order_aggregates(rows: DataFrame) -> DataFrame:
    """Return a stream whose aggregates do not depend on how Spark distributes its rows. Needs a classic session."""
    catalyst, plan = Catalyst(rows.sparkSession), analyzed_plan(rows)
    ordered = catalyst.rewrite_streams(plan, partial(_order, catalyst))
    return rows if ordered is plan else catalyst.dataframe(ordered)


def _order(catalyst: Catalyst, plan: Plan) -> Plan:
    if class_name(plan) != "Aggregate":
        return plan
    items = elements(plan.aggregateExpressions())
    calls = aggregate_calls(items)
    if not any(map(_can_order, calls)):
        return plan
    source = catalyst.dataframe(plan.child())
    numbered = source.select("*", arrival_order(source.sparkSession).alias(_ORDER))
    order = catalyst.column(output(analyzed_plan(numbered))[-1])
    groupings = elements(plan.groupingExpressions())
    results = [_in_order(catalyst, call, order) if _can_order(call) else catalyst.column(call) for call in calls]
    result = analyzed_plan(numbered.groupBy(*catalyst.columns(groupings)).agg(*results))
    replacements = list(zip((*groupings, *calls), output(result), strict=True))
    return catalyst.project(catalyst.replace_in_columns(items, replacements), result)


def _can_order(call: Node) -> bool:
    """Return whether a call is given an order. Sets have none, and maps cannot be sorted."""
    function = call.aggregateFunction()
    if class_name(function) == "ListAgg" and separator_of(function) is None:
        return False
    is_set = bool(call.isDistinct()) or class_name(function) == "CollectSet"
    return needs_order(call) and not is_set and "map<" not in str(call.dataType().simpleString())


def _in_order(catalyst: Catalyst, call: Node, order: Column) -> Column:
    function = call.aggregateFunction()
    name, arguments = class_name(function), catalyst.columns(elements(function.children()))
    value = arguments[0]
    conditions = [catalyst.column(call.filter().get())] if call.filter().isDefined() else []
    if name in ("MaxBy", "MinBy"):
        conditions.append(arguments[1].isNotNull())
        order = F.struct(arguments[1], value)
    elif ignores_null(function):
        conditions.append(value.isNotNull())
    if name in _BY:
        return _BY[name](value, F.when(all_of(conditions), order) if conditions else order)
    pair = F.struct(order.alias("order"), value.alias("value"))
    pairs = F.collect_list(F.when(all_of(conditions), pair) if conditions else pair)
    values = F.transform(F.array_sort(pairs), lambda pair: pair["value"])
    if name != "ListAgg":
        return values
    separator = separator_of(function)
    return F.when(F.size(pairs) > 0, F.array_join(values, separator or ""))
