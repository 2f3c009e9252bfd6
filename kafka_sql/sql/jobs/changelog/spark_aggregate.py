"""Aggregate changes with Spark's own streaming aggregate, over signed rows: COUNT, SUM and AVG.

A +I or +U row counts as 1, a -U or -D row as -1. So ``SELECT name, count(*), avg(weight) FROM products GROUP BY
name`` becomes, in update mode::

    SELECT name, n AS `count(*)`, CASE WHEN n1 > 0 THEN s1 / n1 END AS `avg(weight)`,
      CASE WHEN n > 0 THEN '+U' ELSE '-D' END AS __row_kind
    FROM (SELECT name, sum(sign) AS n, sum(IF(weight IS NULL, 0, sign)) AS n1, sum(sign * weight) AS s1
      FROM changes GROUP BY name)

A group without rows is deleted from the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kafka_sql.spark.catalyst import Catalyst, Node, aggregate_calls, analyzed_plan, elements, output
from kafka_sql.sql.jobs.changelog.aggregate_calls import all_of, check_expressions, restore_columns
from kafka_sql.sql.jobs.changelog.relation import INTEGERS, MakeError, Mode, Relation
from kafka_sql.table.changelog import DELETE, KINDS, ROW_KIND_NAME, UPDATE_AFTER, UPDATE_BEFORE

_SIGN, _ROWS = "sign", "rows"


@dataclass(frozen=True)
class _Call:
    """One call of an aggregate function over signed rows."""

    node: Node  # the call in the plan
    inputs: dict[str, Column]  # columns to compute for each row, by name
    value: Callable[[DataFrame], Column]  # returns the result for the sums of the inputs


def aggregate_signed_rows(
    catalyst: Catalyst, changes: Relation, groupings: Sequence[Node], items: Sequence[Node], unsupported: MakeError
) -> Relation:
    """Return the result of an aggregate over old and new rows.

    Args:
        groupings: the expressions of the GROUP BY.
        items: the columns of the result.
        unsupported: returns the error for what is not supported.

    Raises:
        UnsupportedSqlError: an aggregate function cannot retract rows.
    """
    check_expressions((*groupings, *items), changes, "an aggregate over changes", unsupported)
    assert changes.row_kind is not None
    is_retracted = catalyst.column(changes.row_kind).isin(KINDS[UPDATE_BEFORE], KINDS[DELETE])
    sign = F.when(is_retracted, F.lit(-1)).otherwise(F.lit(1)).cast("bigint")
    nodes = aggregate_calls(items)
    calls = [_make_call(catalyst, node, f"a{i}", is_retracted, sign) for i, node in enumerate(nodes)]
    group_names = [f"g{i}" for i in range(len(groupings))]
    inputs = catalyst.dataframe(changes.plan).select(
        *(column.alias(name) for column, name in zip(catalyst.columns(groupings), group_names, strict=True)),
        *(column.alias(name) for call in calls for name, column in call.inputs.items()),
        sign.alias(_SIGN),
    )
    sums = [F.sum(name).alias(name) for call in calls for name in call.inputs]
    grouped = inputs.groupBy(*group_names).agg(F.sum(_SIGN).alias(_ROWS), *sums)
    result = grouped.select(
        *group_names,
        *(call.value(grouped).alias(f"r{i}") for i, call in enumerate(calls)),
        F.when(grouped[_ROWS] > 0, KINDS[UPDATE_AFTER]).otherwise(KINDS[DELETE]).alias(ROW_KIND_NAME),
    )
    return restore_columns(catalyst, analyzed_plan(result), groupings, nodes, items, Mode.UPSERT)


def _make_call(catalyst: Catalyst, node: Node, name: str, is_retracted: Column, sign: Column) -> _Call:
    function = node.aggregateFunction()
    function_name = str(function.prettyName())
    arguments = catalyst.columns(elements(function.children()))
    condition = [catalyst.column(node.filter().get())] if node.filter().isDefined() else []
    zero = F.lit(0).cast("bigint")
    count, total = f"{name}_count", f"{name}_sum"
    if function_name in ("count", "count_if"):
        counted = condition + (arguments if function_name == "count_if" else [a.isNotNull() for a in arguments])
        signed = F.when(all_of(counted), sign).otherwise(zero)
        return _Call(node, {count: signed}, lambda sums: F.coalesce(sums[count], zero))
    (argument,) = arguments
    (child,) = elements(function.children())
    data_type = str(child.dataType().simpleString())
    if function_name == "avg" and not data_type.startswith("decimal"):
        argument = argument.cast("double") if data_type in (*INTEGERS, "float", "double") else argument
    elif data_type in INTEGERS:
        argument = argument.cast("bigint")  # the negative of the smallest INT is not an INT
    is_added = all_of([*condition, argument.isNotNull()])
    value = F.when(is_added, F.when(is_retracted, F.negate(argument)).otherwise(argument))
    inputs = {count: F.when(is_added, sign).otherwise(zero), total: value}
    if function_name == "sum":
        return _Call(node, inputs, lambda sums: F.when(sums[count] > 0, sums[total]))
    buffers = elements(function.aggBufferAttributes())  # Average's sum and count

    def average(sums: DataFrame) -> Column:
        columns = {str(column.name()): column for column in output(analyzed_plan(sums))}
        division = catalyst.replace(
            function.evaluateExpression(), [(buffers[0], columns[total]), (buffers[1], columns[count])]
        )
        return F.when(sums[count] > 0, catalyst.column(division))

    return _Call(node, inputs, average)
