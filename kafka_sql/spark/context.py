"""Distinguish classic Spark sessions, Spark Connect sessions, and those of Declarative Pipelines."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from kafka_sql.spark.internal import Internal, JavaClass, PythonName

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_P = ParamSpec("_P")
_R = TypeVar("_R")

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


def spark_version(spark: SparkSession) -> tuple[int, int]:
    """Return the release of the session's Spark, such as (4, 3); with Spark Connect, that of the server."""
    major, minor, *_ = spark.version.split(".")
    return int(major), int(minor)


def is_stopped(spark: SparkSession) -> bool:
    """Return whether a classic session's SparkContext was stopped, or is being stopped."""
    context = spark_context(spark)
    return context is not None and (context._jsc is None or bool(context._jsc.sc().isStopped()))


def run_outside_pipeline(spark: SparkSession, function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a function that also works while a Declarative Pipeline loads its Python files.

    A pipeline tags the requests of its thread, and the Connect server then rejects CREATE TABLE and queries, because
    everything must be part of the pipeline's graph. Kafka tables are not part of it, so they are created and looked up
    from a thread without the tag.
    """
    if not is_connect(spark):  # classic: no server, no tag
        return function

    def run_in_thread(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with ThreadPoolExecutor(1) as executor:
            return executor.submit(function, *args, **kwargs).result()

    return run_in_thread
