"""``kafka_sql.enable(spark)``: make ``spark.sql()`` of a session execute Flink's statements for Kafka tables."""

from __future__ import annotations

import atexit
import functools
import logging
import os
import secrets
import threading
import weakref
from collections.abc import Callable
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.application_tables import ApplicationTables, tables_of_application
from kafka_sql.catalog.file_store import FileCatalogStore
from kafka_sql.catalog.options_source import KafkaSource
from kafka_sql.catalog.storage_names import show_table_names
from kafka_sql.catalog.tables import Tables
from kafka_sql.catalog.warmup import start_planners
from kafka_sql.options.secrets import secret_options_pattern
from kafka_sql.spark import patches
from kafka_sql.spark.context import is_connect, is_pipeline, spark_context
from kafka_sql.spark.data_sources import data_source_exists, register_data_source
from kafka_sql.spark.explain import patch_explain
from kafka_sql.spark.patches import patch_sql_of_all_sessions
from kafka_sql.spark.processes import configure_worker_python
from kafka_sql.sql.declarations.computed_columns import session_expressions
from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.sql.declarations.render import render_create_table
from kafka_sql.sql.dispatch import dispatch
from kafka_sql.sql.errors.conversion import convert_errors, explain_several_statements
from kafka_sql.sql.errors.spark_errors import mask_errors
from kafka_sql.sql.session.spark_methods import read_stream, show_as_declared

_LOG = logging.getLogger("kafka_sql.catalog")

CATALOG_CONF = "spark.kafka_sql.catalog"
_ATTRIBUTE = "_kafka_sql_tables"
_REDACTION_CONF = "spark.sql.redaction.options.regex"
_DEFAULT_REDACTION = "(?i)url"  # Spark's; it also masks keys with secret, password, token and access.key


def enable(spark: SparkSession, catalog: str | os.PathLike[str] | None = None) -> SparkSession:
    """Enable Flink's Kafka SQL statements in a session and return the same session.

    ``spark.sql()`` then executes Flink's statements for Kafka tables; all other statements reach Spark as written.
    ``spark.readStream.table()`` reads Kafka tables with their computed columns and watermarks. Permanent tables belong
    to the application: ``enable(spark.newSession())`` has them, too, but not the temporary tables. Over Spark Connect,
    permanent tables belong to the session, too: other clients of the server do not see them. A further call for the
    same session applies the changes that other sessions have made to tables.

    Args:
        spark: a classic or a Connect session.
        catalog: a folder that persists the tables, one ``.sql`` file each, for later applications. Default: Spark's
            configuration ``spark.kafka_sql.catalog``. Without a folder, tables end with the application.

    Raises:
        CatalogFolderError: the folder cannot be used.
    """
    tables = session_tables(spark)
    if tables is None:
        convert_errors(spark)
        patch_explain(spark, show_table_names)
        configure_worker_python(spark)
        spark_sql = patches.spark_sql(spark)
        parse = functools.partial(parse_create, expressions=session_expressions(spark, spark_sql))
        tables = Tables(spark, spark_sql, _permanent_tables(spark), parse, render_create_table)
        spark.__dict__[_ATTRIBUTE] = tables
        patches.patch_sql(spark, _sql(spark, tables, spark_sql))
        patches.patch_read_stream(spark, _read_stream)
        patches.patch_catalog(spark, functools.partial(show_as_declared, tables))
        if tables.are_private:
            patches.patch_stop(spark, functools.partial(_drop_private_tables, tables))
        patches.ignore_accumulators(spark)
        _close_at_exit(spark)
        _redact_options(spark)
        start_planners(spark)
        if not data_source_exists(spark, KafkaSource.name()):
            register_data_source(spark, KafkaSource)
    else:
        tables.refresh()
    folder = catalog or spark.conf.get(CATALOG_CONF, None)
    if folder is not None:
        tables.attach(FileCatalogStore(folder))
    return spark


def _redact_options(spark: SparkSession) -> None:
    """Make Spark mask the secrets in options of ``format("kafka_sql")``, which its plans, UI and event log show.

    This extends the default of ``spark.sql.redaction.options.regex``. A user's own value stays unchanged.

    A Declarative Pipeline does not allow its files to set configurations.
    """
    if not is_pipeline() and spark.conf.get(_REDACTION_CONF, _DEFAULT_REDACTION) == _DEFAULT_REDACTION:
        spark.conf.set(_REDACTION_CONF, secret_options_pattern())


def _close_at_exit(spark: SparkSession) -> None:
    """Close a Connect client when the program exits, while its threads still run.

    If Python's garbage collector closed it later, gRPC would wait for these threads forever.
    """
    if is_connect(spark):
        session = weakref.ref(spark)

        def close() -> None:
            client = getattr(session(), "client", None)
            if client is not None and not client.is_closed:
                client.close()

        atexit.register(close)


def _drop_private_tables(tables: Tables) -> None:
    """Drop the tables of a Connect session from the catalog that it shares with other clients."""
    try:
        tables.close()
    except (PySparkException, RuntimeError, ValueError) as e:  # the client is closed, or the server has ended
        _LOG.debug("Tables in Spark's catalog could not be dropped: %s", e)


def session_tables(spark: SparkSession) -> Tables | None:
    """Return the tables of a session, or None if it is not enabled."""
    return spark.__dict__.get(_ATTRIBUTE)


def _read_stream(spark: SparkSession, name: str) -> DataFrame | None:
    tables = session_tables(spark)
    return None if tables is None else read_stream(tables, spark, name)


def _sql(spark: SparkSession, tables: Tables, spark_sql: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    def sql(sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:
        def run(statement: str) -> DataFrame:
            return spark_sql(statement, args, **kwargs) if args is not None else spark_sql(statement, **kwargs)

        with explain_several_statements(sqlQuery), mask_errors():
            tables.refresh()
            return dispatch(spark, tables, sqlQuery, run)

    return sql


def _permanent_tables(spark: SparkSession) -> ApplicationTables:
    """Return the tables that the session shares with its application; a Connect session has its own.

    The clients of a Connect server share its catalog. Each client therefore creates its tables in a database with a
    random name, and temporary views with the tables' names over them. A pipeline is an exception: its SQL files cannot
    refer to temporary views, so its tables are in the catalog under their own names.
    """
    context = spark_context(spark)
    if context is not None:
        return tables_of_application(context.applicationId)
    return ApplicationTables(None if is_pipeline() else f"kafka_sql_{secrets.token_hex(8)}")


_ENABLE_LOCK = threading.Lock()


def install() -> None:
    """Enable every classic SparkSession of this process, existing ones included, on its first ``sql()``.

    For programs that create their own session, such as dbt, so that ``enable(spark)`` cannot be called. Further calls
    have no effect. Spark Connect sessions are not changed.
    """
    patch_sql_of_all_sessions(_enable)


def _enable(spark: SparkSession) -> None:
    with _ENABLE_LOCK:  # dbt runs its first statements on several threads
        enable(spark)
