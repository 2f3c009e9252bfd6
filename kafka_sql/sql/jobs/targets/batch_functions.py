"""Shorten the errors of functions for ``foreachBatch``, which Spark searches with a recursive regular expression."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final, TypeAlias

from pyspark.sql import DataFrame

from kafka_sql.errors import KafkaSqlError
from kafka_sql.runtime.error_trailer import with_attributes
from kafka_sql.sql.errors.spark_errors import error_message, extract_error

BatchFunction: TypeAlias = Callable[[DataFrame, int], None]

# of a query that is being stopped: Spark interrupts its thread and cancels its jobs
_INTERRUPTIONS: Final = (
    "java.lang.InterruptedException",
    "java.io.InterruptedIOException",
    "java.nio.channels.ClosedByInterruptException",
    "[SPARK_JOB_CANCELLED]",
)
# Spark recognizes the interruption of a Python function by this text (StreamExecution.isInterruptionException)
_INTERRUPTED: Final = (
    "The query was stopped (py4j.protocol.Py4JJavaError: An error occurred while calling a function: "
    "java.lang.InterruptedException)"
)


class BatchError(Exception):
    """Spark's error about a micro-batch, without stack traces."""


def with_short_errors(function: BatchFunction) -> BatchFunction:
    """Return a function for ``foreachBatch`` whose errors contain no stack traces of Java.

    With one, Spark's regular expression exceeds the stack of the query's thread, and Java prints 1,024 lines. An error
    of this package remains what it is.
    """

    @functools.wraps(function)
    def call(rows: DataFrame, batch: int) -> None:
        with with_attributes():
            try:
                function(rows, batch)
            except KafkaSqlError:
                raise
            except Exception as e:  # noqa: BLE001  raised again
                raise _shorten(e) from None

    return call


def _shorten(error: Exception) -> Exception:
    text = str(error)
    if any(interruption in text for interruption in _INTERRUPTIONS):
        return BatchError(_INTERRUPTED)
    return extract_error(text) or BatchError(error_message(error))
