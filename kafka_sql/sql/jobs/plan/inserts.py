"""Execute INSERT INTO: write a batch, or start a continuous query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_fields

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    AtomicType,
    DataType,
    DateType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    TimeType,
)

from kafka_sql.catalog.catalog_table import spark_schema
from kafka_sql.catalog.sql_literals import quote
from kafka_sql.catalog.tables import CatalogTable, Tables
from kafka_sql.errors import StatementError, UnsupportedSqlError
from kafka_sql.observability import lineage
from kafka_sql.options import builtin_connectors
from kafka_sql.options import connector as opt
from kafka_sql.spark.context import spark_context
from kafka_sql.spark.session_settings import changed_settings
from kafka_sql.sql.dataframes import empty_dataframe
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.changelog.queries import kafka_sink, plan_changelog
from kafka_sql.sql.jobs.micro_batch import streaming
from kafka_sql.sql.jobs.micro_batch.bounded import are_all_bounded
from kafka_sql.sql.jobs.plan.late_rows import needs_late_rows
from kafka_sql.sql.jobs.plan.sink_parallelism import repartition, repartition_query
from kafka_sql.sql.jobs.plan.static_sides import prepare_static_sides
from kafka_sql.sql.jobs.real_time import real_time
from kafka_sql.sql.jobs.targets import builtin_sinks
from kafka_sql.sql.jobs.targets.batch_size import limit_batches_by_rows
from kafka_sql.sql.recognize.classify import Insert
from kafka_sql.sql.rewrite.hints import check_insert_hint, parse_hint
from kafka_sql.sql.rewrite.query import QueryRewrite, ReadOptions, needs_rewrite, rewrite_query
from kafka_sql.sql.spark_errors import error_message, mask_message
from kafka_sql.table.changelog import ROW_KIND
from kafka_sql.table.declaration import Column

_ANSI = "spark.sql.ansi.enabled"
_DATETIME_TYPES = (DateType, TimestampType, TimestampNTZType)

RunSql = Callable[[str], DataFrame]  # Spark's own sql(), with the caller's parameters


@dataclass(frozen=True)
class PreparedInsert:
    """A checked INSERT.

    Attributes:
        stream: the continuous query; None for a batch.
        batch: for a batch, the statement for Spark.
        sink: for a batch into a table of print or blackhole, the table and its rows.
        lineage: for a batch, the Kafka tables that it reads and the one that it writes; None if lineage is not enabled.
    """

    stream: streaming.ContinuousQuery | None
    batch: str
    sink: tuple[CatalogTable, DataFrame] | None = None
    lineage: tuple[Sequence[CatalogTable], CatalogTable] | None = None


def insert(spark: SparkSession, tables: Tables, entry: CatalogTable, statement: Insert, run: RunSql) -> DataFrame:
    """Execute an INSERT into one of the session's tables.

    Returns:
        an empty DataFrame after a batch write; one row with the column ``job id`` for a continuous query.

    Raises:
        UnsupportedSqlError: the statement has OVERWRITE or PARTITION.
        StatementError: the columns do not match.
        KafkaSqlError: see ``streaming.check_job``.
    """
    prepared = prepare(spark, tables, entry, statement, run)
    if prepared.stream is not None:
        return start(spark, prepared.stream)
    return run_batch(spark, prepared, run)


def run_batch(spark: SparkSession, prepared: PreparedInsert, run: RunSql) -> DataFrame:
    """Write a batch."""
    if prepared.lineage is None:
        return _write_batch(spark, prepared, run)
    sources, target = prepared.lineage
    reported = lineage.start_run(
        f"insert_into.{target.definition.name}",
        [source.definition for source in sources],
        [target.definition],
        is_streaming=False,
    )
    try:
        result = _write_batch(spark, prepared, run)
    except Exception as e:
        if reported is not None:
            reported.fail(mask_message(error_message(e)).partition("\n")[0])
        raise
    if reported is not None:
        reported.complete()
    return result


def _write_batch(spark: SparkSession, prepared: PreparedInsert, run: RunSql) -> DataFrame:
    if prepared.sink is not None:
        builtin_sinks.write_batch(*prepared.sink)
        return empty_dataframe(spark)
    with limit_batches_by_rows(spark):
        return run(prepared.batch)


def start(spark: SparkSession, stream: streaming.ContinuousQuery) -> DataFrame:
    """Check and start a continuous query; return one row with the column ``job id``."""
    job = streaming.start_job(spark, streaming.check_job(spark, stream))
    return streaming.job_ids(spark, [job])


def prepare(spark: SparkSession, tables: Tables, entry: CatalogTable, statement: Insert, run: RunSql) -> PreparedInsert:
    """Check an INSERT and analyze its query, without writing or starting anything.

    Raises:
        UnsupportedSqlError, StatementError: as ``insert``.
    """
    if statement.overwrite or statement.partition:
        clause = "INSERT OVERWRITE" if statement.overwrite else "PARTITION (...)"
        raise UnsupportedSqlError(
            f"Table '{entry.definition.name}': {clause} is not supported for a Kafka topic. Use INSERT INTO.",
            table=entry.definition.name,
        )
    check_conflict(statement, entry.definition.name, entry.definition.is_upsert)
    hint = parse_hint(statement.hint_text, 0)
    if "/*+" in statement.prefix:
        table_hint = statement.hint_text[: hint.end] if hint is not None else ""
        check_insert_hint(statement.prefix.replace(table_hint, " ", 1))
    if hint is not None and hint.options:
        entry = tables.with_options(entry, hint.options)
    if entry.table.options[opt.CONNECTOR.key] == builtin_connectors.DATAGEN:
        raise UnsupportedSqlError(
            f"Table '{entry.definition.name}': the connector 'datagen' is a source and cannot be written.",
            table=entry.definition.name,
        )
    is_streaming = settings.is_streaming(spark)
    rewrite = QueryRewrite(statement.body)
    if needs_rewrite(tables, statement.body, is_streaming):
        is_real_time = settings.is_real_time(spark)
        options = ReadOptions(
            is_streaming,
            stream_reader=real_time.stream_reader(spark, tables, entry),
            joins_versions=spark_context(spark) is not None and not is_real_time,
        )
        rewrite = rewrite_query(tables, statement.query, options)
    if is_streaming or rewrite.uses_stream_keyword:
        query = run(rewrite.text)
        if not is_real_time and needs_late_rows(query, entry.definition.has_changes):
            rewrite = rewrite_query(tables, statement.query, with_fields(options, watermarks=False))
            query = run(rewrite.text)
        if query.isStreaming and is_real_time:
            prepare_static_sides(spark, entry.definition.name, rewrite, query)
            rows = project_to_table(entry, query, statement)
            real_time.check_query(entry, rows)
            stream = streaming.ContinuousQuery(
                entry, rows, rewrite.streamed_tables, is_bounded=False, is_real_time=True
            )
            stream = _with_changes(spark, tables, entry, stream, query.columns, statement)
            rows = real_time.prepare_query(stream.rows, stream.states, entry.definition.name)
            return PreparedInsert(with_fields(stream, rows=rows), "")
        if query.isStreaming:
            prepare_static_sides(spark, entry.definition.name, rewrite, query)
            rows = project_to_table(entry, query, statement)
            is_bounded = is_query_bounded(rewrite, run)
            stream = streaming.ContinuousQuery(entry, rows, rewrite.streamed_tables, is_bounded)
            if spark_context(spark) is not None:
                stream = _with_changes(spark, tables, entry, stream, query.columns, statement)
            return PreparedInsert(_repartition(entry, stream), "")
        check_no_hidden_stream(tables, entry.definition.name, rewrite.text, run)
    if entry.definition.is_builtin:
        return PreparedInsert(None, "", (entry, project_to_table(entry, run(rewrite.text), statement)))
    names = None if statement.by_name else [c.name for c in target_columns(entry, statement)]
    columns = "BY NAME" if names is None else f"({', '.join(map(quote, names))})"
    reported = (
        (rewrite_query(tables, statement.query, ReadOptions(False)).kafka_tables, entry)
        if lineage.is_enabled()
        else None
    )
    return PreparedInsert(
        None,
        f"INSERT INTO {entry.sql_name} {columns} {repartition_query(entry, rewrite.text, names)}",
        lineage=reported,
    )


def check_conflict(statement: Insert, table: str, is_upsert: bool) -> None:
    """Check ``ON CONFLICT DO ...`` of Flink 2.3: what to do with rows that differ, but have the same primary key.

    DEDUPLICATE is what a query does anyway: the newest row remains.

    Raises:
        UnsupportedSqlError: the table has no primary key, or the clause is another one.
    """
    clause = f"ON CONFLICT DO {statement.conflict}"
    if statement.conflict is not None and not is_upsert:
        raise UnsupportedSqlError(
            f"INSERT INTO '{table}': {clause} is only for tables whose rows are updated by their PRIMARY KEY, such as "
            "'upsert-kafka' tables. Remove the clause.",
            table=table,
        )
    if statement.conflict in ("ERROR", "NOTHING"):
        raise UnsupportedSqlError(
            f"INSERT INTO '{table}': {clause} is not supported. ON CONFLICT DO DEDUPLICATE keeps the newest row of a "
            "key. Use it, or a PRIMARY KEY that identifies the rows of the query.",
            table=table,
        )


def _with_changes(
    spark: SparkSession,
    tables: Tables,
    entry: CatalogTable,
    stream: streaming.ContinuousQuery,
    columns: Sequence[str],
    statement: Insert,
) -> streaming.ContinuousQuery:
    """Return a query that reads and writes changes, if its sources have them or its result has deletes.

    Args:
        entry: the table to write.
        columns: the columns that the query returns.

    Raises:
        UnsupportedSqlError: see ``plan_changelog``; or the query returns a row kind, too.
    """
    query = plan_changelog(spark, tables, kafka_sink(entry), stream.rows, stream.sources)
    if not query.has_row_kind:
        return with_fields(
            stream, rows=query.rows, changelog_mode=query.mode, is_updating=query.is_updating, states=query.states
        )
    written = columns if statement.by_name else [c.name for c in target_columns(entry, statement)]
    row_kinds = {c.name.lower() for c in entry.table.persisted_columns if c.metadata == ROW_KIND}
    if any(name.lower() in row_kinds for name in written):
        raise UnsupportedSqlError(
            f"INSERT INTO '{entry.definition.name}': the query returns updates and deletes, so it sets the column "
            f"METADATA FROM '{ROW_KIND}' itself. Name the other columns: INSERT INTO {entry.definition.name} (...).",
            table=entry.definition.name,
        )
    return with_fields(
        stream,
        target=tables.with_changes(entry),
        rows=query.rows,
        changelog_mode=query.mode,
        is_updating=query.is_updating,
        states=query.states,
    )


def _repartition(entry: CatalogTable, stream: streaming.ContinuousQuery) -> streaming.ContinuousQuery:
    """Apply 'sink.parallelism' to a query that writes a table."""
    target = stream.target if isinstance(stream.target, CatalogTable) else entry
    return with_fields(stream, rows=repartition(target, stream.rows))


def is_query_bounded(rewrite: QueryRewrite, run: RunSql) -> bool:
    """Return whether all streams of a query are bounded."""
    return are_all_bounded(
        rewrite.streamed_tables, lambda: str(run(f"EXPLAIN EXTENDED {rewrite.text}").collect()[0][0])
    )


def check_no_hidden_stream(tables: Tables, sink: str, query: str, run: RunSql) -> None:
    """Check that a batch query in streaming mode does not read a Kafka table through a view of a DataFrame.

    The text of such a view is unknown, so its tables cannot be read as streams.

    Raises:
        UnsupportedSqlError: the query reads such a view.
    """
    plan = str(run(f"EXPLAIN EXTENDED {query}").collect()[0][0]).replace("`", "").lower()
    for table in tables:
        if table.sql_name.replace("`", "") in plan:
            raise UnsupportedSqlError(
                f"INSERT INTO '{sink}': the query reads '{table.definition.name}' through a view of a "
                "DataFrame, so it would run as a batch although the runtime mode is streaming. Create the view with "
                "CREATE VIEW, use the table itself, or SET 'execution.runtime-mode' = 'batch'.",
                table=sink,
            )


def target_columns(entry: CatalogTable, statement: Insert) -> list[Column]:
    """Return the table's columns for the query's columns, by position.

    Raises:
        StatementError: the column list has a column that does not exist or is read-only.
    """
    if statement.columns is None:
        return list(entry.table.persisted_columns)
    writable = {c.name.lower(): c for c in entry.table.persisted_columns}
    for name in statement.columns:
        if name.lower() not in writable:
            raise _not_writable_error(entry, name)
    return [writable[name.lower()] for name in statement.columns]


def _not_writable_error(entry: CatalogTable, column: str) -> StatementError:
    columns = ", ".join(c.name for c in entry.table.persisted_columns)
    return StatementError(
        f"Table '{entry.definition.name}' has no writable column '{column}'. Writable columns: {columns} (computed "
        "columns and METADATA VIRTUAL columns are read-only).",
        table=entry.definition.name,
    )


def project_to_table(entry: CatalogTable, query: DataFrame, statement: Insert) -> DataFrame:
    """Return the query's rows with the table's column names and types; missing columns are NULL.

    A value that its column's type cannot have is an error, as in a batch INSERT, whatever 'spark.sql.ansi.enabled' is.

    Raises:
        StatementError: the number of columns differs from the table or the column list, or a type cannot be assigned.
    """
    rows = _rename_by_name(entry, query) if statement.by_name else _rename_by_position(entry, query, statement)
    _check_types(entry, rows)
    # the casts are those of an ANSI session when Spark analyzes them; over Spark Connect, that is later
    with changed_settings(query.sparkSession, {_ANSI: "true"}):
        return rows.select(
            *(
                (rows[quote(c.name)] if c.name in rows.columns else F.lit(None)).cast(c.type or "").alias(c.name)
                for c in entry.table.persisted_columns
            )
        )


def _check_types(entry: CatalogTable, rows: DataFrame) -> None:
    """Check the types as in a batch INSERT: Spark does not check those of a stream."""
    types = {f.name: f.dataType for f in spark_schema(entry.definition)}
    for column in rows.schema:
        target = types[column.name]
        if not can_assign(column.dataType, target):
            raise StatementError(
                f"INSERT INTO '{entry.definition.name}': column '{column.name}' is {target.simpleString()}, "
                f"but the query returns {column.dataType.simpleString()}. CAST it in the query.",
                table=entry.definition.name,
            )


def _rename_by_name(entry: CatalogTable, query: DataFrame) -> DataFrame:
    writable = {c.name.lower(): c.name for c in entry.table.persisted_columns}
    for name in query.columns:
        if name.lower() not in writable:
            raise _not_writable_error(entry, name)
    return query.toDF(*(writable[c.lower()] for c in query.columns))


def _rename_by_position(entry: CatalogTable, query: DataFrame, statement: Insert) -> DataFrame:
    columns = target_columns(entry, statement)
    if len(columns) != len(query.columns):
        raise StatementError(
            f"INSERT INTO '{entry.definition.name}': the query has {len(query.columns)} columns "
            f"({', '.join(query.columns)}), the table takes {len(columns)} ({', '.join(c.name for c in columns)}).",
            table=entry.definition.name,
        )
    return query.toDF(*(c.name for c in columns))


def can_assign(source: DataType, target: DataType) -> bool:
    """Return whether Spark's ANSI store assignment allows ``source`` in a column of type ``target``."""
    if isinstance(source, NullType) or source.simpleString() == target.simpleString():
        return True
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return can_assign(source.elementType, target.elementType)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return can_assign(source.keyType, target.keyType) and can_assign(source.valueType, target.valueType)
    if isinstance(source, StructType) and isinstance(target, StructType):
        pairs = zip(source, target, strict=False)
        return len(source) == len(target) and all(can_assign(a.dataType, b.dataType) for a, b in pairs)
    if isinstance(target, StringType):
        return isinstance(source, AtomicType)
    if isinstance(source, TimeType) and isinstance(target, TimeType):
        return source.precision <= target.precision
    return any(isinstance(source, types) and isinstance(target, types) for types in (NumericType, _DATETIME_TYPES))
