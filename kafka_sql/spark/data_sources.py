"""Register data source classes in the session that uses them, and find those that Spark knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

from kafka_sql.spark.internal import Internal, PythonName, java_classes
from kafka_sql.spark.jvm import java_session, jvm, query_execution, session_state

_WHY = "Spark looks up data source classes in the active session of the thread, and plans a first read early"
_IF_GONE = "enable() fails with an AttributeError or an error of Py4J"

INTERNALS: Final[tuple[Internal, ...]] = (
    PythonName("pyspark.sql.session.SparkSession._get_j_spark_session_class", _WHY, _IF_GONE, parameters=("jvm",)),
    *java_classes(
        """
        org.apache.spark.sql.classic.SparkSession getActiveSession/0 setActiveSession/1 clearActiveSession/0
        org.apache.spark.sql.execution.datasources.DataSourceManager dataSourceExists/1
        org.apache.spark.sql.execution.QueryExecution executedPlan/0
        """,
        _WHY,
        _IF_GONE,
    ),
)


@contextmanager
def active_session(spark: SparkSession) -> Iterator[None]:
    """Make a session the active one of this thread. Spark looks up data source classes in the active session."""
    session = java_session(spark)
    if session is None:  # Connect: the server knows the session
        yield
        return
    untyped: Any = SparkSession
    sessions = untyped._get_j_spark_session_class(jvm(spark))
    previous = sessions.getActiveSession()
    sessions.setActiveSession(session)
    try:
        yield
    finally:
        if previous.isDefined():
            sessions.setActiveSession(previous.get())
        else:
            sessions.clearActiveSession()


def register_data_source(spark: SparkSession, data_source: type[DataSource]) -> None:
    """Register a class in a session; it replaces the session's class of that name."""
    with active_session(spark):
        spark.dataSource.register(data_source)


def data_source_exists(spark: SparkSession, name: str) -> bool:
    """Return whether Spark has found a data source. False over Spark Connect, where the server's Python is unknown.

    Spark looks for data sources once per application, with the Python of PYSPARK_DRIVER_PYTHON, of PYSPARK_PYTHON or
    the first ``python3`` on the PATH, which may lack their package.
    """
    return java_session(spark) is not None and bool(session_state(spark).dataSourceManager().dataSourceExists(name))


def plan_read(spark: SparkSession, name: str) -> None:
    """Plan a read of a data source with Spark's planners, which starts their Python processes."""
    with active_session(spark):
        query_execution(spark.read.format(name).load()).executedPlan()
