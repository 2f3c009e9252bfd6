"""Errors of functions for foreachBatch: short, and of the same kind for Spark and for this package."""

from __future__ import annotations

import re
import traceback
from typing import Any

import pytest
from pyspark.errors import PySparkException

from kafka_sql.errors import DecodeError
from kafka_sql.sql.jobs.targets.batch_functions import with_short_errors

STACK = "".join(f"\n\tat org.apache.spark.Class.method{i}(Class.scala:{i})" for i in range(500))
# of org.apache.spark.sql.execution.streaming.runtime.StreamExecution
PROXY_ERROR = re.compile(
    r"py4j\.protocol\.Py4JJavaError: An error occurred while calling"
    r"(?:.|\r\n|\r|\n)*(?:java\.lang\.InterruptedException|java\.io\.InterruptedIOException)"
)


def printed(error: Exception) -> str:
    """Return what Java receives if a function for foreachBatch raises an error."""

    def write(*_: Any) -> None:
        raise error

    try:
        with_short_errors(write)(None, 0)  # type: ignore[arg-type]
    except Exception:  # noqa: BLE001
        return traceback.format_exc()
    raise AssertionError


@pytest.mark.parametrize(
    "message",
    [f"An error occurred while calling o1.x.\n: java.lang.InterruptedException{STACK}", "[SPARK_JOB_CANCELLED] Job 5"],
)
def test_an_interruption_is_recognized_by_spark(message: str) -> None:
    text = printed(Exception(message))
    assert PROXY_ERROR.search(text)
    assert len(text) < 2000


def test_errors_have_no_stack_trace() -> None:
    text = printed(PySparkException(f"[DIVIDE_BY_ZERO] Division by zero.{STACK}"))
    assert text.rstrip().endswith("BatchError: [DIVIDE_BY_ZERO] Division by zero.")
    assert not PROXY_ERROR.search(text)
    assert "\tat " not in text


def test_an_error_of_this_package_keeps_its_class() -> None:
    task = "Job aborted.\nkafka_sql.errors.DecodeError: [DECODE] topic[0]@5: not JSON SQLSTATE: KD000"
    for error in (PySparkException(task + STACK), DecodeError(0, None, "not JSON", "topic[0]@5")):
        text = printed(error)
        assert "kafka_sql.errors.DecodeError: [DECODE] topic[0]@5: not JSON" in text
        assert "\tat " not in text
