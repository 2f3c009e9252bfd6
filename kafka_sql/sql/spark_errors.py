"""Our errors in Spark's wrapping: a task's exception reaches the driver as text inside one of Spark's own."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import ParseException, PySparkException

from kafka_sql import errors
from kafka_sql.errors import KafkaSqlError
from kafka_sql.options.secrets import secrets_pattern

_MISSING = re.compile(r"ModuleNotFoundError: No module named '(kafka_sql|pyarrow|numpy|numba|confluent_kafka)\b")
_SECRET = re.compile(secrets_pattern())
_MASK = "******"
_SHORTEST = 4  # characters of a secret that is looked for in all of a message: a shorter one would be found anywhere
_OURS = re.compile(r"^kafka_sql\.errors\.(\w+): \[\w+\] (.*)$", re.MULTILINE)
# Our errors arrive as text from tasks of Spark, with Spark's words and two stack traces around it.
_CONDITION_AND_MESSAGE = re.compile(r"kafka_sql\.errors\.\w+: (\[[A-Z_]+\] .*)")
_CALL = re.compile(r"^An error occurred while calling \S+\n: [\w.$]+: ")
_TRACE = re.compile(
    r"^(?:\s*at [\w$.]+\(|Driver stacktrace:|JVM stacktrace:|Caused by: |=== Streaming Query ===)", re.MULTILINE
)
_PYTHON_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n(?:\s+.*\n)+(?P<last>\S.*)")


@contextmanager
def unwrap_errors() -> Iterator[None]:
    """Raise what a statement failed of, instead of the wrapping; that stays as its cause.

    Spark's parser quotes the statement, whole: where a secret stands in it, the error is one with the secret masked,
    and has no cause, as that would show it.

    Only statements that run at once can be helped so: a SELECT fails later, in ``show()`` or ``collect()``, with the
    same words.
    """
    try:
        yield
    except ParseException as e:
        shown = mask_secrets(str(e))
        if shown == str(e):
            raise
        condition = e.getCondition() or ""
        text = shown.strip().removeprefix(f"[{condition}]").lstrip()  # which the new one puts before it again
        raise ParseException(message=text, errorClass=condition or None) from None
    except PySparkException as e:
        missing = _MISSING.search(str(e))
        if missing:
            raise errors.WorkerPythonError(
                f"The Python that runs Spark's workers has no module '{missing[1]}'. Set PYSPARK_PYTHON to one that "
                f"has kafka_sql before the session starts (here: {sys.executable}); on a cluster, install it on every "
                "executor and name that Python in 'spark.pyspark.python'."
            ) from e
        found = _OURS.findall(str(e))
        kind = getattr(errors, found[-1][0], None) if found else None
        if kind is None:
            raise
        raise kind.from_message(found[-1][1]) from e


def mask_secrets(message: str) -> str:
    """A message without the values of secret options, wherever in it they stand."""
    values = [m[0].partition("=")[2].strip().strip("'\"") for m in _SECRET.finditer(message)]
    message = _SECRET.sub(lambda m: f"{m[0].partition('=')[0]}= {_MASK}", message)
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= _SHORTEST:
            message = message.replace(value, _MASK)
    return message


def error_message(error: BaseException) -> str:
    """``[CONDITION] what happened``, without stack traces.

    Args:
        error: of Spark or of ours, or what an operating system says about a file.
    """
    if isinstance(error, KafkaSqlError):
        return str(error)
    text = str(error).strip()
    ours = _CONDITION_AND_MESSAGE.findall(text)
    if ours:
        return str(ours[-1])
    if isinstance(error, Py4JJavaError):  # what PySpark has no name for
        text = _CALL.sub("", text)
    elif not isinstance(error, PySparkException):
        return f"{type(error).__name__}: {text}" if not isinstance(error, OSError) else text
    python = _PYTHON_TRACEBACK.findall(text)
    if python:
        text = text[: _PYTHON_TRACEBACK.search(text).start()].rstrip() + "\n" + python[-1]  # type: ignore[union-attr]
    trace = _TRACE.search(text)
    return (text[: trace.start()] if trace else text).strip()
