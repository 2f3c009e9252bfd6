"""Extract this package's errors from Spark's text, and mask secrets in Spark's messages.

An exception of a task or a planner reaches the driver as text in a Spark exception.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import AnalysisException, ParseException, PySparkException

from kafka_sql import errors
from kafka_sql.errors import KafkaSqlError
from kafka_sql.options.secrets import MASK, find_options_start, has_options
from kafka_sql.runtime.error_trailer import find_error
from kafka_sql.spark.jvm import JavaException
from kafka_sql.statement_masking import find_secrets, mask_prose, mask_statement

_MISSING_MODULE = re.compile(r"ModuleNotFoundError: No module named '(kafka_sql|pyarrow|numpy|numba|confluent_kafka)\b")
_MIN_SECRET_LENGTH = 4  # characters; shorter secrets would match anywhere in a message
# After the error: another one was raised while it was handled, or because of it.
_REPLACED = re.compile(r"\s*(?:During handling of the above exception|The above exception was the direct cause)")
# PySpark's stream runner raises this after an error of the reader's constructor.
_RUNNER_ERROR = re.compile(r"^UnboundLocalError: .*'reader'", re.MULTILINE)
_PY4J_PREFIX = re.compile(r"^An error occurred while calling \S+\n: [\w.$]+: ")
_STATEMENT = "== SQL ==\n"  # in Spark's syntax errors: the statement follows, with a marker line below the error
_MARKER_LINE = re.compile(r"^-*\^\^\^(?:\n|\Z)", re.MULTILINE)
_POSITION = re.compile(r"\(line (\d+), pos (\d+)\)")
_TOKEN = re.compile(r"'(.*)'", re.DOTALL)  # the token at the position
_STACK_TRACE = re.compile(
    r"^(?:\s*at [\w$.]+\(|Driver stacktrace:|JVM stacktrace:|Caused by: |=== Streaming Query ===)", re.MULTILINE
)
# After an error of Spark's analyzer: the plan of the query.
_PLAN = re.compile(r"(?P<end>SQLSTATE: \w{5}(?:; line \d+ pos \d+)?);\n")
_PYTHON_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n(?:\s+.*\n)+(?P<last_line>\S.*)")


def extract_error(text: str) -> KafkaSqlError | None:
    """Return the error of this package that a Spark exception reports; None if it reports another one.

    Args:
        text: the exception's message, or a stack trace with all its causes.
    """
    missing = _MISSING_MODULE.search(text)
    if missing and "kafka_sql" in text:  # not if a user's function imports the module
        return errors.WorkerPythonError(
            f"The Python of Spark's workers has no module '{missing[1]}'. Before the session starts, set "
            f"PYSPARK_PYTHON to a Python that has kafka_sql (the driver's is {sys.executable}). On a cluster, "
            "install kafka_sql on every executor and set 'spark.pyspark.python' to that Python.",
            module=missing[1],
        )
    found = find_error(text)
    if found is None:
        return None
    error, end = found
    is_replaced = _REPLACED.match(text, end) and not _RUNNER_ERROR.search(text, end)
    return None if is_replaced else error


@contextmanager
def mask_errors() -> Iterator[None]:
    """Mask secrets in Spark's errors about a statement.

    Spark's parser quotes the whole statement. If that may contain a secret, raise a copy that shows the statement up to
    its options, without a cause, which would show more.
    """
    try:
        yield
    except KafkaSqlError:
        raise
    except ParseException as e:
        masked = mask_syntax_error(str(e), e.getCondition() or "")
        if masked == str(e):
            raise
        raise _copy(e, masked) from None
    except AnalysisException as e:
        masked = mask_message(str(e))
        if masked == str(e):
            raise
        raise _copy(e, masked) from None  # it quotes a part of the statement


def mask_syntax_error(message: str, condition: str) -> str:
    """Return a message of Spark's parser with the statement up to its options.

    Args:
        condition: the error's condition, such as PARSE_SYNTAX_ERROR.
    """
    head, _, statement = message.partition(_STATEMENT)
    statement = _MARKER_LINE.sub("", statement)
    start = find_options_start(statement) if has_options(statement) else None
    if start is None or not statement[start:].strip():
        return mask_message(message)
    position, token = _POSITION.search(head), _TOKEN.search(head)
    end = _offset(statement, position) + len(token[1]) if position and token else len(statement)
    if condition != "PARSE_SYNTAX_ERROR" or end > start:
        where = f" {position[0]}" if position else ""
        head = (
            f"[{condition}] Spark cannot parse the statement{where}. Its options may contain secrets and are hidden.\n"
        )
    return f"{head}{_STATEMENT}{statement[:start]}{MASK}"


def mask_message(message: str) -> str:
    """Return a message without values of options and user info that may be secret, wherever they appear."""
    values = find_secrets(message)
    prose, separator, statement = message.partition(_STATEMENT)
    message = mask_prose(prose) + separator + mask_statement(statement)
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= _MIN_SECRET_LENGTH:
            message = message.replace(value, MASK)
    return message


def _offset(statement: str, position: re.Match[str]) -> int:
    """Return the offset of a position in a statement: of a line, from 1, and a character in it, from 0."""
    lines = statement.splitlines(keepends=True)
    return sum(map(len, lines[: int(position[1]) - 1])) + int(position[2])


def _copy(error: PySparkException, message: str) -> PySparkException:
    """Return an error of the same class and condition with another message."""
    condition = error.getCondition() or ""
    error_class = ParseException if isinstance(error, ParseException) else AnalysisException
    text = message.strip().removeprefix(f"[{condition}]").lstrip()  # the constructor adds the condition again
    return error_class(message=text, errorClass=condition or None)


def error_message(error: BaseException) -> str:
    """Return an error as ``[CONDITION] message``, without stack traces.

    Args:
        error: an error of Spark, of this package or of the operating system.
    """
    if isinstance(error, KafkaSqlError):
        return str(error)
    text = str(error).strip()
    extracted = extract_error(text) if isinstance(error, (PySparkException, JavaException)) else None
    if extracted is not None:
        return str(extracted)
    if isinstance(error, JavaException):  # a Java exception that PySpark does not convert
        text = _PY4J_PREFIX.sub("", text)
    elif not isinstance(error, PySparkException):
        return f"{type(error).__name__}: {text}" if not isinstance(error, OSError) else text
    tracebacks = list(_PYTHON_TRACEBACK.finditer(text))
    if tracebacks:
        text = text[: tracebacks[0].start()].rstrip() + "\n" + tracebacks[-1]["last_line"]
    stack_trace, plan = _STACK_TRACE.search(text), _PLAN.search(text)
    text = text[: stack_trace.start()] if stack_trace else text[: plan.end("end")] if plan else text
    return text.strip()
