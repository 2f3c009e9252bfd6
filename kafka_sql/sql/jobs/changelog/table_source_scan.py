"""Read the changes of a table in place of its rows, Flink's TableSourceScan, with ChangelogNormalize where needed."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kafka_sql.definition import Definition
from kafka_sql.spark.catalyst import Catalyst, Plan, column_id, output
from kafka_sql.sql.jobs.changelog.changelog_normalize import add_old_rows
from kafka_sql.sql.jobs.changelog.relation import Relation, source_mode
from kafka_sql.sql.jobs.checkpoints.fingerprint import describe_normalization

# metadata that all records of a row have in common
_METADATA_OF_ROWS: Final = frozenset(
    {"topic", "partition", "kafka_cluster"}
    | {f"value.{name}" for name in ("database", "pk-names", "primary-key-columns", "primary-keys", "sql-type", "table")}
    | {f"value.source.{name}" for name in ("database", "schema", "table")}
)


def scan_changes(
    catalyst: Catalyst, plan: Plan, definition: Definition, changes: Plan, needs_old_rows: bool
) -> Relation:
    """Return the changes of a table in the columns of its rows.

    Args:
        plan: the operator that reads the table.
        changes: the plan that reads its changes; the last columns are the row kind and the order.
        needs_old_rows: whether the old row of each key is kept, to be added to its changes.
    """
    *columns, row_kind, row_order = output(changes)
    declared = {str(column.name()): column for column in columns}
    named = output(plan)
    items = [catalyst.alias(declared[str(column.name())], column) for column in named]
    ids = {str(column.name()): column_id(column) for column in named}
    key = tuple(frozenset({ids[name]}) for name in definition.table.primary_key)
    metadata = {ids[c.name]: c.metadata for c in definition.table.columns if c.metadata and c.name in ids}
    differing = frozenset(id for id, name in metadata.items() if name not in _METADATA_OF_ROWS)
    relation = Relation(
        catalyst.project([*items, row_kind, row_order], changes),
        source_mode(definition),
        row_kind,
        row_order,
        key or None,
        frozenset().union(*key),
        of_record=frozenset(metadata),
        of_change=frozenset() if definition.is_upsert else differing,
    )
    if not needs_old_rows:
        return relation
    normalized = add_old_rows(catalyst, relation)  # whose old rows are complete
    return replace(normalized, of_change=frozenset(), states=(describe_normalization(definition),))
