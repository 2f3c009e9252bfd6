"""Messages of confluent-kafka as columns, and how many become one batch."""

from __future__ import annotations

from confluent_kafka import KafkaError, Message

from kafka_sql.kafka.librdkafka.consumer import _count_records, to_records
from kafka_sql.kafka.records import VALUES_ONLY, RecordFields

ALL_FIELDS = RecordFields(keys=True, timestamps=True, headers=True, leader_epochs=True)


def record(offset: int, value: bytes | None = b"", key: bytes | None = None) -> Message:
    return Message(topic="t", partition=0, offset=offset, value=value, key=key)


def test_columns() -> None:
    headers: list[tuple[str, str | bytes | None]] = [("a", b"1"), ("b", None), ("a", b"")]
    messages = [
        Message("t", 0, 5, b"k", b"v", headers, timestamp=(1, 1_000), leader_epoch=3),
        Message("t", 0, 7, key=b"", timestamp=(0, -1)),
        Message("t", 0, 8, value=b"", headers=[], timestamp=(2, 0), leader_epoch=0),
    ]
    records = to_records(messages, ALL_FIELDS)
    assert records.values.to_pylist() == [b"v", None, b""]
    assert records.offsets.tolist() == [5, 7, 8]
    assert records.keys is not None
    assert records.keys.to_pylist() == [b"k", b"", None]
    assert records.timestamps is not None
    assert records.timestamps.tolist() == [1_000, -1, 0]
    assert records.timestamp_types is not None
    assert records.timestamp_types.tolist() == [1, 0, 2]
    assert records.headers is not None
    assert [[tuple(h.values()) for h in row] for row in records.headers.to_pylist()] == [headers, [], []]
    assert records.leader_epochs is not None
    assert records.leader_epochs.tolist() == [3, -1, 0]


def test_fields_that_are_not_requested() -> None:
    records = to_records([record(0)], VALUES_ONLY)
    assert (records.keys, records.timestamps, records.timestamp_types) == (None, None, None)
    assert (records.headers, records.leader_epochs) == (None, None)


def test_batches_end_at_the_stopping_offset_at_events_and_at_the_size() -> None:
    end = Message(topic="t", partition=0, offset=12, error=KafkaError(KafkaError._PARTITION_EOF))
    messages = [record(10, b"123", b"4"), record(11, None), end, record(12)]
    assert _count_records(messages, 100, 100) == 2
    assert _count_records(messages, 11, 100) == 1
    assert _count_records(messages, 10, 100) == 0
    assert _count_records(messages[2:], 100, 100) == 0
    assert _count_records([record(0, b"123", b"4"), record(1, b"5")], 9, 4) == 1
    assert _count_records([record(0, b"123", b"4"), record(1, b"5")], 9, 5) == 2
    assert _count_records([record(0, b"123", b"4"), record(1, b"5")], 9, 1) == 1  # a single record is always taken
