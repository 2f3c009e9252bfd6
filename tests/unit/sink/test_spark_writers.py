"""Whether the end of a write involves transactions."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.sink import spark_writers
from kafka_sql.sink.spark_writers import BatchWriter, StreamWriter
from kafka_sql.table.table import Column, Table


def table(**options: str) -> Definition:
    common = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1", "format": "json"}
    return validate_table(Table(("t",), (Column("a", "INT", "INT"),), {**common, **options}))


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How transactions were ended."""
    calls: list[str] = []
    monkeypatch.setattr(spark_writers.driver, "commit", lambda *_: calls.append("commit"))
    monkeypatch.setattr(spark_writers.driver, "abort", lambda *_: calls.append("abort"))
    monkeypatch.setattr(spark_writers, "report_batch", lambda *_: None)
    monkeypatch.setattr(spark_writers, "transaction_timeout", lambda _: 60_000)
    return calls


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, []),
        (
            {"sink.delivery-guarantee": "exactly-once", "sink.transactional-id-prefix": "p"},
            ["commit", "abort", "commit", "abort"],
        ),
    ],
)
def test_only_exactly_once_writes_end_transactions(
    options: dict[str, str], expected: list[str], ended: list[str]
) -> None:
    batch, stream = BatchWriter(table(**options)), StreamWriter(table(**options))
    batch.commit([])
    batch.abort([])
    stream.commit([], 1)
    stream.abort([], 1)
    assert ended == expected


def test_each_statement_has_its_own_id() -> None:
    first: Any = BatchWriter(table())
    second: Any = BatchWriter(table())
    assert first._statement_id != second._statement_id
