"""The one message that tells why a statement failed."""

from __future__ import annotations

import re

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from kafka_sql.errors import KafkaSqlError

# Our errors arrive as text from tasks of Spark, with Spark's words and two stack traces around it.
_OURS = re.compile(r"kafka_sql\.errors\.\w+: (\[[A-Z_]+\] .*)")
_CALL = re.compile(r"^An error occurred while calling \S+\n: [\w.$]+: ")
_TRACE = re.compile(
    r"^(?:\s*at [\w$.]+\(|Driver stacktrace:|JVM stacktrace:|Caused by: |=== Streaming Query ===)", re.MULTILINE
)
_PYTHON = re.compile(r"Traceback \(most recent call last\):\n(?:\s+.*\n)+(?P<last>\S.*)")


def message(error: BaseException) -> str:
    """``[CONDITION] what happened``, without stack traces.

    Args:
        error: of Spark or of ours, or what an operating system says about a file.
    """
    if isinstance(error, KafkaSqlError):
        return str(error)
    text = str(error).strip()
    ours = _OURS.findall(text)
    if ours:
        return str(ours[-1])
    if isinstance(error, Py4JJavaError):  # what PySpark has no name for
        text = _CALL.sub("", text)
    elif not isinstance(error, PySparkException):
        return f"{type(error).__name__}: {text}" if not isinstance(error, OSError) else text
    python = _PYTHON.findall(text)
    if python:
        text = text[: _PYTHON.search(text).start()].rstrip() + "\n" + python[-1]  # type: ignore[union-attr]
    trace = _TRACE.search(text)
    return (text[: trace.start()] if trace else text).strip()
