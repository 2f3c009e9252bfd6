"""Execute one statement of a session: Flink's statements and those about Kafka tables here, others in Spark."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.sql_literals import qualified_name, quote
from kafka_sql.catalog.static_tables import install_refresh_strategy
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import TableNotFoundError
from kafka_sql.options.secrets import mask_value
from kafka_sql.sql import read_kafka
from kafka_sql.sql.dataframes import RunSql, dataframe, empty_dataframe
from kafka_sql.sql.jobs import settings
from kafka_sql.sql.jobs.plan.insert import plan_insert
from kafka_sql.sql.jobs.registry import show_jobs
from kafka_sql.sql.jobs.registry.job_registry import stop_job
from kafka_sql.sql.jobs.run import run_job
from kafka_sql.sql.jobs.statement_sets import statement_sets
from kafka_sql.sql.jobs.targets.file_sink import refresh_streamed_tables
from kafka_sql.sql.recognize import classify as st
from kafka_sql.sql.recognize.names import find_declared_table, resolve_table, strip_catalog
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.query import ReadOptions, needs_rewrite, rewrite_query
from kafka_sql.sql.statements import ddl, explain, show, spark_ddl
from kafka_sql.sql.statements.spark_ctas import create_table_as
from kafka_sql.sql.statements.unsupported import unsupported_flink_statement, unsupported_statement
from kafka_sql.sql.windows.rewrite import rewrite_windows


def dispatch(spark: SparkSession, tables: Tables, text: str, run: RunSql) -> DataFrame:
    """Execute a statement.

    Args:
        run: Spark's own ``sql()`` with the caller's parameters. Statements for Spark reach it as written.
    """
    refresh_streamed_tables(spark)
    text = rewrite_windows(text, lambda: settings.is_streaming(spark))
    text = read_kafka.replace_calls(tables, text, lambda: settings.is_streaming(spark))
    statement = st.classify(text)
    match statement:
        case None:
            return _run_in_spark(spark, tables, text, run)
        case st.Insert():
            return run_job(spark, plan_insert(spark, tables, statement, text, run), run)
        case st.StatementSet():
            return statement_sets.execute(spark, tables, statement, run)
        case st.Execute(inner):
            return dispatch(spark, tables, inner, run)
        case st.Explain():
            return explain.explain(spark, tables, statement, text, run)
        case st.CreateTable(base) if base is None or resolve_table(tables, base) is not None:
            return ddl.create(spark, tables, text, run)
        case st.DropTable():
            return _drop(spark, tables, statement, text, run)
        case st.CreateView():
            return run(_rewrite_create_view(tables, statement, text))
        case st.DropDatabase(name):
            _drop_tables_in(tables, name)
        case st.SetOption(key, value):
            settings.write(spark, key, value)
            return dataframe(spark, {"key": pa.string(), "value": pa.string()}, [(key, mask_value(key, value))])
        case st.ResetOption(str(key)):  # RESET without a key goes to Spark, which resets Flink's keys, too
            settings.reset(spark, key)
            return empty_dataframe(spark)
        case st.UseCatalog(name):
            return run(f"SET CATALOG {quote(_spark_catalog(name))}")
        case st.UseDatabase(name):
            return run(f"USE {qualified_name(_spark_database(spark, name))}")
        case st.ShowCurrent(is_catalog):
            return show.show_current(tables, is_catalog)
        case st.ShowTables():
            return show.show_tables(tables, statement, text, run)
        case st.ShowViews():
            return show.show_views(tables, text, run)
        case st.ShowJobs(extended):
            return show_jobs.show_extended(spark) if extended else show_jobs.show(spark)
        case st.StopJob():
            return stop_job(spark, statement)
        case st.FlinkStatement():
            raise unsupported_flink_statement(statement)
        case st.AlterTable(name) | st.Describe(name) | st.ShowColumns(name) | st.ShowCreate(name):
            return _execute_for_table(spark, tables, statement, name, text, run)
        case st.ShowCreateView(name) | st.DropTemporaryView(name) | st.UnsupportedStatement(_, name):
            return _execute_for_table(spark, tables, statement, name, text, run)
    return run(text)


def _run_in_spark(spark: SparkSession, tables: Tables, text: str, run: RunSql) -> DataFrame:
    """Execute a statement of Spark; its queries can read Kafka tables."""
    if not tables:
        return run(text)
    if not st.is_query(text):
        _check_replaces_no_table(tables, text)
        return create_table_as(spark, tables, text, run)
    streaming = settings.is_streaming(spark)
    if not needs_rewrite(tables, text, streaming):
        return run(text)
    rewrite = rewrite_query(tables, QueryText(text), ReadOptions(streaming))
    if rewrite.streamed_tables:
        install_refresh_strategy(spark)
    return run(rewrite.text)


def _execute_for_table(
    spark: SparkSession, tables: Tables, statement: st.Statement, name: tuple[str, ...], text: str, run: RunSql
) -> DataFrame:
    """Execute a statement about one table or view, which may be a Kafka table."""
    entry = resolve_table(tables, name)
    match statement:
        case st.AlterTable() if entry is None:
            return _alter_spark_table(spark, statement, text, run)
        case st.ShowCreateView() if entry is None:
            return show.show_create_view(spark, tables, name)
        case st.DropTemporaryView(_, if_exists) if entry is None:
            return _drop_temporary_view(spark, name, if_exists)
        case _ if entry is None:
            return run(text)
        case st.AlterTable():
            ddl.alter(tables, entry, text)
            return empty_dataframe(spark)
        case st.Describe(extended=extended):
            return show.describe_extended(spark, entry) if extended else show.describe(spark, entry)
        case st.ShowColumns():
            return show.show_columns(spark, entry, statement)
        case st.ShowCreate():
            return show.show_create_table(spark, entry)
        case st.ShowCreateView():
            raise unsupported_statement(entry, st.UnsupportedStatement("SHOW CREATE VIEW", name))
        case st.DropTemporaryView():
            raise unsupported_statement(entry, st.UnsupportedStatement("DROP VIEW", name))
        case st.UnsupportedStatement():
            raise unsupported_statement(entry, statement)
    return run(text)


def _alter_spark_table(spark: SparkSession, statement: st.AlterTable, text: str, run: RunSql) -> DataFrame:
    """Execute ALTER TABLE for a table that is not a Kafka table.

    Raises:
        TableNotFoundError: the table does not exist, and Spark cannot parse the statement.
    """
    if statement.if_exists and not _exists_in_spark(spark, statement.name):
        return empty_dataframe(spark)
    if statement.is_flink_syntax:
        raise _table_not_found(statement.name)
    if statement.if_exists:  # Spark does not support IF EXISTS here
        return run(f"ALTER TABLE {qualified_name(statement.name)}{text[statement.clause_start :]}")
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


def _spark_catalog(name: str) -> str:
    return "spark_catalog" if name.lower() == "default_catalog" else name


def _spark_database(spark: SparkSession, name: tuple[str, ...]) -> tuple[str, ...]:
    """Return Spark's name of a database in Flink's default catalog. A Spark database of that name is used as it is."""
    if len(name) > 1:
        return strip_catalog((*name, ""))[:-1] if len(name) == 2 else name
    return name if spark.catalog.databaseExists(name[0]) else ("default",)


def _drop_temporary_view(spark: SparkSession, name: tuple[str, ...], if_exists: bool) -> DataFrame:
    """Drop a temporary view. Spark's DROP VIEW would drop a permanent one instead if there is no temporary one."""
    full_name = ".".join(name)
    if not (len(name) == 1 and spark.catalog.dropTempView(name[0])) and not if_exists:
        raise TableNotFoundError(f"Temporary view '{full_name}' not found in this session.", table=full_name)
    return empty_dataframe(spark)


def _rewrite_create_view(tables: Tables, statement: st.CreateView, text: str) -> str:
    """Return a CREATE VIEW for Spark. Reject one that would replace a Kafka table.

    A temporary view may hide a permanent Kafka table.
    """
    if tables and not statement.keeps_tables:
        entry = find_declared_table(tables, statement.name, statement.temporary)
        if entry is not None:
            raise unsupported_statement(entry, st.UnsupportedStatement("CREATE VIEW", statement.name))
    return spark_ddl.rewrite_create_view(tables, text)


def _check_replaces_no_table(tables: Tables, text: str) -> None:
    """Check that Spark's REPLACE TABLE does not replace a Kafka table: Iceberg would hide it behind a new table.

    Raises:
        UnsupportedSqlError: it would.
    """
    name = spark_ddl.replaced_table(text)
    entry = find_declared_table(tables, name, temporary=False) if name else None
    if entry is not None:
        raise unsupported_statement(entry, st.UnsupportedStatement("REPLACE TABLE", name))


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
