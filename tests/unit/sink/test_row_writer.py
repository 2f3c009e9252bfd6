"""Test which records a task produces from its rows, with a producer that records them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import EncodeError, InvalidOptionError
from kafka_sql.sink import row_writer as module
from kafka_sql.sink.row_writer import write_with_producer
from kafka_sql.sink.write_stats import WriteStats
from kafka_sql.table.table import Column, Table


class Producer:
    """Records what is produced."""

    topic = "t"
    sent, sent_bytes, errors, send_time = 3, 30, 1, 0.5

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.topics: list[str] = []
        self.is_flushed = False

    def partition_count(self, topic: str) -> int:
        self.topics.append(topic)
        return 2

    def produce(self, values: Any, keys: Any, timestamps: Any, headers: Any, topics: Any, partitions: Any) -> None:
        self.calls.append(
            {
                "values": values.to_pylist(),
                "keys": None if keys is None else keys.to_pylist(),
                "timestamps": None if timestamps is None else timestamps.tolist(),
                "headers": None if headers is None else headers.to_pylist(),
                "topics": None if topics is None else topics.to_pylist(),
                "partitions": partitions,
            }
        )

    def flush(self) -> None:
        self.is_flushed = True


def table(*columns: Column, primary_key: tuple[str, ...] = (), **options: str) -> Definition:
    defaults = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1"}
    options = {key.replace("_", "."): value for key, value in options.items()}
    return validate_table(Table(("orders",), columns, {**defaults, **options}, primary_key=primary_key))


def write(definition: Definition, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    """Write batches; return the calls of ``produce`` without the arguments that are None."""
    producer: Any = Producer()
    write_with_producer(producer, definition, iter(batches))
    assert producer.is_flushed
    return [{name: value for name, value in call.items() if value is not None} for call in producer.calls]


A, K = Column("a", "INT", "INT"), Column("k", "STRING", "STRING", nullable=False)
BATCH = pa.RecordBatch.from_pydict({"a": pa.array([1, None], pa.int32()), "k": ["x", "y"]})


def test_rows_without_a_key() -> None:
    assert write(table(A, K, format="json"), BATCH) == [{"values": [b'{"a":1,"k":"x"}', b'{"a":null,"k":"y"}']}]


def test_rows_with_a_key() -> None:
    definition = table(
        A, K, **{"key_format": "raw", "key_fields": "k", "value_format": "json", "value.fields-include": "EXCEPT_KEY"}
    )
    assert write(definition, BATCH, BATCH) == [{"keys": [b"x", b"y"], "values": [b'{"a":1}', b'{"a":null}']}] * 2


def test_deleted_rows_are_tombstones() -> None:
    kind = Column("kind", "STRING", "STRING", metadata="row-kind")
    definition = table(A, K, kind, primary_key=("k",), connector="upsert-kafka", key_format="raw", value_format="json")
    batch = BATCH.append_column("kind", pa.array(["-D", "+I"]))
    assert write(definition, batch) == [{"keys": [b"x", b"y"], "values": [None, b'{"a":null,"k":"y"}']}]


def test_timestamps_headers_and_topics() -> None:
    columns = (
        Column("ts", "TIMESTAMP_LTZ(3)", "TIMESTAMP", metadata="timestamp"),
        Column("h", "MAP<STRING, BYTES>", "MAP<STRING, BINARY>", metadata="headers"),
        Column("topic", "STRING", "STRING", metadata="topic"),
    )
    definition = table(A, *columns, topic="t;u", format="json")
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array([1], pa.int32()),
            pa.array([2_000_000], pa.timestamp("us", "UTC")),
            pa.array([[("name", b"v")]], pa.map_(pa.string(), pa.binary())),
            pa.array(["u"]),
        ],
        names=["a", "ts", "h", "topic"],
    )
    assert write(definition, batch) == [
        {"values": [b'{"a":1}'], "timestamps": [2000], "headers": [[("name", b"v")]], "topics": ["u"]}
    ]


@pytest.mark.parametrize("kinds", [["+I", "+I"], ["-D", "+I"], ["+I", "-D"]])
def test_null_in_a_not_null_column(kinds: list[str]) -> None:
    """A deleted row needs only its key."""
    required = Column("a", "INT", "INT", nullable=False)
    kind = Column("kind", "STRING", "STRING", metadata="row-kind")
    definition = table(
        required, K, kind, primary_key=("k",), connector="upsert-kafka", key_format="raw", value_format="json"
    )
    batch = BATCH.append_column("kind", pa.array(kinds))
    if kinds[1] == "-D":
        assert write(definition, batch)[0]["values"] == [b'{"a":1,"k":"x"}', None]
        return
    with pytest.raises(EncodeError, match="Table 'orders': column 'a' is declared NOT NULL") as raised:
        write(definition, batch)
    assert raised.value.field == "a"


def test_more_tasks_than_the_parallelism(monkeypatch: pytest.MonkeyPatch) -> None:
    class Context:
        def __init__(self, partition: int) -> None:
            self.partition = partition

        def partitionId(self) -> int:
            return self.partition

    definition = table(A, K, format="json", **{"sink.parallelism": "2"})
    monkeypatch.setattr(module.TaskContext, "get", lambda: Context(1))
    assert len(write(definition, BATCH)) == 1
    monkeypatch.setattr(module.TaskContext, "get", lambda: Context(2))
    with pytest.raises(InvalidOptionError, match=r"more write tasks than 'sink\.parallelism' = '2'"):
        write(definition, BATCH)


def test_statistics_are_those_of_the_producer() -> None:
    producer: Any = Producer()
    stats = write_with_producer(producer, table(A, K, format="json"), iter([]))
    assert stats == WriteStats(3, 30, 1, 0.5, "librdkafka")
    assert producer.calls == []
