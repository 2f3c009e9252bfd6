"""Combine the changes of several inputs: UNION ALL, Flink's Union."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.sql import functions as F

from kafka_sql.spark.catalyst import Catalyst, Plan, analyzed_plan, column_id, output
from kafka_sql.sql.jobs.changelog.relation import Mode, Relation, states_of
from kafka_sql.table.changelog import ROW_ORDER_NAME


def union_changes(catalyst: Catalyst, plan: Plan, inputs: Sequence[Relation]) -> Relation:
    """Return the changes of all inputs, which have old rows. No columns identify a row any more."""
    relations = [_with_order(catalyst, relation) for relation in inputs]
    union = catalyst.with_inputs(plan, [relation.plan for relation in relations])
    row_kind, row_order = output(union)[-2:]

    def any_of(ids: Callable[[Relation], frozenset[int]]) -> frozenset[int]:
        return frozenset(
            column_id(column)
            for i, column in enumerate(output(union))
            if any(column_id(output(relation.plan)[i]) in ids(relation) for relation in relations)
        )

    return Relation(
        union,
        Mode.RETRACT,
        row_kind,
        row_order,
        varying=any_of(lambda relation: relation.varying),
        of_change=any_of(lambda relation: relation.of_change),
        change_filter=next((relation.change_filter for relation in relations if relation.change_filter), None),
        is_unordered=any(relation.is_aggregated or relation.is_unordered for relation in relations),
        states=states_of(*relations),
    )


def _with_order(catalyst: Catalyst, relation: Relation) -> Relation:
    """Return changes with the column of their order."""
    if relation.row_order is not None:
        return relation
    rows, no_order = catalyst.dataframe(relation.plan), F.lit(0).cast("bigint").alias(ROW_ORDER_NAME)
    plan = analyzed_plan(rows.select(*catalyst.columns(output(relation.plan)), no_order))
    return replace(relation, plan=plan, row_order=output(plan)[-1])
