"""Execute one statement of a session: Flink's statements and those about Kafka tables here, others in Spark."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.sql_literals import qualified_name
from kafka_sql.catalog.tables import CatalogTable, Tables
from kafka_sql.errors import TableNotFoundError, UnsupportedSqlError
from kafka_sql.options.secrets import mask_value
from kafka_sql.sql import ddl, explain, show, spark_ddl
from kafka_sql.sql.dataframes import dataframe, empty_dataframe
from kafka_sql.sql.jobs import job_registry as jobs
from kafka_sql.sql.jobs import settings, statement_sets
from kafka_sql.sql.jobs.inserts import RunSql, insert, rewrite_spark_insert
from kafka_sql.sql.recognize import classify as st
from kafka_sql.sql.recognize.names import find_declared_table, resolve_table, strip_catalog
from kafka_sql.sql.recognize.window_functions import check_window_functions
from kafka_sql.sql.rewrite.query import may_need_rewrite, rewrite_query


def dispatch(spark: SparkSession, tables: Tables, text: str, run: RunSql) -> DataFrame:
    """Execute a statement.

    Args:
        run: Spark's own ``sql()`` with the caller's parameters. Statements for Spark reach it as typed.
    """
    check_window_functions(text)
    statement = st.classify(text)
    match statement:
        case None if tables and st.is_query(text):
            streaming = settings.is_streaming(spark)
            return run(
                rewrite_query(tables, text, streaming).text if streaming or may_need_rewrite(tables, text) else text
            )
        case None if tables and may_need_rewrite(tables, text) and not settings.is_streaming(spark):
            return run(spark_ddl.rewrite_ctas(tables, text))
        case None:
            return run(text)
        case st.CreateView():
            return run(_rewrite_create_view(tables, statement, text))
        case st.DropDatabase(name):
            _drop_tables_in(tables, name)
            return run(text)
        case st.SetOption(key, value):
            settings.write(spark, key, value)
            return dataframe(spark, {"key": pa.string(), "value": pa.string()}, [(key, mask_value(key, value))])
        case st.ResetOption(str(key)):  # RESET without a key goes to Spark, which resets Flink's keys, too
            spark.conf.unset(key)
            return empty_dataframe(spark)
        case st.ShowJobs():
            return jobs.show_jobs(spark)
        case st.StopJob():
            return jobs.stop_job(spark, statement)
        case st.Execute(inner):
            return dispatch(spark, tables, inner, run)
        case st.StatementSet():
            return statement_sets.execute(spark, tables, statement, run)
        case st.Explain():
            return explain.explain(spark, tables, statement, text, run)
        case st.ShowTables():
            return show.show_tables(tables, statement, text, run)
        case st.CreateTable(base) if base is None or resolve_table(tables, base) is not None:
            return ddl.create(spark, tables, text, run)
        case st.DropTable():
            return _drop(spark, tables, statement, text, run)
        case st.AlterTable(name, if_exists=True) if resolve_table(tables, name) is None and not _exists_in_spark(
            spark, name
        ):
            return empty_dataframe(spark)
        case st.AlterTable(name, is_flink_syntax=True) if resolve_table(tables, name) is None:
            raise _table_not_found(name)
        case st.AlterTable(name, if_exists=True, clause_start=start) if resolve_table(tables, name) is None:
            # without IF EXISTS, which Spark does not support here
            return run(f"ALTER TABLE {qualified_name(name)}{text[start:]}")
        case st.Insert(name) if resolve_table(tables, name) is None:
            return run(rewrite_spark_insert(spark, tables, statement, text))
    table: tuple[str, ...] = getattr(statement, "name", ())
    entry = resolve_table(tables, table) if table else None
    return run(text) if entry is None else _dispatch_for_table(spark, tables, entry, statement, text, run)


def _dispatch_for_table(
    spark: SparkSession, tables: Tables, entry: CatalogTable, statement: st.Statement | None, text: str, run: RunSql
) -> DataFrame:
    """Execute a statement about one Kafka table."""
    match statement:
        case st.Insert():
            return insert(spark, tables, entry, statement, run)
        case st.AlterTable():
            ddl.alter(tables, entry, text)
            return empty_dataframe(spark)
        case st.Describe():
            return show.describe(spark, entry)
        case st.ShowColumns():
            return show.show_columns(spark, entry, statement)
        case st.ShowCreate():
            return show.show_create_table(spark, entry)
        case st.UnsupportedStatement():
            raise unsupported_statement(entry, statement)
    return run(text)


def _drop(spark: SparkSession, tables: Tables, statement: st.DropTable, text: str, run: RunSql) -> DataFrame:
    entry = resolve_table(tables, statement.name)
    if entry is not None and tables.drop(strip_catalog(statement.name), statement.temporary):
        return empty_dataframe(spark)
    if not statement.temporary:
        return run(text)
    if statement.if_exists:  # Spark has no DROP TEMPORARY TABLE
        return empty_dataframe(spark)
    full_name = ".".join(statement.name)
    raise TableNotFoundError(f"Temporary table '{full_name}' not found in this session.", table=full_name)


def _rewrite_create_view(tables: Tables, statement: st.CreateView, text: str) -> str:
    """Return a CREATE VIEW for Spark. Reject one that would replace a Kafka table.

    A temporary view may hide a permanent Kafka table.
    """
    if tables and not statement.keeps_tables:
        entry = find_declared_table(tables, statement.name, statement.temporary)
        if entry is not None:
            raise unsupported_statement(entry, st.UnsupportedStatement("CREATE VIEW", statement.name))
    return spark_ddl.rewrite_create_view(tables, text)


def _drop_tables_in(tables: Tables, database: tuple[str, ...]) -> None:
    """Drop the Kafka tables of a database, before Spark drops the database with CASCADE."""
    *name, _ = strip_catalog((*database, "any_table"))
    if len(name) != 1 or name[0].lower() == "default":  # in another catalog, or the database that Spark never drops
        return
    for entry in [e for e in tables if e.name[0] == name[0].lower()]:
        tables.remove(entry)


def _table_not_found(name: tuple[str, ...]) -> TableNotFoundError:
    full_name = ".".join(name)
    return TableNotFoundError(
        f"ALTER TABLE {full_name}: Kafka table '{full_name}' not found. SHOW TABLES lists all tables. Other tables "
        "need Spark's syntax, such as SET TBLPROPERTIES (...).",
        table=full_name,
    )


def _exists_in_spark(spark: SparkSession, name: tuple[str, ...]) -> bool:
    return spark.catalog.tableExists(qualified_name(strip_catalog(name)))


_ALTERNATIVES = {
    "UPDATE": "records in a topic cannot be changed. Use INSERT INTO to write new records",
    "DELETE FROM": "records in a topic cannot be deleted here. Use Kafka's retention or kafka-delete-records",
    "MERGE INTO": "records in a topic cannot be changed. Use INSERT INTO",
    "TRUNCATE TABLE": "a topic cannot be emptied here. Use Kafka's retention or kafka-delete-records",
    "ANALYZE TABLE": "statistics of a topic would be outdated at once",
    "COMMENT ON TABLE": "the comment is part of the declaration. Use CREATE TABLE ... COMMENT '...' WITH (...)",
    "DROP VIEW": "it is a table, not a view. Use DROP TABLE",
    "ALTER VIEW": "it is a table, not a view. Use ALTER TABLE",
    "CREATE VIEW": "it is a table, not a view. Choose another name, or DROP TABLE it first",
}


def unsupported_statement(entry: CatalogTable, statement: st.UnsupportedStatement) -> UnsupportedSqlError:
    """Return the error for a statement that Kafka tables do not support."""
    advice = _ALTERNATIVES[statement.verb]
    return UnsupportedSqlError(
        f"{statement.verb} is not supported for Kafka table '{entry.definition.name}': {advice}.",
        table=entry.definition.name,
    )
