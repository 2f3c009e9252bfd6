"""Join an aggregate, whose groups change, with a table that is not a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kafka_sql.spark.catalyst import Plan, class_name, column_id, elements, output
from kafka_sql.sql.jobs.changelog.join import join_type_of
from kafka_sql.sql.jobs.changelog.relation import MakeError, Relation, is_fixed


def join_static_rows(plan: Plan, inputs: Sequence[Relation], unsupported: MakeError) -> Relation | None:
    """Return the properties of a join on columns that do not change; None for other joins.

    Raises:
        UnsupportedSqlError: the table may change, so that rows would have to leave the result.
    """
    changing = next(relation for relation in inputs if not relation.is_insert_only)
    static = [relation for relation in inputs if not relation.plan.isStreaming()]
    condition = plan.condition().get() if plan.condition().isDefined() else None
    static_ids = frozenset(column_id(column) for relation in static for column in output(relation.plan))
    fixed = changing.fixed | static_ids
    if changing.row_kind is not None or not static or (condition is not None and not is_fixed(condition, fixed)):
        return None
    if join_type_of(plan) != "LEFT" and any(_may_change(relation.plan) for relation in static):
        raise unsupported(
            "a join of a streaming aggregate with a table that may change",
            "a group that no longer has a row in the table would stay in the result. Use LEFT JOIN, or join before "
            "the aggregate",
        )
    return replace(changing, key=None, fixed=fixed)


def _may_change(plan: Plan) -> bool:
    """Return whether a plan without streams reads tables, which each micro-batch reads again."""
    return any(
        class_name(leaf) in ("DataSourceV2Relation", "LogicalRelation") for leaf in elements(plan.collectLeaves())
    )
