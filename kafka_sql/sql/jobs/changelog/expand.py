"""Flink's Expand: several rows for each change, for GROUPING SETS, CUBE and ROLLUP, and for sliding windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kafka_sql.spark.catalyst import Catalyst, Node, Plan, column_id, elements
from kafka_sql.sql.jobs.changelog.relation import Relation, is_varying, references


def expand_changes(catalyst: Catalyst, plan: Plan, changes: Relation) -> Relation:
    """Return the rows of an Expand with the row kind of the change that each comes from.

    Args:
        plan: the operator.
        changes: changes with old rows.
    """
    projections = [elements(projection) for projection in elements(plan.projections())]
    columns = elements(plan.output())

    def any_of(predicate: Callable[[Node], bool]) -> frozenset[int]:
        return frozenset(
            column_id(column) for i, column in enumerate(columns) if any(predicate(values[i]) for values in projections)
        )

    hidden = changes.hidden
    expanded = catalyst.expand([[*values, *hidden] for values in projections], [*columns, *hidden], changes.plan)
    return replace(
        changes,
        plan=expanded,
        key=None,
        fixed=frozenset(),
        varying=any_of(lambda value: is_varying(value, changes.varying)),
        of_record=frozenset(),
        of_change=any_of(lambda value: bool(references(value) & changes.of_change)),
    )
