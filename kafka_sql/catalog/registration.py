"""Data source classes are looked up in the session that is active on the JVM's thread: that must be the right one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource


@contextmanager
def active(spark: SparkSession) -> Iterator[None]:
    """Let a session be the one that is active on this thread, in the block: a thread starts with none."""
    session = spark.__dict__.get("_jsparkSession")
    if session is None:  # Connect: the server knows the session
        yield
        return
    sessions = SparkSession._get_j_spark_session_class(spark._jvm)
    before = sessions.getActiveSession()
    sessions.setActiveSession(session)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def register(spark: SparkSession, kind: type[DataSource]) -> None:
    """Register a class in a session, in the place of one of that name. Spark refuses what another session has."""
    with active(spark):
        spark.dataSource.register(kind)
