"""INSERT INTO: a batch write, or the start of a continuous query."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kafka_sql.catalog.literals import quote
from kafka_sql.catalog.entry import spark_schema
from kafka_sql.catalog.tables import Entry, Tables
from kafka_sql.errors import StatementError, UnsupportedSqlError
from kafka_sql.sql import settings, streaming
from kafka_sql.sql.assignment import assignable
from kafka_sql.sql.reads import as_stream, says_stream
from kafka_sql.sql.statements import Insert
from kafka_sql.table import Column

Run = Callable[[str], DataFrame]  # Spark's own sql(), with the caller's parameters bound


def insert(spark: SparkSession, tables: Tables, entry: Entry, statement: Insert, run: Run) -> DataFrame:
    """Carry out an INSERT into one of the session's tables.

    Returns:
        an empty DataFrame after a batch write; one row with the column ``job id`` for a continuous query.

    Raises:
        UnsupportedSqlError: OVERWRITE or PARTITION, which a topic does not have.
        StatementError: the columns do not fit.
    """
    if statement.overwrite or statement.partition:
        clause = "INSERT OVERWRITE" if statement.overwrite else "PARTITION (...)"
        raise UnsupportedSqlError(
            f"Table '{entry.definition.name}': {clause} has no meaning for a Kafka topic. Use INSERT INTO."
        )
    mode_streams = settings.is_streaming(spark)
    if mode_streams or says_stream(tables, statement.body):
        query = run(as_stream(tables, statement.body, all_tables=mode_streams))
        if query.isStreaming:
            return streaming.start(spark, entry, fit(entry, query, statement))
    columns = "BY NAME" if statement.by_name else f"({', '.join(quote(c.name) for c in targets(entry, statement))})"
    return run(f"INSERT INTO {entry.source} {columns} {statement.body}")


def targets(entry: Entry, statement: Insert) -> list[Column]:
    """The columns that the query's columns go to, by position.

    Raises:
        StatementError: the list names a column that is not there or cannot be written.
    """
    if statement.columns is None:
        return list(entry.table.persisted)
    writable = {c.name.lower(): c for c in entry.table.persisted}
    for name in statement.columns:
        if name.lower() not in writable:
            raise StatementError(
                f"Table '{entry.definition.name}' has no column '{name}' that INSERT can write. Columns: "
                + ", ".join(c.name for c in entry.table.persisted)
                + " (computed columns and METADATA VIRTUAL ones are read-only)."
            )
    return [writable[name.lower()] for name in statement.columns]


def fit(entry: Entry, query: DataFrame, statement: Insert) -> DataFrame:
    """The query's columns under the table's names and in its types; columns that are not given are NULL.

    Raises:
        StatementError: another number of columns than the table or the list has, or a type that a column cannot take.
    """
    named = _by_name(entry, query) if statement.by_name else _by_position(entry, query, statement)
    _check_types(entry, named)
    return named.select(
        *(
            (named[quote(c.name)] if c.name in named.columns else F.lit(None)).cast(c.type or "").alias(c.name)
            for c in entry.table.persisted
        )
    )


def _check_types(entry: Entry, named: DataFrame) -> None:
    """Refuse what a batch INSERT refuses: Spark checks the types of a batch only."""
    types = {f.name: f.dataType for f in spark_schema(entry.table)}
    for field in named.schema:
        if not assignable(field.dataType, types[field.name]):
            raise StatementError(
                f"INSERT INTO '{entry.definition.name}': column '{field.name}' is {types[field.name].simpleString()} "
                f"and cannot take {field.dataType.simpleString()}. CAST it in the query."
            )


def _by_name(entry: Entry, query: DataFrame) -> DataFrame:
    writable = {c.name.lower(): c.name for c in entry.table.persisted}
    unknown = [c for c in query.columns if c.lower() not in writable]
    if unknown:
        names = ", ".join(f"'{n}'" for n in unknown)
        raise StatementError(f"Table '{entry.definition.name}' has no column {names} that INSERT can write.")
    return query.toDF(*(writable[c.lower()] for c in query.columns))


def _by_position(entry: Entry, query: DataFrame, statement: Insert) -> DataFrame:
    into = targets(entry, statement)
    if len(into) != len(query.columns):
        raise StatementError(
            f"INSERT INTO '{entry.definition.name}': the query has {len(query.columns)} columns "
            f"({', '.join(query.columns)}), the table takes {len(into)} ({', '.join(c.name for c in into)})."
        )
    return query.toDF(*(c.name for c in into))
