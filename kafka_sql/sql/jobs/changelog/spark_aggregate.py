"""Rewrite aggregates over changes: COUNT, SUM and AVG become Spark's own streaming aggregate over signed rows.

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
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kafka_sql import state
from kafka_sql.spark.catalyst import (
    Catalyst,
    Node,
    Plan,
    analyzed_plan,
    class_name,
    column_id,
    data_type_of,
    elements,
    output,
    show,
    walk,
)
from kafka_sql.spark.plan import AGGREGATE_FUNCTION
from kafka_sql.sql.jobs.changelog.relation import (
    CHANGE_FILTER_REASON,
    INTEGERS,
    MakeError,
    Mode,
    Relation,
    group_key,
    has_aggregate,
    is_varying,
)
from kafka_sql.sql.rewrite.row_numbers import ORDER_COLUMN
from kafka_sql.state import AggregateCall
from kafka_sql.table.changelog import DELETE, KINDS, ROW_KIND_NAME, UPDATE_AFTER, UPDATE_BEFORE

_SIGN, _ROWS = "sign", "rows"


@dataclass(frozen=True)
class _Call:
    """One call of an aggregate function over signed rows.

    Attributes:
        node: the call in the plan.
        inputs: columns to compute for each row, by name.
        value: returns the result for the sums of the inputs.
    """

    node: Node
    inputs: dict[str, Column]
    value: Callable[[DataFrame], Column]


def aggregate_changes(
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
    _check_expressions((*groupings, *items), changes, unsupported)
    assert changes.row_kind is not None
    is_retracted = catalyst.column(changes.row_kind).isin(KINDS[UPDATE_BEFORE], KINDS[DELETE])
    nodes = _calls(items)
    calls = [_make_call(catalyst, node, f"a{i}", is_retracted) for i, node in enumerate(nodes)]
    group_names = [f"g{i}" for i in range(len(groupings))]
    sign = F.when(is_retracted, F.lit(-1)).otherwise(F.lit(1)).cast("bigint")
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
    return _restore_columns(catalyst, analyzed_plan(result), groupings, nodes, items, Mode.UPSERT)


def aggregate_values(
    catalyst: Catalyst, changes: Relation, groupings: Sequence[Node], items: Sequence[Node], unsupported: MakeError
) -> Relation:
    """Return the result of any aggregate, with the old row of each group, by an operator that keeps all values.

    Parameters and errors: as for ``aggregate_changes``.
    """
    _check_expressions((*groupings, *items), changes, unsupported)
    assert changes.row_kind is not None
    columns = [column.alias(f"g{i}") for i, column in enumerate(catalyst.columns(groupings))]
    calls: list[AggregateCall] = []
    nodes = _calls(items)
    for i, node in enumerate(nodes):
        function = str(node.aggregateFunction().prettyName())
        if function not in ("count", "count_if", "sum", "avg", "min", "max"):
            text = show(node)
            name = "ROW_NUMBER()" if ORDER_COLUMN in text else f"the aggregate function {text}"
            raise unsupported(
                f"{name} over changes, or into a table that needs the old results,",
                "only COUNT, SUM, AVG, MIN and MAX can retract rows. Use these, or read the table in a batch query",
            )
        columns.append(_argument(catalyst, node, function).alias(f"a{i}"))
        data_type = data_type_of(node)
        calls.append(AggregateCall(function.removesuffix("_if"), f"a{i}", bool(node.isDistinct()), f"r{i}", data_type))
    rows = catalyst.dataframe(changes.plan)
    inputs = rows.select(*columns, catalyst.column(changes.row_kind).alias(ROW_KIND_NAME))
    result = state.aggregate(inputs, [f"g{i}" for i in range(len(groupings))], calls)
    return _restore_columns(catalyst, analyzed_plan(result), groupings, nodes, items, Mode.RETRACT)


def _argument(catalyst: Catalyst, node: Node, function: str) -> Column:
    """Return the value that a call aggregates: NULL for rows that do not count."""
    arguments = catalyst.columns(elements(node.aggregateFunction().children()))
    conditions = [catalyst.column(node.filter().get())] if node.filter().isDefined() else []
    (value, *others) = arguments
    if function == "count_if":
        conditions, value = [*conditions, value], F.lit(1)
    elif others:  # COUNT(a, b)
        conditions += [argument.isNotNull() for argument in arguments]
        value = F.struct(*arguments)
    return F.when(_all(conditions), value) if conditions else value


def has_distinct(items: Sequence[Node]) -> bool:
    """Return whether columns of a result have an aggregate function with DISTINCT, which Spark rejects in streams."""
    return any(call.isDistinct() for call in _calls(items))


def is_linear(items: Sequence[Node]) -> bool:
    """Return whether sums of signed values are enough to compute all aggregate functions of a result."""
    return all(
        not call.isDistinct() and str(call.aggregateFunction().prettyName()) in ("count", "count_if", "sum", "avg")
        for call in _calls(items)
    )


def _calls(items: Sequence[Node]) -> list[Node]:
    return _distinct([part for item in items for part in walk(item) if class_name(part) == AGGREGATE_FUNCTION])


def _check_expressions(expressions: Sequence[Node], changes: Relation, unsupported: MakeError) -> None:
    if changes.change_filter is not None:
        raise unsupported(f"an aggregate over changes that pass {changes.change_filter}", CHANGE_FILTER_REASON)
    for expression in expressions:
        if is_varying(expression, changes.varying | changes.of_change):
            raise unsupported(
                f"the expression {show(expression)} in an aggregate over changes",
                "its value for the old row of an update may differ from the one that was added. Remove it",
            )


def _restore_columns(
    catalyst: Catalyst,
    result: Plan,
    groupings: Sequence[Node],
    calls: Sequence[Node],
    items: Sequence[Node],
    mode: Mode,
) -> Relation:
    """Return the result with the columns of the original aggregate, and with their ids."""
    columns = output(result)
    replacements = list(zip((*groupings, *calls), columns, strict=False))
    # a column of the GROUP BY keeps its id
    restored = [
        catalyst.replace(item, replacements)
        if class_name(item) == "Alias"
        else catalyst.alias(catalyst.replace(item, replacements), item)
        for item in items
    ]
    fixed = frozenset(column_id(item) for item in items if not has_aggregate(item))
    return Relation(
        catalyst.project([*restored, columns[-1]], result),
        mode,
        columns[-1],
        None,
        group_key(groupings, items),
        fixed,
        is_aggregated=True,
    )


def _distinct(nodes: Sequence[Node]) -> list[Node]:
    result: list[Node] = []
    for node in nodes:
        if not any(node.semanticEquals(other) for other in result):
            result.append(node)
    return result


def _make_call(catalyst: Catalyst, node: Node, name: str, is_retracted: Column) -> _Call:
    function = node.aggregateFunction()
    function_name = str(function.prettyName())
    arguments = catalyst.columns(elements(function.children()))
    condition = [catalyst.column(node.filter().get())] if node.filter().isDefined() else []
    sign = F.when(is_retracted, F.lit(-1)).otherwise(F.lit(1)).cast("bigint")
    zero = F.lit(0).cast("bigint")
    count, total = f"{name}_count", f"{name}_sum"
    if function_name in ("count", "count_if"):
        counted = condition + (arguments if function_name == "count_if" else [a.isNotNull() for a in arguments])
        signed = F.when(_all(counted), sign).otherwise(zero)
        return _Call(node, {count: signed}, lambda sums: F.coalesce(sums[count], zero))
    (argument,) = arguments
    (child,) = elements(function.children())
    data_type = str(child.dataType().simpleString())
    if function_name == "avg" and not data_type.startswith("decimal"):
        argument = argument.cast("double") if data_type in (*INTEGERS, "float", "double") else argument
    elif data_type in INTEGERS:
        argument = argument.cast("bigint")  # the negative of the smallest INT is not an INT
    is_added = _all([*condition, argument.isNotNull()])
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


def _all(conditions: Sequence[Column]) -> Column:
    return reduce(lambda left, right: left & right, conditions)
