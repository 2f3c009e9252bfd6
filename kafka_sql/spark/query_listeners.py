"""Add listeners of streaming queries, and remove them when the program exits."""

from __future__ import annotations

import atexit
import contextlib
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from kafka_sql.spark.callback_server import start_callback_server
from kafka_sql.spark.context import is_stopped, spark_context
from kafka_sql.spark.internal import Internal, JavaClass
from kafka_sql.spark.jvm import JavaError, gateway, java_context

_MAX_WAIT: Final = 1000  # milliseconds

INTERNALS: Final[tuple[Internal, ...]] = (
    JavaClass(
        "org.apache.spark.scheduler.LiveListenerBus",
        "no event may arrive after Python's threads have ended",
        "the JVM may log a stack trace when the program exits",
        members=("waitUntilEmpty/1",),
    ),
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
