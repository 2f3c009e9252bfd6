"""Joined tables that Spark does not let us refresh are reported when the query starts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from kafka_sql.catalog import static_tables


class _NoSuchField(Py4JJavaError):
    def __init__(self) -> None:
        """Have no Java exception."""


def test_a_spark_with_other_data_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise _NoSuchField

    session: Any = SimpleNamespace(version="4.9.0", _sc=SimpleNamespace())
    monkeypatch.setattr(static_tables, "add_strategy", fail)
    assert static_tables.install_refresh_strategy(session) == (
        "with Spark 4.9.0, whose Python data sources have changed",
        "Use Spark 4.1 to 4.3",
    )
