"""Add the catalog ``kafka_sql``, a Java class with the functions of computed columns, to a session.

In a session whose session catalog is not Spark's own, such as Delta's, it also loads the data sources of Kafka tables.
There, Spark loads all tables of its session catalog as V1 tables (V2SessionCatalog.loadTable), but Python data sources
are V2 only. The catalog loads the same tables as V2 tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.context import run_outside_pipeline, spark_context
from kafka_sql.spark.jar import PACKAGE, add_jar, jar_path
from kafka_sql.spark.session_catalog import SESSION_CATALOG, set_for_application, sql_of_copy

SOURCE_CATALOG: Final = "kafka_sql"

_BUILTIN: Final = "builtin"  # the default of spark.sql.catalog.spark_catalog
_OPTION: Final = "spark.sql.catalog."
_CLASS: Final = f"{PACKAGE}.catalog.SourceCatalog"


def find_source_catalog(spark: SparkSession) -> str:
    """Return the name of the catalog through which the session reads and writes data sources."""
    is_builtin = spark.conf.get(_OPTION + SESSION_CATALOG, _BUILTIN) == _BUILTIN
    return SESSION_CATALOG if is_builtin else SOURCE_CATALOG


def uses_functions(sql: str) -> bool:
    """Return whether an expression calls functions of the catalog ``kafka_sql``."""
    return f"{SOURCE_CATALOG}." in sql


def add_source_catalog(spark: SparkSession, spark_sql: Callable[[str], DataFrame]) -> None:
    """Add the catalog ``kafka_sql`` to a session, unless it is configured. Over Spark Connect, this uploads the jar.

    Args:
        spark_sql: executes a statement of Spark's, in a pipeline on a thread without the pipeline's tag.

    Raises:
        UnsupportedSqlError: its class cannot be added to the driver, or it would hide a database.
    """
    option = _OPTION + SOURCE_CATALOG
    if spark.conf.get(option, None) is not None:
        return
    find = f"SHOW DATABASES IN {SESSION_CATALOG} LIKE '{SOURCE_CATALOG}'"
    if run_outside_pipeline(spark, lambda: spark_sql(find).collect())():
        raise UnsupportedSqlError(
            f"The table needs the catalog {SOURCE_CATALOG}, which would hide the database {SOURCE_CATALOG} in all "
            "queries. Move its tables to a database of another name, and DROP it."
        )
    context = spark_context(spark)
    if context is None:
        try:
            run_outside_pipeline(spark, lambda: spark.addArtifact(str(jar_path())))()
        except PySparkException as e:
            raise _not_configured(f"the Spark Connect server does not accept its jar: {e}") from e
        spark_sql(f"SET {option} = {_CLASS}").collect()
    elif add_jar(context) is None:
        raise _not_configured("this driver's class loaders do not accept its jar")
    else:
        # The views of tables refer to the catalog, so later sessions have it, too, even without enable().
        set_for_application(spark, option, _CLASS)


def builtin_catalog_sql(spark: SparkSession) -> Callable[[str], DataFrame]:
    """Return a function that executes a statement with Spark's own session catalog, and the session's other settings.

    Iceberg's session catalog would create an Iceberg view, or no view, and would not find Spark's views.
    """
    return sql_of_copy(spark, {_OPTION + SESSION_CATALOG: _BUILTIN})


def _not_configured(reason: str) -> UnsupportedSqlError:
    return UnsupportedSqlError(
        f"The table needs the catalog {SOURCE_CATALOG}, but {reason}. Start Spark with --jars $(kafka-sql-extension) "
        f"--conf {_OPTION}{SOURCE_CATALOG}={_CLASS}."
    )
