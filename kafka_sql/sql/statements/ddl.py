"""Execute CREATE TABLE, with or without LIKE or AS, ALTER TABLE and DROP TABLE."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.catalog.sql_literals import qualified_name
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import KafkaSqlError, TableNotFoundError, UnsupportedSqlError
from kafka_sql.sql.dataframes import SparkSql, empty_dataframe
from kafka_sql.sql.declarations.added_columns import add_inferred_columns, add_query_columns, columns_from_schema
from kafka_sql.sql.declarations.alter import apply_alteration
from kafka_sql.sql.declarations.computed_columns import session_expressions
from kafka_sql.sql.declarations.create import to_declaration, to_table
from kafka_sql.sql.declarations.like import merge_like
from kafka_sql.sql.function_differences import warn_of_differences
from kafka_sql.sql.grammar.parser import parse_alteration, parse_declaration
from kafka_sql.sql.grammar.statement_nodes import Declaration, RenameTable
from kafka_sql.sql.jobs.plan.insert import plan_insert_into
from kafka_sql.sql.jobs.plan.insert_query import read_options, read_query
from kafka_sql.sql.jobs.run import run_job
from kafka_sql.sql.recognize.names import find_declared_table, resolve_table, strip_catalog
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.statement_types import DropTable, Insert
from kafka_sql.table.table import Table


def create(spark: SparkSession, tables: Tables, text: str, spark_sql: SparkSql) -> DataFrame:
    """Execute CREATE TABLE.

    Returns:
        an empty DataFrame; with AS, the result of the INSERT of the query.
    """
    declaration = parse_declaration(text)
    if declaration.like is not None:
        if declaration.query is not None:
            raise UnsupportedSqlError("CREATE TABLE: LIKE and AS cannot be combined.")
        declaration = merge_like(declaration, _source_declaration(tables, declaration.like.base))
    if declaration.query is not None:
        return _create_as(spark, tables, declaration, spark_sql)
    if not _exists_with_columns(tables, declaration):
        tables.create(_to_table(spark, tables, add_inferred_columns(declaration)), replace=declaration.replace)
    return empty_dataframe(spark)


def _to_table(spark: SparkSession, tables: Tables, declaration: Declaration) -> Table:
    return to_table(declaration, session_expressions(spark, tables.spark_sql))


def _exists_with_columns(tables: Tables, declaration: Declaration) -> bool:
    """Return whether no columns need to be inferred, because the table exists and the statement has IF NOT EXISTS."""
    if not declaration.if_not_exists or any(column.is_physical for column in declaration.columns):
        return False
    return find_declared_table(tables, strip_catalog(declaration.name), declaration.temporary) is not None


def _source_declaration(tables: Tables, name: tuple[str, ...]) -> Declaration:
    """Return the declaration of LIKE's source table; for a table that is not a Kafka table, its columns."""
    entry = resolve_table(tables, name)
    if entry is not None:
        return to_declaration(entry.table)
    full_name = ".".join(name)
    try:
        schema = tables.spark_sql(f"SELECT * FROM {qualified_name(strip_catalog(name))} LIMIT 0").schema
    except AnalysisException as e:
        raise TableNotFoundError(f"Source table '{full_name}' of the LIKE clause not found.", table=full_name) from e
    return Declaration(name, columns=columns_from_schema(schema, f"Table '{full_name}'"))


def _create_as(spark: SparkSession, tables: Tables, declaration: Declaration, spark_sql: SparkSql) -> DataFrame:
    """Create a table and insert the query's rows. If the INSERT fails, drop the table or restore the replaced one."""
    query, name = declaration.query or "", declaration.name
    if not query:
        raise UnsupportedSqlError(f"CREATE TABLE {'.'.join(name)} AS: the query is missing.", table=".".join(name))
    text = QueryText(query)
    warn_of_differences(spark, tables, text, writes_kafka=True)
    schema = spark_sql(read_query(tables, text, read_options(spark)).text).schema
    with_query_columns = add_query_columns(declaration, columns_from_schema(schema, "The query"))
    table = _to_table(spark, tables, with_query_columns)
    old = find_declared_table(tables, table.name, table.temporary)
    # use the entry from here on: its name could resolve to a temporary table
    entry = tables.create(table, replace=declaration.replace)
    if entry is None:
        return empty_dataframe(spark)
    statement = Insert(table.name, query, by_name=True)
    try:
        return run_job(spark, plan_insert_into(spark, tables, entry, statement, query, spark_sql), spark_sql)
    except BaseException:  # including KeyboardInterrupt
        if old is not None:
            tables.alter(entry, old.table)
        else:
            tables.remove(entry)
        raise


def alter(spark: SparkSession, tables: Tables, entry: CatalogTable, text: str) -> None:
    """Execute ALTER TABLE of a Kafka table; the new declaration is validated before anything changes."""
    alteration = parse_alteration(text)
    if isinstance(alteration.change, RenameTable):
        new_name = strip_catalog(alteration.change.new_name)
        if len(new_name) > 2:
            raise UnsupportedSqlError(
                f"ALTER TABLE ... RENAME TO {'.'.join(new_name)}: Kafka tables can only be in catalog spark_catalog.",
                table=entry.definition.name,
            )
        tables.rename(entry, new_name)
        return
    try:
        table = _to_table(spark, tables, apply_alteration(to_declaration(entry.table), alteration))
    except KafkaSqlError as e:
        if e.message.startswith("ALTER TABLE"):
            raise
        raise e.with_prefix(f"ALTER TABLE {'.'.join(alteration.name)}: ") from e
    tables.alter(entry, table)


def drop(spark: SparkSession, tables: Tables, statement: DropTable, text: str, spark_sql: SparkSql) -> DataFrame:
    """Execute DROP TABLE; Spark drops a table that is not a Kafka table.

    Raises:
        TableNotFoundError: a temporary table does not exist.
        StatementError: a temporary table hides the permanent one.
    """
    entry = resolve_table(tables, statement.name)
    if entry is not None and tables.drop(strip_catalog(statement.name), statement.temporary):
        return empty_dataframe(spark)
    if not statement.temporary:
        return spark_sql(text)
    if statement.if_exists:  # Spark has no DROP TEMPORARY TABLE
        return empty_dataframe(spark)
    full_name = ".".join(statement.name)
    raise TableNotFoundError(f"Temporary table '{full_name}' not found in this session.", table=full_name)
