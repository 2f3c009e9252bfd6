"""A data source class made known to a session."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource


def register(spark: SparkSession, kind: type[DataSource]) -> None:
    """Register a class in a session, in the place of one of that name.

    Spark looks for a class of that name in the thread's active session, and refuses what it finds in another one.
    """
    session = spark.__dict__.get("_jsparkSession")
    if session is None:  # Connect: the server knows the session
        spark.dataSource.register(kind)
        return
    sessions = SparkSession._get_j_spark_session_class(spark._jvm)
    active = sessions.getActiveSession()
    sessions.setActiveSession(session)
    try:
        spark.dataSource.register(kind)
    finally:
        if active.isDefined():
            sessions.setActiveSession(active.get())
