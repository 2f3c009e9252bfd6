"""INSERT INTO: a batch write, or the start of a continuous query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

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
)

from kafka_sql.catalog.catalog_table import spark_schema
from kafka_sql.catalog.sql_literals import quote
from kafka_sql.catalog.tables import CatalogTable, Tables
from kafka_sql.errors import StatementError, UnsupportedSqlError
from kafka_sql.sql.jobs import settings, streaming
from kafka_sql.sql.jobs.batch_size import limit_batches_by_rows
from kafka_sql.sql.jobs.bounded import are_all_bounded
from kafka_sql.sql.jobs.sink_parallelism import repartition, repartition_query
from kafka_sql.sql.recognize.classify import Insert
from kafka_sql.sql.rewrite.hints import check_insert_hint, parse_hint
from kafka_sql.sql.rewrite.query import QueryRewrite, may_use_tables, rewrite_query
from kafka_sql.table.declaration import Column

_TIMES = (DateType, TimestampType, TimestampNTZType)

RunSql = Callable[[str], DataFrame]  # Spark's own sql(), with the caller's parameters bound


@dataclass(frozen=True)
class PreparedInsert:
    """An INSERT that is ready to be carried out.

    Attributes:
        entry: the table, with the hint's options.
        stream: the query in the table's columns, where it is a continuous one; else None.
        batch: the statement for Spark, where it is not.
        text: of a continuous query, what tells it from another one into the same table.
        bounded: of a continuous query that ends by itself, the tables that it reads; else empty.
    """

    entry: CatalogTable
    stream: DataFrame | None
    batch: str
    text: str = field(default="", repr=False)
    bounded: Sequence[CatalogTable] = ()


def insert(spark: SparkSession, tables: Tables, entry: CatalogTable, statement: Insert, run: RunSql) -> DataFrame:
    """Carry out an INSERT into one of the session's tables.

    Returns:
        an empty DataFrame after a batch write; one row with the column ``job id`` for a continuous query.

    Raises:
        UnsupportedSqlError: OVERWRITE or PARTITION, which a topic does not have.
        StatementError: the columns do not fit.
    """
    ready = prepare(spark, tables, entry, statement, run)
    if ready.stream is not None:
        return streaming.insert_streaming(spark, ready.entry, ready.stream, ready.text, bounded=ready.bounded)
    with limit_batches_by_rows(spark):
        return run(ready.batch)


def prepare(spark: SparkSession, tables: Tables, entry: CatalogTable, statement: Insert, run: RunSql) -> PreparedInsert:
    """Check an INSERT and read its query, without writing or starting anything.

    Raises:
        UnsupportedSqlError, StatementError: as ``insert``.
    """
    if statement.overwrite or statement.partition:
        clause = "INSERT OVERWRITE" if statement.overwrite else "PARTITION (...)"
        raise UnsupportedSqlError(
            f"Table '{entry.definition.name}': {clause} has no meaning for a Kafka topic. Use INSERT INTO."
        )
    hint = parse_hint(statement.hint_text, 0)
    if "/*+" in statement.prefix:
        behind = statement.hint_text[: hint.end] if hint is not None else ""
        check_insert_hint(statement.prefix.replace(behind, " ", 1))
    if hint is not None and hint.options:
        entry = tables.with_options(entry, hint.options)
    streams = settings.is_streaming(spark)
    read = QueryRewrite(statement.body)
    if streams or may_use_tables(statement.body):
        read = rewrite_query(tables, statement.body, streams)
    if streams or read.uses_stream_keyword:
        query = run(read.text)
        if query.isStreaming:
            into = f"{statement.hint_text} {statement.columns} {statement.by_name}"
            rows = repartition(entry, project_to_table(entry, query, statement))
            ends = are_all_bounded(
                read.streamed_tables, lambda: str(run(f"EXPLAIN EXTENDED {read.text}").collect()[0][0])
            )
            return PreparedInsert(entry, rows, "", f"{into} {statement.body}", read.streamed_tables if ends else ())
        _check_batch(tables, entry, read.text, run)
    names = None if statement.by_name else [c.name for c in target_columns(entry, statement)]
    columns = "BY NAME" if names is None else f"({', '.join(map(quote, names))})"
    return PreparedInsert(
        entry, None, f"INSERT INTO {entry.sql_name} {columns} {repartition_query(entry, read.text, names)}"
    )


def _check_batch(tables: Tables, entry: CatalogTable, query: str, run: RunSql) -> None:
    """Refuse a query that reads a Kafka table through a view whose text is not known: it would end, unseen.

    Raises:
        UnsupportedSqlError: it does.
    """
    plan = str(run(f"EXPLAIN EXTENDED {query}").collect()[0][0]).replace("`", "").lower()
    for table in tables:
        if f"spark_catalog.{'.'.join(table.storage_name)}" in plan:
            raise UnsupportedSqlError(
                f"INSERT INTO '{entry.definition.name}': the query reads '{table.definition.name}' through a view that "
                "was made of a DataFrame, and would run as a batch although the runtime mode is streaming. Create the "
                "view with CREATE VIEW, name the table itself, or SET 'execution.runtime-mode' = 'batch'."
            )


def rewrite_spark_insert(spark: SparkSession, tables: Tables, statement: Insert, text: str) -> str:
    """An INSERT into a table that is none of Kafka's, as Spark is to run it.

    Args:
        text: the statement as typed; it stays so where it says nothing of Kafka tables that Spark does not know.

    Raises:
        UnsupportedSqlError: its query reads Kafka tables as streams, and would run as a batch.
    """
    streams = settings.is_streaming(spark)
    if not tables or not (streams or may_use_tables(statement.body)):
        return text
    read = rewrite_query(tables, statement.body, streams)
    if not read.kafka_tables:
        return text
    if not (streams or read.uses_stream_keyword):
        return statement.prefix + read.text
    name = ".".join(statement.name)
    raise UnsupportedSqlError(
        f"INSERT INTO '{name}' from '{read.kafka_tables[0].definition.name}': a continuous query writes into Kafka "
        f"tables only, and '{name}' is none. Use spark.sql('SELECT ...').writeStream"
        f".option('checkpointLocation', '...').toTable('{name}'), or read it as a batch: "
        "SET 'execution.runtime-mode' = 'batch', without the word STREAM."
    )


def target_columns(entry: CatalogTable, statement: Insert) -> list[Column]:
    """The columns that the query's columns go to, by position.

    Raises:
        StatementError: the list names a column that is not there or cannot be written.
    """
    if statement.columns is None:
        return list(entry.table.persisted_columns)
    writable = {c.name.lower(): c for c in entry.table.persisted_columns}
    for name in statement.columns:
        if name.lower() not in writable:
            raise StatementError(
                f"Table '{entry.definition.name}' has no column '{name}' that INSERT can write. Columns: "
                + ", ".join(c.name for c in entry.table.persisted_columns)
                + " (computed columns and METADATA VIRTUAL ones are read-only)."
            )
    return [writable[name.lower()] for name in statement.columns]


def project_to_table(entry: CatalogTable, query: DataFrame, statement: Insert) -> DataFrame:
    """The query's columns under the table's names and in its types; columns that are not given are NULL.

    Raises:
        StatementError: another number of columns than the table or the list has, or a type that a column cannot take.
    """
    named = _by_name(entry, query) if statement.by_name else _by_position(entry, query, statement)
    _check_types(entry, named)
    return named.select(
        *(
            (named[quote(c.name)] if c.name in named.columns else F.lit(None)).cast(c.type or "").alias(c.name)
            for c in entry.table.persisted_columns
        )
    )


def _check_types(entry: CatalogTable, named: DataFrame) -> None:
    """Refuse what a batch INSERT refuses: Spark checks the types of a batch only."""
    types = {f.name: f.dataType for f in spark_schema(entry.definition)}
    for given in named.schema:
        if not can_assign(given.dataType, types[given.name]):
            raise StatementError(
                f"INSERT INTO '{entry.definition.name}': column '{given.name}' is {types[given.name].simpleString()} "
                f"and cannot take {given.dataType.simpleString()}. CAST it in the query."
            )


def _by_name(entry: CatalogTable, query: DataFrame) -> DataFrame:
    writable = {c.name.lower(): c.name for c in entry.table.persisted_columns}
    unknown = [c for c in query.columns if c.lower() not in writable]
    if unknown:
        names = ", ".join(f"'{n}'" for n in unknown)
        raise StatementError(f"Table '{entry.definition.name}' has no column {names} that INSERT can write.")
    return query.toDF(*(writable[c.lower()] for c in query.columns))


def _by_position(entry: CatalogTable, query: DataFrame, statement: Insert) -> DataFrame:
    into = target_columns(entry, statement)
    if len(into) != len(query.columns):
        raise StatementError(
            f"INSERT INTO '{entry.definition.name}': the query has {len(query.columns)} columns "
            f"({', '.join(query.columns)}), the table takes {len(into)} ({', '.join(c.name for c in into)})."
        )
    return query.toDF(*(c.name for c in into))


def can_assign(source: DataType, target: DataType) -> bool:
    """Whether a value of ``source`` may be stored as ``target`` (``spark.sql.storeAssignmentPolicy`` = ANSI)."""
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
    numbers = isinstance(source, NumericType) and isinstance(target, NumericType)
    return numbers or (isinstance(source, _TIMES) and isinstance(target, _TIMES))
