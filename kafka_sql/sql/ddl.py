"""CREATE TABLE with LIKE or AS, and ALTER TABLE: declarations that need the tables of the session."""

from __future__ import annotations

from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.sql_literals import path
from kafka_sql.catalog.tables import Entry, Tables
from kafka_sql.errors import KafkaSqlError, TableExistsError, TableNotFoundError, UnsupportedSqlError
from kafka_sql.sql.dataframes import nothing
from kafka_sql.sql.declarations.alter import altered
from kafka_sql.sql.declarations.create import declaration_of, read, table_of
from kafka_sql.sql.declarations.inferred_columns import with_inferred_columns
from kafka_sql.sql.declarations.like import merged
from kafka_sql.sql.declarations.query_columns import columns_of, with_query_columns
from kafka_sql.sql.grammar.declaration import Declaration, RenameTable
from kafka_sql.sql.grammar.dialect import parse_alteration, parse_declaration
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.inserts import Run, insert
from kafka_sql.sql.recognize.classify_insert import Insert
from kafka_sql.sql.recognize.names import declared, meant, plain_name
from kafka_sql.sql.rewrite.query import reading


def create(spark: SparkSession, tables: Tables, text: str, run: Run) -> DataFrame:
    """Carry out CREATE TABLE.

    Returns:
        an empty DataFrame; with AS, what the INSERT of the query returns.
    """
    declaration = read(text, parse_declaration)
    if declaration.like is not None:
        if declaration.query is not None:
            raise UnsupportedSqlError("CREATE TABLE takes LIKE or AS, and not both.")
        declaration = merged(declaration, _base(tables, declaration.like.base))
    if declaration.query is not None:
        return _create_as(spark, tables, declaration, run)
    tables.create(table_of(with_inferred_columns(declaration)))
    return nothing(spark)


def _base(tables: Tables, name: tuple[str, ...]) -> Declaration:
    """The declaration of LIKE's table; of one of Spark's own, its columns.

    Raises:
        TableNotFoundError: there is none.
    """
    entry = meant(tables, name)
    if entry is not None:
        return declaration_of(entry.table)
    shown = ".".join(name)
    try:
        schema = tables.plain(f"SELECT * FROM {path(plain_name(name))} LIMIT 0").schema
    except AnalysisException as e:
        raise TableNotFoundError(f"Source table '{shown}' of the LIKE clause not found.") from e
    return Declaration(name, columns=columns_of(schema, f"Table '{shown}'"))


def _create_as(spark: SparkSession, tables: Tables, declaration: Declaration, run: Run) -> DataFrame:
    """Create the table of a query and fill it; a new table that cannot be filled is dropped again."""
    query, name = declaration.query or "", declaration.name
    if not query:
        raise UnsupportedSqlError(f"CREATE TABLE {'.'.join(name)} AS: the query is missing.")
    schema = run(reading(tables, query, settings.is_streaming(spark)).text).schema
    whole = with_query_columns(declaration, columns_of(schema, "The query"))
    table = table_of(whole)
    old = declared(tables, table.name, table.temporary)
    if old is not None and not declaration.replace:
        if declaration.if_not_exists:
            return nothing(spark)
        raise TableExistsError(
            f"Table '{old.definition.name}' exists already. DROP TABLE it first, or say CREATE OR REPLACE TABLE or "
            "CREATE TABLE IF NOT EXISTS."
        )
    before = old.table if old is not None else None
    # by name, a temporary table could be found in the place of the new one
    entry = tables.create(replace(table, if_not_exists=False), replace=declaration.replace)
    assert entry is not None
    filling = Insert(table.name, False, None, True, None, query, 0)
    try:
        return insert(spark, tables, entry, filling, run)
    except BaseException:  # an interrupt, too
        if before is not None:
            tables.alter(entry, before)
        else:
            tables.remove(entry)
        raise


def alter(tables: Tables, entry: Entry, text: str) -> None:
    """Carry out ALTER TABLE of a Kafka table; what results is checked whole before anything changes."""
    alteration = read(text, parse_alteration)
    if isinstance(alteration.change, RenameTable):
        to = plain_name(alteration.change.to)
        if len(to) > 2:
            raise UnsupportedSqlError(f"ALTER TABLE ... RENAME TO {'.'.join(to)}: Kafka tables stand in spark_catalog.")
        tables.rename(entry, to)
        return
    try:
        table = table_of(altered(declaration_of(entry.table), alteration))
    except KafkaSqlError as e:
        raise _of_alter(e, alteration.name) from e
    tables.alter(entry, table)


def _of_alter(error: KafkaSqlError, name: tuple[str, ...]) -> KafkaSqlError:
    """The same error, said of ALTER TABLE."""
    message = str(error).partition("] ")[2]
    if message.startswith("ALTER TABLE"):
        return error
    return type(error)(f"ALTER TABLE {'.'.join(name)}: {message}")
