"""What the direct producer writes with each codec, with headers, timestamps and topics: librdkafka and Java read it."""

from __future__ import annotations

import json
import time
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.direct.compression import CODECS
from kafka_sql.kafka.direct.writes.producer import cached_direct_producer
from tests.integration.kafka.test_java_client import read_by_java
from tests.topics import Topics

pytestmark = pytest.mark.integration

RANDOM = Random(7)
COUNT = 300
VALUES = [
    None
    if i % 97 == 0
    else RANDOM.randbytes(900)
    if i % 3 == 0
    else json.dumps({"id": i, "text": "x" * 5 * i}).encode()
    for i in range(COUNT)
]
KEYS = [None if i % 5 == 0 else b"" if i % 7 == 0 else b"k%d" % i for i in range(COUNT)]
TIMESTAMPS = [0 if i == 3 else 1_700_000_000_000 + RANDOM.randrange(-(10**10), 10**10) for i in range(COUNT)]
HEADERS: list[Any] = [None if i % 2 else [("n", b"%d" % i), ("n", None), ("ü", b"")][: i % 4] for i in range(COUNT)]
ROWS = [(v, k, t, h or []) for v, k, t, h in zip(VALUES, KEYS, TIMESTAMPS, HEADERS, strict=True)]


def binary(values: list[Any]) -> pa.BinaryArray:
    return pa.array(values, pa.binary())


def config(topics: Topics, **properties: str) -> dict[str, str]:
    named = {key.replace("_", "."): value for key, value in properties.items()}
    return to_librdkafka({"bootstrap.servers": topics.bootstrap, **named})


@pytest.mark.long
@pytest.mark.timeout(180)
def test_every_codec_is_read_by_librdkafka_and_java(topics: Topics) -> None:
    """The batches have several LZ4 blocks; partition 0 is not compressed."""
    topic = topics.create(len(CODECS))
    for partition, codec in enumerate(CODECS):
        with cached_direct_producer(config(topics, compression_type=codec or "none"), topic) as producer:
            producer.produce(
                binary(VALUES),
                binary(KEYS),
                np.array(TIMESTAMPS),
                pa.array(HEADERS, pa.map_(pa.string(), pa.binary())),
                partitions=np.full(COUNT, partition, np.int32),
            )
            producer.flush()
            assert producer.sent == COUNT  # errors: the leader of a new partition may not have started yet
    by_librdkafka: dict[Any, list[Any]] = {partition: [] for partition in range(len(CODECS))}
    by_java: dict[Any, list[Any]] = {partition: [] for partition in range(len(CODECS))}
    for message in topics.consume(topic, COUNT * len(CODECS), len(CODECS)):
        row = message.value(), message.key(), message.timestamp()[1], message.headers() or []
        by_librdkafka[message.partition()].append(row)
    for record in read_by_java(topics, topic, len(CODECS)):
        by_java[record.partition].append((record.value, record.key, record.timestamp, record.headers))
    for partition in range(len(CODECS)):
        assert by_librdkafka[partition] == ROWS
        assert by_java[partition] == ROWS


def test_rows_without_a_timestamp_have_the_time_of_the_call(topics: Topics) -> None:
    topic, calls = topics.create(), list[tuple[int, int]]()
    with cached_direct_producer(config(topics, linger_ms="60000"), topic) as producer:
        for _ in range(3):
            began = int(time.time() * 1000)
            producer.produce(binary([b"a", b"b"]), timestamps=np.array([-1, 5]))
            producer.produce(binary([b"c"]))
            calls.append((began, int(time.time() * 1000)))
            time.sleep(0.01)
        producer.flush()
    found = [message.timestamp()[1] for message in topics.consume(topic, 9)]
    assert found[1::3] == [5, 5, 5]
    for i, (began, ended) in enumerate(calls):
        assert began <= found[3 * i] <= found[3 * i + 2] <= ended


def test_topics_of_rows(topics: Topics) -> None:
    names = [topics.create(partitions) for partitions in (1, 3, 5)]
    rows = [(names[i % 3], b"%d" % i, None if i % 2 else b"k%d" % (i % 11)) for i in range(9_000)]
    # only full batches are sent, and each one changes the sticky partition
    settings = config(topics, batch_size="1000", linger_ms="10000", compression_type="lz4")
    with cached_direct_producer(settings, None) as producer:
        assert producer.topic is None
        for start in range(0, len(rows), 1_000):
            row_topics, values, keys = zip(*rows[start : start + 1_000], strict=True)
            producer.produce(binary(list(values)), binary(list(keys)), topics=pa.array(row_topics))
        producer.flush()
        assert producer.sent == 9_000
    for name, partitions in zip(names, (1, 3, 5), strict=True):
        found = topics.consume(name, 3_000, partitions)
        expected = sorted((value, key) for topic, value, key in rows if topic == name)
        assert sorted((message.value(), message.key()) for message in found) == expected
        for partition in range(partitions):
            order = [int(message.value() or b"") for message in found if message.partition() == partition]
            assert order == sorted(order)
            assert order
        by_key: dict[Any, set[Any]] = {}
        for message in found:
            by_key.setdefault(message.key(), set()).add(message.partition())
        assert all(len(chosen) == 1 for key, chosen in by_key.items() if key is not None)
        assert len(by_key[None]) == partitions
