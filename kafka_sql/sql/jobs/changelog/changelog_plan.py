"""Decide how a continuous query runs: whether its rows change, with which row kinds, and whether its sink can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.options.builtin_connectors import PRINT
from kafka_sql.options.connector import CONNECTOR
from kafka_sql.spark.catalyst import Catalyst, Plan, analyzed_plan, column_id
from kafka_sql.spark.plan import Operator
from kafka_sql.spark.plan_reader import read_plan
from kafka_sql.spark.stream_support import has_distinct_sessions, supports_append_mode, supports_join
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.changelog.changelog_functions import changelog_functions
from kafka_sql.sql.jobs.changelog.changelog_normalize import add_old_rows, drop_unchanged
from kafka_sql.sql.jobs.changelog.needed_columns import find_needed_columns
from kafka_sql.sql.jobs.changelog.operator_tree import show_operators
from kafka_sql.sql.jobs.changelog.over_aggregate import has_updating_over
from kafka_sql.sql.jobs.changelog.plan_rewriter import PlanRewriter, Required
from kafka_sql.sql.jobs.changelog.rankings import find_rankings, has_updating_top_n
from kafka_sql.sql.jobs.changelog.relation import CHANGE_FILTER_REASON, Mode, Relation
from kafka_sql.sql.jobs.changelog.sink_upsert_materializer import materialize
from kafka_sql.sql.jobs.changelog.temporal_join_marks import has_temporal_join, reads_changes
from kafka_sql.sql.jobs.checkpoints.fingerprint import (
    Json,
    describe_materialization,
    describe_operators,
    describe_written_rows,
)
from kafka_sql.sql.rewrite.changelog_functions import FROM_CHANGELOG
from kafka_sql.state import DEDUPLICATE


@dataclass(frozen=True)
class ChangelogQuery:
    """The rows of a continuous query, as Spark computes them."""

    rows: DataFrame  # the columns of the table; with ``has_row_kind``, also a last column with the row kind
    mode: Mode = Mode.INSERT_ONLY  # how the rows change
    has_row_kind: bool = False  # whether there are deletes or old rows, so that each row has a row kind
    uses_update_mode: bool = False  # whether the query runs in Spark's update mode
    states: tuple[Json, ...] = ()  # the stateful operators of this package, as in a fingerprint
    show: Callable[[], str] = str  # returns the operators for EXPLAIN


@dataclass(frozen=True)
class ChangelogSink:
    """What a table accepts."""

    name: str  # the table's name, for messages
    accepts_changes: bool  # whether it accepts updates and deletes
    primary_key: Sequence[str] = ()  # the key of its rows, if they are updated by key
    retract_format: str | None = None  # what writes the old rows of updates; None if rows are updated by key
    discards_rows: bool = False  # whether the rows are not written, so that any changes are right
    # the column with the time of each change, if the table keeps the history of its rows
    start_column: str | None = None
    shows_changes: bool = False  # whether readers see each change, and not only the content
    conflict: str = DEDUPLICATE  # what to do with several rows of a key; see ``state.materialize``


def table_sink(entry: CatalogTable) -> ChangelogSink:
    """Return what a Kafka table, or a table of print or blackhole, accepts."""
    definition = entry.definition
    if definition.is_builtin:
        is_printed = entry.table.options[CONNECTOR.key] == PRINT
        key = definition.table.primary_key
        return ChangelogSink(definition.name, True, key, PRINT if is_printed else None, discards_rows=not is_printed)
    identifier = None if definition.is_upsert else definition.value.format.identifier
    return ChangelogSink(
        definition.name, definition.has_changes, definition.table.primary_key, identifier, shows_changes=True
    )


def plan_changelog(
    spark: SparkSession, tables: Tables, sink: ChangelogSink, rows: DataFrame, sources: Sequence[CatalogTable]
) -> ChangelogQuery:
    """Rewrite a query so that its rows have row kinds if they change, and check that its sink accepts them.

    Args:
        sink: the table to write.
        rows: the query's rows in the table's columns.
        sources: the Kafka tables that the query reads as streams.

    Raises:
        UnsupportedSqlError: the result would be wrong, or the sink does not accept changes.
    """
    catalyst = Catalyst(spark)
    plan = analyzed_plan(rows)
    changelogs = [source for source in sources if source.definition.reads_content]
    operators = read_plan(rows)
    rankings = find_rankings(plan)
    joins_streams = supports_join(rows)
    is_append = supports_append_mode(rows) and not has_updating_top_n(operators, rankings)
    functions = changelog_functions(operators)
    has_changes = bool(changelogs or functions) or has_temporal_join(operators)
    if not (sink.accepts_changes or is_append or has_changes) and joins_streams:
        raise updates_not_accepted(
            sink.name,
            "an 'upsert-kafka' table whose PRIMARY KEY identifies the rows that change, or a table of Delta Lake or "
            "Iceberg with TBLPROPERTIES ('primary-key' = '...')",
        )

    def read_changes(source: CatalogTable) -> Plan:
        return analyzed_plan(spark.readStream.format(tables.with_changes(source).provider).load())

    rewriter = PlanRewriter(
        catalyst,
        sink.name,
        {source.provider: source for source in sources},
        read_changes,
        dict(find_needed_columns(plan)),
        rankings,
        not (is_append and joins_streams)
        or FROM_CHANGELOG in functions
        or has_updating_over(plan, rankings)
        or reads_changes(operators, [source.provider for source in changelogs])
        or has_distinct_sessions(operators)
        or _compares_rows(sink, operators),
        settings.read(spark, settings.CDC_EVENTS_DUPLICATE) is True,
    )
    relation = _rewrite(rewriter, plan, Required(old_rows=sink.retract_format is not None))
    relation = _fit_to_sink(rewriter, sink, rows, relation, changelogs)
    if has_temporal_join(operators) and not relation.is_insert_only:
        raise rewriter.unsupported(
            "an aggregate without a window, a Top-N or a union with changes over a join FOR SYSTEM_TIME AS OF an event "
            "time",
            "Spark does not return the changes of the result there. Write the rows of the join into a table, and "
            "aggregate that",
        )
    query = _run_in_spark(catalyst, sink, rows, relation, bool(functions))
    names = {source.provider: source.definition.name for source in sources}
    return replace(query, show=partial(show_operators, rewriter.root, query.states, sink.name, query.mode, names))


def _rewrite(rewriter: PlanRewriter, plan: Plan, required: Required) -> Relation:
    """Return the rows of a query, for Spark's update mode if one of its operators turns out to change rows.

    A Top-N by a part of the columns of a window is one: the aggregate below must not return its groups at each change.
    """
    relation = rewriter.rewrite(plan, required)
    if not rewriter.is_updating and rewriter.root.has_changes():
        rewriter.is_updating = True
        relation = rewriter.rewrite(plan, required)
    return relation


def _run_in_spark(
    catalyst: Catalyst, sink: ChangelogSink, rows: DataFrame, relation: Relation, calls_functions: bool
) -> ChangelogQuery:
    """Return the rows as Spark computes them, and its output mode.

    Args:
        calls_functions: whether the query calls TO_CHANGELOG or FROM_CHANGELOG.
    """
    states = relation.states
    # ORDER BY PROCTIME() keeps no rows
    is_rewritten = bool(states) or calls_functions or any(o.name == "Sort" for o in read_plan(rows).walk())
    if relation.is_insert_only and is_rewritten:
        return ChangelogQuery(catalyst.dataframe(relation.plan), states=states)
    uses_update_mode = relation.is_aggregated or bool(states)
    if relation.row_kind is None:
        mode = Mode.INSERT_ONLY if relation.is_insert_only else Mode.UPDATING
        rows = catalyst.dataframe(relation.plan) if is_rewritten else rows
        return ChangelogQuery(rows, mode, uses_update_mode=uses_update_mode)
    if not (relation.has_unknown_deletes and sink.shows_changes):
        return ChangelogQuery(_with_row_kind(catalyst, relation), relation.mode, True, uses_update_mode, states)
    columns = {str(column.name()): column for column in relation.columns}
    types = [f"{name} {column.dataType().catalogString()}" for name, column in columns.items()]
    changed = drop_unchanged(catalyst, relation, [column_id(columns[name]) for name in sink.primary_key])
    states = (*states, describe_written_rows(sink.primary_key, types))
    return ChangelogQuery(_with_row_kind(catalyst, changed), relation.mode, True, uses_update_mode=True, states=states)


def _compares_rows(sink: ChangelogSink, operators: Operator) -> bool:
    """Return whether ON CONFLICT compares rows that are only inserted: an aggregate would return each change of one."""
    return sink.accepts_changes and sink.conflict != DEDUPLICATE and not describe_operators(operators)


def _with_row_kind(catalyst: Catalyst, relation: Relation) -> DataFrame:
    return catalyst.dataframe(catalyst.project([*relation.columns, relation.row_kind], relation.plan))


def updates_not_accepted(name: str, alternative: str) -> UnsupportedSqlError:
    """Return the error for updates of an aggregate that a table does not accept."""
    return UnsupportedSqlError(
        f"INSERT INTO '{name}': Table sink '{name}' doesn't support consuming update changes, which an aggregate "
        f"without a watermark or a Top-N produces. Write into {alternative}. Or declare WATERMARK FOR a time column of "
        "the source, and GROUP BY a window over it, such as window(ts, '1 minute').",
        table=name,
    )


def _fit_to_sink(
    rewriter: PlanRewriter, sink: ChangelogSink, rows: DataFrame, relation: Relation, changelogs: Sequence[CatalogTable]
) -> Relation:
    """Return the rows as a table accepts them."""
    if relation.is_insert_only and _compares_rows(sink, read_plan(rows)):
        relation = rewriter.with_row_kind(relation)
    if relation.is_insert_only or sink.discards_rows:
        return relation
    if not sink.accepts_changes:
        scan = ", ".join(f"TableSourceScan(table=[{source.definition.name}])" for source in changelogs)
        operator = relation.states[-1]["operator"] if relation.states else "Aggregate"
        origin = f"node {scan or operator} produces"
        raise UnsupportedSqlError(
            f"INSERT INTO '{sink.name}': Table sink '{sink.name}' doesn't support consuming update and delete changes, "
            f"which {origin}. Write into an 'upsert-kafka' table, a change data capture format, or a "
            "table of Delta Lake or Iceberg with TBLPROPERTIES ('primary-key' = '...').",
            table=sink.name,
        )
    if sink.retract_format is not None and not (sink.primary_key and relation.is_unordered):
        rewriter.check_old_rows(relation)
        return relation
    columns = {str(column.name()): column_id(column) for column in relation.columns}
    ids = [columns[key] for key in sink.primary_key]
    is_fixed = relation.fixed.issuperset(ids)
    identifies_rows = relation.key is not None and all(part.intersection(ids) for part in relation.key)
    if sink.start_column is not None:
        _check_history(rewriter, sink, relation, identifies_rows, columns[sink.start_column])
    if relation.row_kind is None and is_fixed and identifies_rows:
        return relation
    if relation.mode != Mode.RETRACT and not (identifies_rows and is_fixed):
        relation = rewriter.rewrite(analyzed_plan(rows), Required(old_rows=True))
        rewriter.check_old_rows(relation)
    varying = relation.varying.intersection(ids if identifies_rows else columns.values())
    if not identifies_rows:
        if relation.change_filter is not None:
            rejected = f"another PRIMARY KEY for changes that pass {relation.change_filter}"
            raise rewriter.unsupported(rejected, CHANGE_FILTER_REASON)
        varying |= relation.of_change.intersection(columns.values())
    if varying:
        names = ", ".join(name for name, id in columns.items() if id in varying)
        raise rewriter.unsupported(
            f"a value of '{names}' that may differ when the row is deleted",
            f"the old row could not be found in '{sink.name}' then. Remove the column, or use the source's PRIMARY KEY",
        )
    if identifies_rows and not relation.is_unordered:
        return relation
    described = describe_materialization(read_plan(rows), sink.primary_key, sink.conflict)
    materialized = materialize(rewriter.catalyst, relation, ids, sink.primary_key, sink.conflict)
    materialized = replace(materialized, states=(*relation.states, described))
    return materialized if sink.retract_format is None else add_old_rows(rewriter.catalyst, materialized)


def _check_history(
    rewriter: PlanRewriter, sink: ChangelogSink, relation: Relation, identifies_rows: bool, start: int
) -> None:
    """Check that the rows can become a history: each change has its own time."""
    if relation.is_aggregated or relation.states or not identifies_rows:
        raise rewriter.unsupported(
            f"a history (SCD type 2) of an aggregate, or of a source with another PRIMARY KEY, in '{sink.name}'",
            "the time of a change is known only for the rows of a changelog. Write the rows of the source, with its "
            "PRIMARY KEY",
        )
    if start not in relation.of_record:
        raise rewriter.unsupported(
            f"the value of '{sink.start_column}', which is not from a metadata column of the source,",
            "the row of a delete has the values of an earlier change, or none. Use the time of the record or of the "
            "change, such as ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', or 'value.source.timestamp' of "
            "debezium-json",
        )
