"""Project and filter changes: Flink's Calc."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import functions as F

from kafka_sql.spark.catalyst import Catalyst, Node, Plan, analyzed_plan, elements, output, show
from kafka_sql.sql.jobs.changelog.relation import (
    MakeError,
    Mode,
    Relation,
    is_fixed,
    is_varying,
    map_columns,
    project_fixed,
    project_key,
    project_of_change,
    project_of_record,
    project_varying,
    references,
)
from kafka_sql.table.changelog import DELETE, KINDS, ROW_KIND_NAME, UPDATE_AFTER


def project_changes(catalyst: Catalyst, plan: Plan, relation: Relation) -> Relation:
    """Return the columns of a projection, with the row kind and the order."""
    items = elements(plan.projectList())
    return replace(
        relation,
        plan=catalyst.project([*items, *relation.hidden], relation.plan),
        key=project_key(items, relation.key),
        fixed=project_fixed(items, relation.fixed),
        varying=project_varying(items, relation.varying),
        of_record=project_of_record(items, relation.of_record),
        of_change=project_of_change(items, relation.of_change),
    )


def rename_columns(catalyst: Catalyst, relation: Relation, items: Sequence[Node], ids: Mapping[int, int]) -> Relation:
    """Return the columns of a relation under other ids."""
    return replace(
        relation,
        plan=catalyst.project([*items, *relation.hidden], relation.plan),
        key=relation.key and tuple(map_columns(ids, part) for part in relation.key),
        fixed=map_columns(ids, relation.fixed),
        varying=map_columns(ids, relation.varying),
        of_record=map_columns(ids, relation.of_record),
        of_change=map_columns(ids, relation.of_change),
    )


def filter_changes(catalyst: Catalyst, plan: Plan, relation: Relation, unsupported: MakeError) -> Relation:
    """Filter old and new rows; of a relation without old rows, turn rows that do not pass into deletes.

    Raises:
        UnsupportedSqlError: a row may pass at one time and not at another one.
    """
    condition = plan.condition()
    if is_varying(condition, relation.varying):
        raise unsupported(
            f"the filter {show(condition)} {relation.description}",
            "a row that was accepted may have to be deleted later without having changed. Remove the filter, and "
            "apply it when the table is read",
        )
    if relation.mode == Mode.RETRACT or is_fixed(condition, relation.fixed):
        change_filter = show(condition) if references(condition) & relation.of_change else relation.change_filter
        filtered = catalyst.with_inputs(plan, [relation.plan])
        return replace(relation, plan=filtered, change_filter=change_filter)
    passes = catalyst.column(condition)
    kept, deleted = F.lit(KINDS[UPDATE_AFTER]), F.lit(KINDS[DELETE])
    if relation.row_kind is None:
        row_kind = F.when(passes, kept).otherwise(deleted)
    else:
        old = catalyst.column(relation.row_kind)
        row_kind = F.when(old == KINDS[DELETE], deleted).when(passes, old).otherwise(deleted)
    order = [] if relation.row_order is None else [relation.row_order]
    columns = catalyst.columns(relation.columns)
    rows = catalyst.dataframe(relation.plan)
    filtered = analyzed_plan(rows.select(*columns, row_kind.alias(ROW_KIND_NAME), *catalyst.columns(order)))
    return replace(
        relation,
        plan=filtered,
        row_kind=output(filtered)[len(relation.columns)],
        has_unknown_deletes=not relation.is_aggregated,
    )
