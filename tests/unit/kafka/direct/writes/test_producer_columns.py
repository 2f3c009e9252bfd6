"""The direct producer and a simulated broker: codecs, headers, timestamps, topics of rows, many partitions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.errors import DeliveryError, RecordTooLargeError, TopicNotFoundError
from kafka_sql.kafka.direct.compression import CODECS
from kafka_sql.kafka.direct.writes.producer import DirectProducer
from kafka_sql.kafka.direct.writes.producer_state import open_producer_state
from tests.unit.kafka.direct.batch_decoder import Record, decode_batch
from tests.unit.kafka.direct.simulated_broker import SimulatedBroker, simulated_broker

HEADER_MAP = pa.map_(pa.string(), pa.binary())


@pytest.fixture
def broker() -> Iterator[SimulatedBroker]:
    with simulated_broker(t=1, three=3, five=5) as running:
        yield running


@contextmanager
def open_producer(broker: SimulatedBroker, topic: str | None = "t", **properties: str) -> Iterator[DirectProducer]:
    with ExitStack() as stack:
        state = open_producer_state(broker.config(**properties), stack)
        yield stack.enter_context(closing(DirectProducer(state, topic, "orders")))


def binary(*values: bytes | None) -> pa.BinaryArray:
    return pa.array(values, pa.binary())


def batches(broker: SimulatedBroker, topic: str, partition: int = 0) -> list[tuple[dict[str, Any], list[Record]]]:
    return [decode_batch(batch) for batch in broker.logs[topic, partition]]


@pytest.mark.parametrize("codec", range(len(CODECS)))
@pytest.mark.parametrize("option", ["compression_type", "compression_codec"])
def test_batches_are_compressed(broker: SimulatedBroker, codec: int, option: str) -> None:
    rows = [b'{"id":%d,"text":"%s"}' % (i, b"x" * 50) for i in range(4_000)]
    with open_producer(broker, batch_size="100000", **{option: CODECS[codec] or "none"}) as producer:
        producer.produce(binary(*rows))
        producer.flush()
        assert producer.sent_bytes == sum(map(len, rows))
    written = batches(broker, "t")
    assert [record.value for _, records in written for record in records] == rows
    assert {header["attributes"] for header, _ in written} == {codec}
    assert len(written) == 4  # batch.size is before compression
    sizes = list(map(len, broker.logs["t", 0]))
    assert sum(sizes) < 100_000 if codec else sum(sizes) > 300_000


def test_timestamps_and_headers(broker: SimulatedBroker) -> None:
    headers: list[Any] = [[("a", b"1"), ("a", None)], None, [], [("ü", b"")]]
    began = int(time.time() * 1000)
    with open_producer(broker, compression_type="zstd", linger_ms="60000") as producer:
        producer.produce(binary(b"a"), binary(b"k"))
        producer.produce(
            binary(b"b", None, b"", b"c"),
            timestamps=np.array([5, -1, 0, 2**50]),
            headers=pa.array(headers, HEADER_MAP),
        )
        producer.flush()
    ended = int(time.time() * 1000)
    ((header, records),) = batches(broker, "t")
    now = [records[0].timestamp, records[2].timestamp]
    assert began <= now[0] <= now[1] <= ended
    assert records == [
        Record(b"k", b"a", now[0], []),
        Record(None, b"b", 5, [("a", b"1"), ("a", None)]),
        Record(None, None, now[1], []),
        Record(None, b"", 0, []),
        Record(None, b"c", 2**50, [("ü", b"")]),
    ]
    assert (header["first_time"], header["last_time"]) == (now[0], 2**50)


def test_topics_of_rows(broker: SimulatedBroker) -> None:
    sizes = {"t": 1, "three": 3, "five": 5}
    names = [list(sizes)[i % 3] for i in range(3_000)]
    keys = [b"k%d" % (i % 11) if i % 2 else None for i in range(3_000)]
    values = [b"%d" % i for i in range(3_000)]
    with open_producer(broker, None, batch_size="1000") as producer:
        for start in range(0, 3_000, 500):
            part = slice(start, start + 500)
            producer.produce(binary(*values[part]), binary(*keys[part]), topics=pa.array(names[part]))
        producer.flush()
        assert [producer.partition_count(name) for name in sizes] == [1, 3, 5]
        assert (producer.topic, producer.sent) == (None, 3_000)
    for name, count in sizes.items():
        partitions = [
            [record for _, records in batches(broker, name, partition) for record in records]
            for partition in range(count)
        ]
        expected = {value: key for topic, value, key in zip(names, values, keys, strict=True) if topic == name}
        assert {record.value: record.key for records in partitions for record in records} == expected
        assert sum(map(len, partitions)) == len(expected)
        for records in partitions:
            order = [int(record.value or b"") for record in records]
            assert order == sorted(order)
            assert None in {record.key for record in records}
        for key in set(keys) - {None}:
            assert sum(key in {record.key for record in records} for records in partitions) == 1


def test_rows_of_several_topics_with_given_partitions(broker: SimulatedBroker) -> None:
    with open_producer(broker, None) as producer:
        topics = pa.array(["five", "three", "five"])
        producer.produce(binary(b"a", b"b", b"c"), topics=topics, partitions=np.array([4, 2, 0], np.int32))
        with pytest.raises(DeliveryError, match=r"Table 'orders': topic 'three', row 4 of the task: .*partitioner"):
            producer.produce(binary(b"d", b"e"), topics=topics[:2], partitions=np.array([3, 3], np.int32))
        producer.flush()
    assert broker.values("five", 4) == [b"a"]
    assert broker.values("three", 2) == [b"b"]
    assert broker.values("five", 0) == [b"c"]


def test_a_missing_topic_of_a_row(broker: SimulatedBroker) -> None:
    with (
        open_producer(broker, None, socket_connection_setup_timeout_ms="1000") as producer,
        pytest.raises(TopicNotFoundError, match=r"Table 'orders': topic 'absent'"),
    ):
        producer.produce(binary(b"a", b"b"), topics=pa.array(["t", "absent"]))


def test_headers_count_for_the_size_of_a_record(broker: SimulatedBroker) -> None:
    headers = pa.array([[("n" * 1000, b"v" * 1000)]], HEADER_MAP)
    with open_producer(broker, max_request_size="5000", batch_size="1000") as producer:
        producer.produce(binary(b"a" * 3000), headers=headers)
        with pytest.raises(RecordTooLargeError, match="row 1 of the task"):
            producer.produce(binary(b"a" * 3001), headers=headers)
        producer.flush()
    ((_, (record,)),) = batches(broker, "t")
    assert (record.value, record.headers) == (b"a" * 3000, [("n" * 1000, b"v" * 1000)])


@pytest.mark.long
def test_ten_thousand_partitions() -> None:
    """Memory is bounded, and every row is written to the partition of its key, in order."""
    count, rows = 10_000, 30_000
    settings = {"buffer_memory": "16000000", "linger_ms": "60000"}
    with simulated_broker(many=count) as broker, open_producer(broker, "many", **settings) as producer:
        capacities = list[int]()
        for start in range(0, rows, 5_000):
            values = [b"%06d" % i + b" " * 400 for i in range(start, start + 5_000)]
            partitions = np.arange(start, start + 5_000, dtype=np.int32) * 7 % count
            producer.produce(binary(*values), partitions=partitions)
            capacities.append(producer._accumulator.capacity)
        assert max(capacities) <= 8_000_000
        producer.flush()
        assert producer._accumulator.capacity == 0
        for partition in range(count):
            first = partition * pow(7, -1, count) % count
            written = [int(record.value or b"") for _, rs in batches(broker, "many", partition) for record in rs]
            assert written == [first, first + count, first + 2 * count]
