"""CREATE TABLE with LIKE or AS, and ALTER TABLE: declarations that need the tables of the session."""

from __future__ import annotations

from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.sql_literals import qualified_name
from kafka_sql.catalog.tables import CatalogTable, Tables
from kafka_sql.errors import KafkaSqlError, TableExistsError, TableNotFoundError, UnsupportedSqlError
from kafka_sql.sql.dataframes import empty_dataframe
from kafka_sql.sql.declarations.alter import apply_alteration
from kafka_sql.sql.declarations.create import parse_statement, to_declaration, to_table
from kafka_sql.sql.declarations.inferred_columns import add_inferred_columns
from kafka_sql.sql.declarations.like import merge_like
from kafka_sql.sql.declarations.query_columns import add_query_columns, columns_from_schema
from kafka_sql.sql.grammar.declaration import Declaration, RenameTable
from kafka_sql.sql.grammar.dialect import parse_alteration, parse_declaration
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.inserts import RunSql, insert
from kafka_sql.sql.recognize.classify_insert import Insert
from kafka_sql.sql.recognize.names import find_declared_table, resolve_table, strip_catalog
from kafka_sql.sql.rewrite.query import rewrite_query


def create(spark: SparkSession, tables: Tables, text: str, run: RunSql) -> DataFrame:
    """Carry out CREATE TABLE.

    Returns:
        an empty DataFrame; with AS, what the INSERT of the query returns.
    """
    declaration = parse_statement(text, parse_declaration)
    if declaration.like is not None:
        if declaration.query is not None:
            raise UnsupportedSqlError("CREATE TABLE takes LIKE or AS, and not both.")
        declaration = merge_like(declaration, _base(tables, declaration.like.base))
    if declaration.query is not None:
        return _create_as(spark, tables, declaration, run)
    tables.create(to_table(add_inferred_columns(declaration)))
    return empty_dataframe(spark)


def _base(tables: Tables, name: tuple[str, ...]) -> Declaration:
    """The declaration of LIKE's table; of one of Spark's own, its columns.

    Raises:
        TableNotFoundError: there is none.
    """
    entry = resolve_table(tables, name)
    if entry is not None:
        return to_declaration(entry.table)
    shown = ".".join(name)
    try:
        schema = tables.spark_sql(f"SELECT * FROM {qualified_name(strip_catalog(name))} LIMIT 0").schema
    except AnalysisException as e:
        raise TableNotFoundError(f"Source table '{shown}' of the LIKE clause not found.") from e
    return Declaration(name, columns=columns_from_schema(schema, f"Table '{shown}'"))


def _create_as(spark: SparkSession, tables: Tables, declaration: Declaration, run: RunSql) -> DataFrame:
    """Create the table of a query and fill it; a new table that cannot be filled is dropped again."""
    query, name = declaration.query or "", declaration.name
    if not query:
        raise UnsupportedSqlError(f"CREATE TABLE {'.'.join(name)} AS: the query is missing.")
    schema = run(rewrite_query(tables, query, settings.is_streaming(spark)).text).schema
    whole = add_query_columns(declaration, columns_from_schema(schema, "The query"))
    table = to_table(whole)
    old = find_declared_table(tables, table.name, table.temporary)
    if old is not None and not declaration.replace:
        if declaration.if_not_exists:
            return empty_dataframe(spark)
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


def alter(tables: Tables, entry: CatalogTable, text: str) -> None:
    """Carry out ALTER TABLE of a Kafka table; what results is checked whole before anything changes."""
    alteration = parse_statement(text, parse_alteration)
    if isinstance(alteration.change, RenameTable):
        to = strip_catalog(alteration.change.new_name)
        if len(to) > 2:
            raise UnsupportedSqlError(f"ALTER TABLE ... RENAME TO {'.'.join(to)}: Kafka tables stand in spark_catalog.")
        tables.rename(entry, to)
        return
    try:
        table = to_table(apply_alteration(to_declaration(entry.table), alteration))
    except KafkaSqlError as e:
        if e.message.startswith("ALTER TABLE"):
            raise
        raise e.with_prefix(f"ALTER TABLE {'.'.join(alteration.name)}: ") from e
    tables.alter(entry, table)
