"""Check that an aggregate may be written in Spark's update mode.

In update mode, a micro-batch returns the result rows that it changed. A row that leaves the result, because a filter no
longer accepts it, is not returned: its last version would stay in the table forever. Flink deletes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.jobs.expression_text import render
from kafka_sql.sql.jobs.streaming_plan import AGGREGATE_FUNCTION, Expression, Operator, reference, resolve

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
# functions whose value changes between micro-batches, although their arguments do not
_CHANGES_BY_ITSELF: Final = frozenset(
    {"CurrentDate", "CurrentTime", "CurrentTimestamp", "LocalTimestamp", "Now", "Rand", "Randn", "Shuffle", "Uuid"}
)
_NAMES: Final = {
    "Aggregate": "another aggregate",
    "Deduplicate": "a deduplication",
    "DeduplicateWithinWatermark": "a deduplication",
    "Distinct": "DISTINCT",
    "Filter": "a filter (HAVING or WHERE)",
    "Generate": "a table-generating function such as explode",
    "GlobalLimit": "LIMIT",
    "Join": "a join",
    "LocalLimit": "LIMIT",
    "Sample": "TABLESAMPLE",
}


def check_update_mode(plan: Operator, table: str, primary_key: Sequence[str]) -> None:
    """Check that an updating query overwrites each row that it has written, as long as its result changes.

    Args:
        plan: the analyzed plan; its columns are those of the table. Without columns, the primary key is not checked.
        table: the 'upsert-kafka' table that the query writes.
        primary_key: the columns of its primary key.

    Raises:
        UnsupportedSqlError: rows that leave the result, or whose key changes, would stay in the table.
    """
    for operator in _operators_over_aggregates(plan):
        if operator.name in _KEEPS_ROWS:
            continue
        condition = operator.condition and resolve(operator.condition, operator.children)
        if operator.name == "Filter" and condition is not None:
            aggregates = _changing_parts(condition)
            if aggregates:
                raise _filter_error(table, aggregates)
        elif operator.name != "Join" or (condition is not None and _changing_parts(condition)):
            name = _NAMES.get(operator.name, f"the operator {operator.name}")
            raise UnsupportedSqlError(
                f"INSERT INTO '{table}': {name} over a streaming aggregate is not supported, because rows that leave "
                "the result would stay in the table. Write the aggregate into the table, and apply the rest of the "
                "query when the table is read; or apply it before the aggregate.",
                table=table,
            )
    for column in plan.output:
        if column.text in primary_key:
            aggregates = _changing_parts(resolve(reference(column), (plan,)))
            if aggregates:
                raise UnsupportedSqlError(
                    f"INSERT INTO '{table}': PRIMARY KEY column '{column.text}' is computed from the aggregate "
                    f"{aggregates[0]}. When the aggregate changes, the row with the previous key would stay in the "
                    "table. Use only columns of the GROUP BY in the key.",
                    table=table,
                )


def _filter_error(table: str, aggregates: Sequence[str]) -> UnsupportedSqlError:
    shown = f" {aggregates[0]}" if aggregates[0] else ""
    return UnsupportedSqlError(
        f"INSERT INTO '{table}': a filter (HAVING or WHERE) on the aggregate{shown} is not supported, because rows "
        "that no longer satisfy it would stay in the table. Remove the filter, and delete these rows: declare a column "
        "`kind STRING METADATA FROM 'row-kind'` in the table, and select CASE WHEN <condition> THEN '+U' ELSE '-D' END "
        "for it. Or write all rows, and filter them when the table is read.",
        table=table,
    )


def _operators_over_aggregates(plan: Operator) -> Iterator[Operator]:
    """Yield the operators between the result and a streaming aggregate."""
    for operator in plan.walk():
        inputs = (o for child in operator.children for o in child.walk())
        if any(o.name == "Aggregate" for o in inputs):
            yield operator


def _changing_parts(expression: Expression) -> list[str]:
    """Return the parts of an expression whose value can change for a group, as text."""
    return [
        render(part) for part in expression.walk() if part.name == AGGREGATE_FUNCTION or part.name in _CHANGES_BY_ITSELF
    ]
