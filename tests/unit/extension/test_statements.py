"""What the extension returns to Spark's JVM for a statement that failed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from kafka_sql.errors import OptionError
from kafka_sql.extension import statements
from kafka_sql.extension.statements import Statements


class SparkError(AnalysisException):
    """An exception of the JVM in Python, with another message."""

    def __init__(self, java_message: str, message: str) -> None:
        super().__init__(message)
        self._desc, self._origin = message, SimpleNamespace(getMessage=lambda: java_message)


def result_of(monkeypatch: pytest.MonkeyPatch, error: Exception) -> Any:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(statements, "_execute", fail)
    monkeypatch.setattr(Statements, "_session", lambda *_: (None, None))
    context: Any = object()
    java_session: Any = object()
    return Statements(context).apply(java_session, "SELECT 1")


def test_errors_of_spark_are_those_of_the_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    error = SparkError("no column", "no column")
    assert result_of(monkeypatch, error) is error._origin


def test_errors_of_spark_name_tables_as_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    error = SparkError("Cannot write to `default`.`orders__kafka`", "Cannot write to `default`.`orders`")
    assert result_of(monkeypatch, error) == "Cannot write to `default`.`orders`"


def test_other_errors_are_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert result_of(monkeypatch, OptionError("no topic")) == "[OPTION] no topic"
    assert result_of(monkeypatch, AnalysisException("masked")) == "masked"
