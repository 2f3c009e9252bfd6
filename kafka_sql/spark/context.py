"""Distinguish classic Spark sessions, Spark Connect sessions, and those of Declarative Pipelines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from kafka_sql.spark.internal import Internal, JavaClass, PythonName

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


INTERNALS: Final[tuple[Internal, ...]] = (
    PythonName(
        "pyspark.sql.session.SparkSession._sc",
        "a session without it is one of Spark Connect",
        "classic sessions are treated like those of Spark Connect",
    ),
    PythonName(
        "pyspark.pipelines.graph_element_registry.get_active_graph_element_registry",
        "while a pipeline loads its files, tables are created on another thread",
        "enable() fails in a pipeline with an AttributeError",
    ),
    JavaClass(
        "org.apache.spark.SparkContext",
        "isStopped: a listener of a stopped session stays; isLocal: executors share the driver's process and classes",
        "enable() fails in classic sessions",
        members=("isStopped/0", "isLocal/0", "listenerBus/0"),
    ),
)


def spark_context(spark: SparkSession) -> SparkContext | None:
    """Return the session's SparkContext; None with Spark Connect, where driver and workers belong to the server."""
    context: SparkContext | None = spark.__dict__.get("_sc")
    return context


def is_connect(spark: SparkSession) -> bool:
    """Return whether a session is one of Spark Connect, whose client has no access to the driver."""
    return spark_context(spark) is None


def is_pipeline() -> bool:
    """Return whether a Declarative Pipeline is loading its Python files on this thread."""
    from pyspark.errors import PySparkRuntimeError

    registry = sys.modules.get("pyspark.pipelines.graph_element_registry")
    if registry is None:
        return False
    try:
        registry.get_active_graph_element_registry()
    except PySparkRuntimeError:
        return False
    return True


def is_stopped(spark: SparkSession) -> bool:
    """Return whether a classic session's SparkContext was stopped, or is being stopped."""
    context = spark_context(spark)
    return context is not None and (context._jsc is None or bool(context._jsc.sc().isStopped()))
