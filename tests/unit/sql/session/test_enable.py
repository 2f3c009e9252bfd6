"""Test which tables a session shares, and what a Spark Connect client leaves on the server, without Spark."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from kafka_sql.catalog.application_tables import tables_of_application
from kafka_sql.sql.session import enable as session


def test_sessions_of_an_application_share_its_tables() -> None:
    spark: Any = SimpleNamespace(_sc=SimpleNamespace(applicationId="app-shared"))
    tables = session._permanent_tables(spark)
    assert tables is tables_of_application("app-shared")
    assert tables.private_database is None


def test_each_client_of_a_connect_server_has_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    spark: Any = SimpleNamespace()
    names = {session._permanent_tables(spark).private_database for _ in range(3)}
    assert len(names) == 3
    assert all(re.fullmatch(r"kafka_sql_[0-9a-f]{16}", str(name)) for name in names)
    monkeypatch.setattr(session, "is_pipeline", lambda: True)
    assert session._permanent_tables(spark).private_database is None


class Tables:
    """The tables of a client; dropping them may fail."""

    def __init__(self, calls: list[str], error: Exception | None = None) -> None:
        self.calls, self.error = calls, error

    def close(self) -> None:
        self.calls.append("drop")
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("error", [None, PySparkException("no server"), ValueError("closed channel")])
def test_stop_drops_the_tables_of_a_client(error: Exception | None) -> None:
    calls: list[str] = []
    tables: Any = Tables(calls, error)
    session._drop_private_tables(tables)
    assert calls == ["drop"]


@pytest.mark.parametrize(
    ("value", "in_pipeline", "is_set"),
    [("(?i)url", False, True), ("my.regex", False, False), ("(?i)url", True, False)],
)
def test_options_are_redacted(monkeypatch: pytest.MonkeyPatch, value: str, in_pipeline: bool, is_set: bool) -> None:
    settings: dict[str, str] = {}
    spark: Any = SimpleNamespace(conf=SimpleNamespace(get=lambda *_: value, set=settings.__setitem__))
    monkeypatch.setattr(session, "is_pipeline", lambda: in_pipeline)  # a pipeline does not allow conf.set()
    session._redact_options(spark)
    assert list(settings) == ["spark.sql.redaction.options.regex"] * is_set
