"""Aggregate changes with the operator of ``kafka_sql/state``, which keeps all values: any aggregate, with old rows."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from kafka_sql import state
from kafka_sql.spark.catalyst import Catalyst, Node, aggregate_calls, analyzed_plan, data_type_of
from kafka_sql.sql.jobs.changelog.aggregate_calls import check_expressions, restore_columns
from kafka_sql.sql.jobs.changelog.aggregate_functions import to_retractable
from kafka_sql.sql.jobs.changelog.relation import MakeError, Mode, Relation
from kafka_sql.state import AggregateCall
from kafka_sql.table.changelog import ROW_KIND_NAME, ROW_ORDER_NAME


def aggregate_with_old_rows(
    catalyst: Catalyst, changes: Relation, groupings: Sequence[Node], items: Sequence[Node], unsupported: MakeError
) -> Relation:
    """Return the result of an aggregate over old and new rows, with the old row of each group.

    Parameters and errors: as for ``aggregate_signed_rows``.
    """
    nodes = aggregate_calls(items)
    inputs, keys, calls = aggregate_inputs(catalyst, changes, groupings, nodes, unsupported)
    result = analyzed_plan(state.aggregate(inputs, keys, calls, order_column(inputs)))
    return restore_columns(catalyst, result, groupings, nodes, items, Mode.RETRACT)


def order_column(rows: DataFrame) -> str | None:
    """Return the column with the order of changes, if rows have one."""
    return ROW_ORDER_NAME if ROW_ORDER_NAME in rows.columns else None


def aggregate_inputs(
    catalyst: Catalyst, changes: Relation, groupings: Sequence[Node], nodes: Sequence[Node], unsupported: MakeError
) -> tuple[DataFrame, list[str], list[AggregateCall]]:
    """Return the input of ``state.aggregate``: the rows, the names of the grouping columns, and the calls.

    Args:
        nodes: the calls of aggregate functions.

    Raises:
        UnsupportedSqlError: see ``aggregate_signed_rows``.
    """
    check_expressions((*groupings, *nodes), changes, "an aggregate over changes", unsupported)
    assert changes.row_kind is not None
    columns = [column.alias(f"g{i}") for i, column in enumerate(catalyst.columns(groupings))]
    calls: list[AggregateCall] = []
    for i, node in enumerate(nodes):
        function = to_retractable(catalyst, node, unsupported)
        columns.append(function.argument.alias(f"a{i}"))
        type = data_type_of(node)
        calls.append(AggregateCall(function.name, f"a{i}", function.is_distinct, f"r{i}", type, function.separator))
    rows = catalyst.dataframe(changes.plan)
    order = [] if changes.row_order is None else [catalyst.column(changes.row_order).alias(ROW_ORDER_NAME)]
    inputs = rows.select(*columns, catalyst.column(changes.row_kind).alias(ROW_KIND_NAME), *order)
    return inputs, [f"g{i}" for i in range(len(groupings))], calls
