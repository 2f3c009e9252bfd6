"""Keep the newest row of each key: Flink's ChangelogNormalize, for the old rows of upserts and changes in a sink."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from pyspark.sql import DataFrame

from kafka_sql import state
from kafka_sql.spark.catalyst import Catalyst, analyzed_plan, column_id, output
from kafka_sql.sql.jobs.changelog.relation import Mode, Relation
from kafka_sql.table.changelog import ROW_KIND_NAME, ROW_ORDER_NAME


def add_old_rows(catalyst: Catalyst, relation: Relation) -> Relation:
    """Return upserts with the old row of each key, as Flink's ChangelogNormalize does."""
    assert relation.key is not None
    key = [next(iter(part)) for part in relation.key]
    return replace(apply_operator(catalyst, relation, state.normalize, key), mode=Mode.RETRACT)


def drop_unchanged(catalyst: Catalyst, relation: Relation, key: Sequence[int]) -> Relation:
    """Return upserts without those that do not change the sink: equal rows, and deletes of keys that it lacks."""
    return apply_operator(catalyst, relation, partial(state.normalize, returns_old_rows=False), key)


def apply_operator(
    catalyst: Catalyst,
    relation: Relation,
    operator: Callable[[DataFrame, Sequence[str], str | None], DataFrame],
    key: Sequence[int],
) -> Relation:
    """Apply an operator to a relation, whose columns keep their ids."""
    assert relation.row_kind is not None
    columns = relation.columns
    names = {column_id(column): f"c{i}" for i, column in enumerate(columns)}
    order = [] if relation.row_order is None else [catalyst.column(relation.row_order).alias(ROW_ORDER_NAME)]
    rows = catalyst.dataframe(relation.plan).select(
        *(catalyst.column(column).alias(names[column_id(column)]) for column in columns),
        catalyst.column(relation.row_kind).alias(ROW_KIND_NAME),
        *order,
    )
    result = operator(rows, [names[id] for id in key], ROW_ORDER_NAME if order else None)
    plan = analyzed_plan(result)
    by_name = {str(column.name()): column for column in output(plan)}
    hidden = [by_name[name] for name in (ROW_KIND_NAME, ROW_ORDER_NAME) if name in by_name]
    items = [catalyst.alias(by_name[names[column_id(column)]], column) for column in columns]
    return replace(
        relation,
        plan=catalyst.project([*items, *hidden], plan),
        row_kind=hidden[0],
        row_order=hidden[1] if len(hidden) > 1 else None,
    )
