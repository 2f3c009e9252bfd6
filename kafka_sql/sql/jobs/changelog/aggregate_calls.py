"""Find the calls of aggregate functions in the result of an aggregate, and give the result its columns back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column

from kafka_sql.spark.catalyst import Catalyst, Node, Plan, aggregate_calls, column_id, output, show
from kafka_sql.sql.jobs.changelog.relation import (
    CHANGE_FILTER_REASON,
    MakeError,
    Mode,
    Relation,
    group_key,
    has_aggregate,
    is_varying,
)


def has_distinct(items: Sequence[Node]) -> bool:
    """Return whether columns of a result have an aggregate function with DISTINCT, which Spark rejects in streams."""
    return any(call.isDistinct() for call in aggregate_calls(items))


def is_linear(items: Sequence[Node]) -> bool:
    """Return whether sums of signed values are enough to compute all aggregate functions of a result."""
    return all(
        not call.isDistinct() and str(call.aggregateFunction().prettyName()) in ("count", "count_if", "sum", "avg")
        for call in aggregate_calls(items)
    )


def check_expressions(expressions: Sequence[Node], changes: Relation, operator: str, unsupported: MakeError) -> None:
    """Check that each expression has the same value for the old row of an update as when the row was added.

    Args:
        operator: what uses the expressions, for messages, such as "a join of changes".

    Raises:
        UnsupportedSqlError: an expression, or a filter below the operator, may not.
    """
    if changes.change_filter is not None:
        raise unsupported(f"{operator} that pass {changes.change_filter}", CHANGE_FILTER_REASON)
    for expression in expressions:
        if is_varying(expression, changes.varying | changes.of_change):
            raise unsupported(
                f"the expression {show(expression)} in {operator}",
                "its value for the old row of an update may differ from the one that was added. Remove it",
            )


def restore_columns(
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
    restored = catalyst.replace_in_columns(items, replacements)
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


def all_of(conditions: Sequence[Column]) -> Column:
    """Return whether all of one or more conditions hold."""
    return reduce(lambda left, right: left & right, conditions)
