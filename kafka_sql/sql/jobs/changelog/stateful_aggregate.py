"""Aggregate changes with the operator of ``kafka_sql/state``, which keeps all values: any aggregate, with old rows."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from kafka_sql import state
from kafka_sql.spark.catalyst import Catalyst, Node, aggregate_calls, analyzed_plan, data_type_of, elements, show
from kafka_sql.sql.jobs.changelog.aggregate_calls import all_of, check_expressions, restore_columns
from kafka_sql.sql.jobs.changelog.relation import MakeError, Mode, Relation
from kafka_sql.sql.rewrite.row_numbers import ORDER_COLUMN
from kafka_sql.state import AggregateCall
from kafka_sql.table.changelog import ROW_KIND_NAME


def aggregate_with_old_rows(
    catalyst: Catalyst, changes: Relation, groupings: Sequence[Node], items: Sequence[Node], unsupported: MakeError
) -> Relation:
    """Return the result of an aggregate over old and new rows, with the old row of each group.

    Parameters and errors: as for ``aggregate_signed_rows``.
    """
    check_expressions((*groupings, *items), changes, "an aggregate over changes", unsupported)
    assert changes.row_kind is not None
    columns = [column.alias(f"g{i}") for i, column in enumerate(catalyst.columns(groupings))]
    calls: list[AggregateCall] = []
    nodes = aggregate_calls(items)
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
    return restore_columns(catalyst, analyzed_plan(result), groupings, nodes, items, Mode.RETRACT)


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
    return F.when(all_of(conditions), value) if conditions else value
