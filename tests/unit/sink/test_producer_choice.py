"""Which producer writes a table: the direct one, or librdkafka's."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.sink import producer_choice
from kafka_sql.sink.producer_choice import can_use_direct, table_producer, table_transaction
from kafka_sql.table.declaration import Column, Table


def table(*columns: Column, topic: str = "t", **properties: str) -> Definition:
    options = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": "h:1",
        "format": "json",
        **{f"properties.{key.replace('_', '.')}": value for key, value in properties.items()},
    }
    return validate_table(Table(("orders",), (Column("a", "INT", "INT"), *columns), options))


TIME = Column("ts", "TIMESTAMP", "TIMESTAMP_LTZ(3)", metadata="timestamp")
READ_ONLY_TIME = Column("ts", "TIMESTAMP", "TIMESTAMP_LTZ(3)", metadata="timestamp", virtual=True)


@pytest.mark.parametrize(
    ("definition", "is_direct"),
    [
        (table(), True),
        (table(READ_ONLY_TIME), True),
        (table(TIME, compression_type="lz4"), True),
        (table(message_timeout_ms="1000", statistics_interval_ms="1000"), False),
        (table(topic="t;u"), True),
        (table(topic="t;u", acks="1"), False),
    ],
    ids=[
        "default",
        "read-only metadata",
        "timestamp per row",
        "librdkafka setting",
        "several topics",
        "several topics and a librdkafka setting",
    ],
)
def test_choice(definition: Definition, is_direct: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for function in ("cached_direct_producer", "open_direct_transaction"):
        monkeypatch.setattr(producer_choice, function, lambda *_: "direct")
    for function in ("cached_producer", "open_transaction"):
        monkeypatch.setattr(producer_choice, function, lambda *_: "librdkafka")
    expected: Any = "direct" if is_direct else "librdkafka"
    assert table_producer(definition) == expected
    assert table_transaction(definition, definition.client_config, "id") == expected
    assert can_use_direct(definition) is is_direct
