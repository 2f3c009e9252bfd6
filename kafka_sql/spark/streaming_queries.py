"""Listen to streaming queries until the program exits, and read metrics that Spark does not report."""

from __future__ import annotations

import atexit
import contextlib
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.listener import StreamingQueryListener

from kafka_sql.spark.callback_server import start_callback_server
from kafka_sql.spark.context import is_stopped, spark_context
from kafka_sql.spark.internal import Internal, JavaClass, Text
from kafka_sql.spark.jvm import JavaError, gateway, java_context, java_query

_MAX_WAIT: Final = 1000  # milliseconds

_RUNTIME: Final = "org.apache.spark.sql.execution.streaming.runtime"
_BYTES: Final = "numBytesIn counts the bytes that a micro-batch reads"
_NONE: Final = "numBytesIn is missing"

INTERNALS: Final[tuple[Internal, ...]] = (
    JavaClass(
        "org.apache.spark.scheduler.LiveListenerBus",
        "no event may arrive after Python's threads have ended",
        "the JVM may log a stack trace when the program exits",
        members=("waitUntilEmpty/1",),
    ),
    JavaClass(f"{_RUNTIME}.StreamExecution", _BYTES, _NONE, members=("lastExecution/0",)),
    JavaClass(f"{_RUNTIME}.IncrementalExecution", _BYTES, _NONE, members=("currentBatchId/0",)),
    JavaClass("org.apache.spark.sql.execution.SparkPlan", _BYTES, _NONE, members=("collectLeaves/0", "metrics/0")),
    Text("pythonDataReceived", _BYTES, _NONE, source="org.apache.spark.sql.execution.python.PythonSQLMetrics$"),
)


def add_listener(spark: SparkSession, listener: StreamingQueryListener) -> None:
    """Add a listener to a session.

    The JVM of a classic session outlives Python's threads for a moment. It would log a stack trace for each event that
    it cannot pass to the listener, such as the end of a query that was stopped last.
    """
    context = spark_context(spark)
    if context is not None:
        start_callback_server(gateway(spark))
    spark.streams.addListener(listener)
    if context is not None:
        atexit.register(_remove, spark, listener)


def _remove(spark: SparkSession, listener: StreamingQueryListener) -> None:
    context = spark_context(spark)
    with contextlib.suppress(JavaError, PySparkException, OSError):  # the JVM has ended, or events are still arriving
        if context is not None and not is_stopped(spark):
            spark.streams.removeListener(listener)
            java_context(spark).listenerBus().waitUntilEmpty(_MAX_WAIT)  # one event may be on its way


def bytes_read(query: StreamingQuery, batch: int) -> int | None:
    """Return the size of the columns that a batch received from Python readers; None if it is not the last batch.

    Also None for a Connect client.

    Raises:
        JavaError, TypeError: this version of Spark has other metrics.
    """
    handle = java_query(query)
    execution = handle.streamingQuery().lastExecution() if handle is not None else None
    if execution is None or execution.currentBatchId() != batch:
        return None
    leaves, total = execution.executedPlan().collectLeaves().iterator(), 0
    while leaves.hasNext():
        metric = leaves.next().metrics().get("pythonDataReceived")
        total += metric.get().value() if metric.isDefined() else 0
    return int(total)
