"""Check over Spark Connect that an aggregate may be written in Spark's update mode.

In update mode, a micro-batch returns the result rows that it changed. A row that leaves the result, because a filter no
longer accepts it, is not returned: its last version would stay in the table forever. A classic session rewrites the
plan of such a query (``changelog``), but a client of Spark Connect only sees the names of its operators.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.plan import OPERATOR_NAMES, Operator

# operators that return a row for each row of their input, or of one of their inputs
_KEEPS_ROWS: Final = frozenset(
    {
        "CTERelationRef",
        "CollectMetrics",
        "EventTimeWatermark",
        "Project",
        "RebalancePartitions",
        "Repartition",
        "RepartitionByExpression",
        "ResolvedHint",
        "Sort",
        "SubqueryAlias",
        "Union",
        "View",
    }
)
_OPERATOR_DESCRIPTIONS: Final = {
    **OPERATOR_NAMES,
    "Filter": "a filter (HAVING or WHERE)",
}


def check_update_mode(plan: Operator, table: str) -> None:
    """Check that an updating query overwrites each row that it has written, as long as its result changes.

    Args:
        plan: the analyzed plan.
        table: the 'upsert-kafka' table that the query writes.

    Raises:
        UnsupportedSqlError: rows that leave the result could stay in the table.
    """
    for operator in _operators_over_aggregates(plan):
        if operator.name not in _KEEPS_ROWS:
            name = _OPERATOR_DESCRIPTIONS.get(operator.name, f"the operator {operator.name}")
            raise UnsupportedSqlError(
                f"INSERT INTO '{table}': {name} over a streaming aggregate is not supported over Spark Connect, "
                "because rows that leave the result would stay in the table. Run the statement in a classic session, "
                "or write the aggregate into the table, and apply the rest of the query when the table is read.",
                table=table,
            )


def _operators_over_aggregates(plan: Operator) -> Iterator[Operator]:
    """Yield the operators between the result and a streaming aggregate."""
    for operator in plan.walk():
        inputs = (o for child in operator.children for o in child.walk())
        if any(o.name == "Aggregate" for o in inputs):
            yield operator
