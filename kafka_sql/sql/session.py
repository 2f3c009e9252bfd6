"""A Spark session that takes Flink's statements: ``spark.sql()`` looks at each statement once and passes on what is
Spark's own.
"""

from __future__ import annotations

import atexit
import functools
import os
import weakref
from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.catalog.application_tables import tables_of_application
from kafka_sql.catalog.file_store import FileCatalogStore
from kafka_sql.catalog.tables import Tables
from kafka_sql.catalog.warmup import start_planners
from kafka_sql.runtime.spark_context import spark_context
from kafka_sql.sql import worker_python
from kafka_sql.sql.connect_patch import ignore_accumulators
from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.sql.declarations.render import render_create_table
from kafka_sql.sql.dispatch import dispatch
from kafka_sql.sql.read_stream import patch_read_stream
from kafka_sql.sql.spark_errors import unwrap_errors

CATALOG_CONF = "spark.kafka_sql.catalog"
SPARK_SQL = "_kafka_sql_plain"  # on a function that stands in for Spark's own sql(): that one
_ATTRIBUTE = "_kafka_sql_tables"


def enable(spark: SparkSession, catalog: str | os.PathLike[str] | None = None) -> SparkSession:
    """Teach a session Flink's Kafka statements; returns the same session. Calling it again changes nothing.

    ``spark.sql()`` then takes Flink's statements for Kafka tables; all other statements reach Spark as they are typed.
    ``spark.readStream.table()`` knows the tables with their computed columns and watermarks. The tables are those of
    the application: ``enable(spark.newSession())`` has them, too, temporary ones apart.

    Args:
        spark: classic or Connect.
        catalog: a folder that keeps the tables, one ``.sql`` file each, and gives them to the next application.
            Default: Spark's configuration ``spark.kafka_sql.catalog``. Without one, tables end with the application.

    Raises:
        CatalogFolderError: the folder cannot be used.
    """
    tables = session_tables(spark)
    if tables is None:
        worker_python.configure_worker_python(spark)
        plain = _plain(spark)
        tables = Tables(spark, plain, tables_of_application(_application(spark)), parse_create, render_create_table)
        spark.__dict__[_ATTRIBUTE] = tables
        spark.__dict__["sql"] = _taught(spark, tables, plain)
        patch_read_stream(spark, session_tables)
        _close_in_time(spark)
        ignore_accumulators(spark)
        start_planners(spark)
    folder = catalog or spark.conf.get(CATALOG_CONF, None)
    if folder is not None:
        tables.attach(FileCatalogStore(folder))
    return spark


def _close_in_time(spark: SparkSession) -> None:
    """Close a Connect client at the program's end, while its threads run: later, where Python clears what is left of
    objects that hold each other, gRPC waits for them for ever.
    """
    if spark_context(spark) is None:
        session = weakref.ref(spark)

        def close() -> None:
            client = getattr(session(), "client", None)
            if client is not None and not client.is_closed:
                client.close()

        atexit.register(close)


def session_tables(spark: SparkSession) -> Tables | None:
    """The tables of a session that has been enabled."""
    return spark.__dict__.get(_ATTRIBUTE)


def _taught(spark: SparkSession, tables: Tables, plain: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    @functools.wraps(plain)
    def sql(sqlQuery: str, args: Any = None, **kwargs: Any) -> DataFrame:
        def run(statement: str) -> DataFrame:
            return plain(statement, args, **kwargs) if args is not None else plain(statement, **kwargs)

        with unwrap_errors():
            tables.refresh()
            return dispatch(spark, tables, sqlQuery, run)

    setattr(sql, SPARK_SQL, plain)
    return sql


def _plain(spark: SparkSession) -> Callable[..., DataFrame]:
    """Spark's own ``sql()`` of a session."""
    mine = spark.__dict__.get("sql")
    if mine is not None:
        return mine  # type: ignore[no-any-return]  # somebody else's, kept
    method: Callable[..., DataFrame] = getattr(type(spark).sql, SPARK_SQL, type(spark).sql).__get__(spark)
    return method


def _application(spark: SparkSession) -> str:
    """Whose catalog the session has: a Spark application, or a Connect client's own."""
    context = spark_context(spark)
    return context.applicationId if context is not None else f"connect {id(spark)}"
