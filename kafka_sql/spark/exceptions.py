"""Convert Spark's exceptions where PySpark creates them, and read and change what they have no method for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import UnknownException
from pyspark.sql import SparkSession

from kafka_sql.spark.context import is_connect
from kafka_sql.spark.internal import Internal, PythonName, Text
from kafka_sql.spark.jvm import JavaObject
from kafka_sql.spark.patch import Function, Patch

Convert: TypeAlias = Callable[[Exception, Exception], Exception]  # of Spark's exception, and of what PySpark raises

_WHY = "an error of this package in a task or planner is raised as that error, with names of tables as declared"
_IF_GONE = "the error is Spark's, with this package's message in it"
_TEXT = "an error names tables as declared"
_IN_STORAGE = "it names the objects behind the tables"
_SPARKS = "the error is Spark's"
_TRACE = "an error of this package may be the cause of Spark's error"

_LONG = "messages have Spark's advice or stack traces; of a query that is being stopped, an error is reported"

_CONDITIONS: Final = "error/error-conditions.json"
_STREAMS: Final = "org.apache.spark.sql.execution.streaming.runtime.StreamExecution"
_TEXTS: Final = {  # with their sources
    "Failed to find the data source: ": _CONDITIONS,
    "already exists. Please pick a different table name, or remove the existing location first.": _CONDITIONS,
    "Queries with streaming sources must be executed with writeStream.start()": (
        "org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker"
    ),
    "== SQL ==": "org.apache.spark.sql.catalyst.parser.ParseException",
    "(line ": "org.apache.spark.sql.catalyst.parser.ParseException",
    "=== Streaming Query ===": _STREAMS,
    "py4j.protocol.Py4JJavaError": _STREAMS,
    "Driver stacktrace:": "org.apache.spark.scheduler.TaskSetManager",
    "JVM stacktrace:": "pyspark.errors.exceptions.captured",
}
_CLASSIC: Final = (
    Patch("pyspark.errors.exceptions.captured.convert_exception", _WHY, _IF_GONE, parameters=("e",)),
    Patch("pyspark.sql.streaming.query.StreamingQuery.exception", _WHY, _IF_GONE),
)
_CONNECT: Final = (
    Patch("pyspark.sql.connect.client.core.convert_exception", _WHY, _IF_GONE, parameters=("info",)),
    Patch("pyspark.sql.connect.streaming.query.StreamingQuery.exception", _WHY, _IF_GONE),
)
INTERNALS: Final[tuple[Internal, ...]] = (
    *_CLASSIC,
    *_CONNECT,
    PythonName("pyspark.errors.exceptions.captured.CapturedException._desc", _TEXT, _IN_STORAGE),
    PythonName("pyspark.errors.exceptions.connect.SparkConnectGrpcException._message", _TEXT, _IN_STORAGE),
    PythonName("pyspark.errors.exceptions.captured.CapturedException._stackTrace", _TRACE, _SPARKS),
    PythonName("pyspark.errors.exceptions.connect.SparkConnectGrpcException._stacktrace", _TRACE, _SPARKS),
    PythonName(
        "pyspark.errors.exceptions.captured.CapturedException._origin",
        "a statement of a shell in Scala fails with Spark's own exception",
        "it fails with a RuntimeException that has the same message",
    ),
    *(
        Text(text, "sql.errors recognizes errors of Spark, and shortens their messages", _LONG, source=source)
        for text, source in _TEXTS.items()
    ),
    Text(
        "KAFKA_DATA_SOURCE_NOT_ENABLED",
        "an error of real-time mode says that Spark's own connector is missing",
        "the error has Spark's advice",
        since="4.3",
        source=_CONDITIONS,
    ),
)


def convert_exceptions(spark: SparkSession, convert: Convert) -> None:
    """Convert the exceptions of all sessions of this process that are of the same type, classic or Connect.

    Sessions that are not enabled are affected, too.
    """
    for patch in _CONNECT if is_connect(spark) else _CLASSIC:
        patch.apply(functools.partial(create_converted, convert))


def create_converted(convert: Convert, create: Function, *args: Any, **kwargs: Any) -> Exception | None:
    """Convert the exception that a function of PySpark creates."""
    error: Exception | None = create(*args, **kwargs)
    if error is None:
        return None
    # PySpark raises Py4J's exception in place of this one
    return convert(error, Py4JJavaError(str(error), *args) if isinstance(error, UnknownException) else error)


def stack_trace(error: Exception) -> str:
    """Return the stack traces of an exception of Spark and of its causes in Java; empty if it has none."""
    return getattr(error, "_stackTrace", None) or getattr(error, "_stacktrace", None) or ""


def change_message(error: Exception, change: Callable[[str], str]) -> None:
    """Change the message of an exception of Spark: ``_desc`` in a classic session, ``_message`` over Connect."""
    for attribute in ("_desc", "_message"):
        text = getattr(error, attribute, None)
        if isinstance(text, str):
            setattr(error, attribute, change(text))


def original_exception(error: Exception) -> JavaObject | None:
    """Return the Java exception behind a PySpark exception; None if it has none or its message was changed."""
    origin = getattr(error, "_origin", None)
    return origin if origin is not None and str(origin.getMessage()) == getattr(error, "_desc", None) else None
