"""Sort streams by a time attribute: Flink's TemporalSort. Rows are returned when the watermark has passed them."""

from __future__ import annotations

from kafka_sql import state
from kafka_sql.spark.catalyst import (
    Catalyst,
    Node,
    Plan,
    analyzed_plan,
    class_name,
    elements,
    is_event_time,
    output,
    show,
)
from kafka_sql.spark.plan_reader import read_operator
from kafka_sql.sql.jobs.changelog.over_aggregate import is_descending, is_processing_time, name_columns
from kafka_sql.sql.jobs.changelog.relation import MakeError, Relation, all_references
from kafka_sql.sql.jobs.changelog.windows import waits_for_watermark
from kafka_sql.sql.jobs.checkpoints.fingerprint import describe_over


def sort_by_time(catalyst: Catalyst, plan: Plan, relation: Relation, unsupported: MakeError) -> Relation:
    """Return the rows of an ORDER BY.

    Args:
        plan: the operator, a ``Sort`` of Spark.
        relation: its input.
        unsupported: returns the error for what is not supported.

    Raises:
        UnsupportedSqlError: the first column is not a time attribute in ascending order, or rows change.
    """
    order = elements(plan.order())
    if relation.is_insert_only and _is_ascending_time(order[0]):
        rows = name_columns(catalyst, relation, [], None, all_references(order))
        time, others = rows.name(order[0].child()), [catalyst.replace(item, rows.replacements) for item in order[1:]]
        is_first = not waits_for_watermark(read_operator(plan.child()))
        result = analyzed_plan(state.over_event_time(rows.frame, [], rows.names, time, others, [], is_first))
        items = [catalyst.alias(column, named) for column, named in zip(output(result), rows.kept, strict=True)]
        described = describe_over(read_operator(plan.child()), [], [*map(show, order)], [])
        return Relation(catalyst.project(items, result), states=(*relation.states, described))
    is_ascending = len(order) == 1 and not is_descending(order[0])
    if relation.is_insert_only and is_ascending and is_processing_time(plan.child(), order[0].child()):
        return relation  # the order of arrival
    columns = ", ".join(show(item.child()) + " DESC" * is_descending(item) for item in order)
    raise unsupported(
        f"ORDER BY {columns} in a continuous query",
        "a stream has no last row: Sort on a non-time-attribute field is not supported. Order by the column of the "
        "WATERMARK or by PROCTIME() first, ascending; add LIMIT for a Top-N; or sort the rows when the table is read",
    )


def _is_ascending_time(order: Node) -> bool:
    column = order.child()
    return class_name(column) == "AttributeReference" and is_event_time(column) and not is_descending(order)
