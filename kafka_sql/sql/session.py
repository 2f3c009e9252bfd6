"""``kafka_sql.enable(spark)``: make ``spark.sql()`` of a session execute Flink's statements for Kafka tables."""

from __future__ import annotations

import atexit
import functools
import logging
import os
import secrets
import weakref
from collections.abc import Callable
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.application_tables import ApplicationTables, tables_of_application
from kafka_sql.catalog.file_store import FileCatalogStore
from kafka_sql.catalog.tables import Tables
from kafka_sql.catalog.warmup import start_planners
from kafka_sql.spark.context import is_pipeline, spark_context
from kafka_sql.sql import worker_python
from kafka_sql.sql.connect_patch import ignore_accumulators
from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.sql.declarations.render import render_create_table
from kafka_sql.sql.declarations.session_expressions import session_expressions
from kafka_sql.sql.dispatch import dispatch
from kafka_sql.sql.error_conversion import convert_errors
from kafka_sql.sql.explain_patch import patch_explain
from kafka_sql.sql.list_tables import patch_catalog
from kafka_sql.sql.read_stream import patch_read_stream
from kafka_sql.sql.redaction import redact_options
from kafka_sql.sql.several_statements import explain_several_statements
from kafka_sql.sql.spark_errors import mask_errors

_LOG = logging.getLogger("kafka_sql.catalog")

CATALOG_CONF = "spark.kafka_sql.catalog"
SPARK_SQL = "_kafka_sql_spark_sql"  # attribute of a patched sql(): Spark's own function
_ATTRIBUTE = "_kafka_sql_tables"


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
        patch_explain(spark)
        worker_python.configure_worker_python(spark)
        spark_sql = _spark_sql(spark)
        parse = functools.partial(parse_create, spark=session_expressions(spark_sql))
        tables = Tables(spark, spark_sql, _permanent_tables(spark), parse, render_create_table)
        spark.__dict__[_ATTRIBUTE] = tables
        spark.__dict__["sql"] = _patched_sql(spark, tables, spark_sql)
        patch_read_stream(spark, session_tables)
        patch_catalog(spark, tables)
        _drop_private_tables_at_stop(spark, tables)
        _close_at_exit(spark)
        ignore_accumulators(spark)
        redact_options(spark)
        start_planners(spark)
        worker_python.register_format(spark)
    else:
        tables.refresh()
    folder = catalog or spark.conf.get(CATALOG_CONF, None)
    if folder is not None:
        tables.attach(FileCatalogStore(folder))
    return spark


def _close_at_exit(spark: SparkSession) -> None:
    """Close a Connect client when the program exits, while its threads still run.

    If Python's garbage collector closed it later, gRPC would wait for these threads forever.
    """
    if spark_context(spark) is None:
        session = weakref.ref(spark)

        def close() -> None:
            client = getattr(session(), "client", None)
            if client is not None and not client.is_closed:
                client.close()

        atexit.register(close)


def _drop_private_tables_at_stop(spark: SparkSession, tables: Tables) -> None:
    """Make ``stop()`` of a Connect session drop its tables from the catalog that it shares with other clients."""
    if not tables.are_private:
        return
    stop = spark.stop

    @functools.wraps(stop)
    def drop_and_stop() -> None:
        try:
            tables.close()
        except (PySparkException, RuntimeError, ValueError) as e:  # the client is closed, or the server has ended
            _LOG.debug("Tables in Spark's catalog could not be dropped: %s", e)
        stop()

    spark.__dict__["stop"] = drop_and_stop


def session_tables(spark: SparkSession) -> Tables | None:
    """Return the tables of a session, or None if it is not enabled."""
    return spark.__dict__.get(_ATTRIBUTE)


def _patched_sql(spark: SparkSession, tables: Tables, spark_sql: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    @functools.wraps(spark_sql)
    def sql(sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:
        def run(statement: str) -> DataFrame:
            return spark_sql(statement, args, **kwargs) if args is not None else spark_sql(statement, **kwargs)

        with explain_several_statements(sqlQuery), mask_errors():
            tables.refresh()
            return dispatch(spark, tables, sqlQuery, run)

    setattr(sql, SPARK_SQL, spark_sql)
    return sql


def _spark_sql(spark: SparkSession) -> Callable[..., DataFrame]:
    """Return a session's own ``sql()``, without Flink's statements."""
    patched = spark.__dict__.get("sql")
    if patched is not None:
        return patched  # type: ignore[no-any-return]  # another package's patch stays in effect
    method: Callable[..., DataFrame] = getattr(type(spark).sql, SPARK_SQL, type(spark).sql).__get__(spark)
    return method


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
