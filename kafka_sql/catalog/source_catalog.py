"""Load the data sources of Kafka tables in sessions whose session catalog is not Spark's own, such as Delta's.

In such a session, Spark loads all tables of its session catalog as V1 tables (V2SessionCatalog.loadTable), but Python
data sources are V2 only. A second catalog, ``kafka_sql``, loads the same tables as V2 tables. It is a Java class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.context import is_pipeline, spark_context
from kafka_sql.spark.jar import PACKAGE, add_jar
from kafka_sql.spark.session_catalog import SESSION_CATALOG, set_for_application, sql_of_copy

SOURCE_CATALOG: Final = "kafka_sql"

_BUILTIN: Final = "builtin"  # the default of spark.sql.catalog.spark_catalog
_OPTION: Final = "spark.sql.catalog."
_CLASS: Final = f"{PACKAGE}.catalog.SourceCatalog"


def find_source_catalog(spark: SparkSession) -> str:
    """Return the name of the catalog through which the session reads and writes data sources."""
    is_builtin = spark.conf.get(_OPTION + SESSION_CATALOG, _BUILTIN) == _BUILTIN
    return SESSION_CATALOG if is_builtin else SOURCE_CATALOG


def add_source_catalog(spark: SparkSession) -> None:
    """Add the catalog ``kafka_sql`` to a session, unless it is configured.

    Raises:
        UnsupportedSqlError: its class cannot be added to the driver.
    """
    if spark.conf.get(_OPTION + SOURCE_CATALOG, None) is not None:
        return
    context = spark_context(spark)
    if context is None or is_pipeline():
        raise _not_configured(spark, "over Spark Connect" if context is None else "in a pipeline")
    if add_jar(context) is None:
        raise _not_configured(spark, "with this driver's class loaders")
    # The views of tables refer to the catalog, so later sessions have it, too, even without enable().
    set_for_application(spark, _OPTION + SOURCE_CATALOG, _CLASS)


def builtin_catalog_sql(spark: SparkSession) -> Callable[[str], DataFrame]:
    """Return a function that executes a statement with Spark's own session catalog, and the session's other settings.

    Iceberg's session catalog would create an Iceberg view, or no view, and would not find Spark's views.
    """
    return sql_of_copy(spark, {_OPTION + SESSION_CATALOG: _BUILTIN})


def _not_configured(spark: SparkSession, where: str) -> UnsupportedSqlError:
    option, setting = _OPTION + SESSION_CATALOG, f"--conf {_OPTION}{SOURCE_CATALOG}={_CLASS}"
    advice = f"Start Spark with --jars $(kafka-sql-extension) {setting}."
    if is_pipeline():  # the threads that run a pipeline do not see the classes of --jars
        advice = f"Start it with SPARK_DIST_CLASSPATH=$(kafka-sql-extension) spark-pipelines {setting} run."
    return UnsupportedSqlError(
        f"Kafka tables with {option} = {spark.conf.get(option)} need a second catalog, which cannot be added {where}. "
        + advice
    )
