"""The columnar reader returns the same records as librdkafka, which continues where the columnar reader ends."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer, TopicPartition

from kafka_sql.errors import DataLossError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.direct import reader
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.librdkafka import consumer
from kafka_sql.kafka.records import BatchSize, RecordFields, Records
from kafka_sql.kafka.types import Split
from tests.chaos.clusters import cluster_behind_proxy
from tests.topics import Topics

pytestmark = pytest.mark.integration
ALL = RecordFields(keys=True, timestamps=True, leader_epochs=True)


@pytest.fixture
def without_librdkafka(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail if librdkafka has to continue."""

    def fail(*_: object) -> None:
        raise AssertionError("librdkafka was used")

    consumer._CACHE.close()
    monkeypatch.setattr(consumer._CACHE, "_create", fail)
    yield
    reader._CACHE.close()


def to_rows(batches: Iterator[Records]) -> list[tuple[object, ...]]:
    """Return the records as rows."""
    rows: list[tuple[object, ...]] = []
    for records in batches:
        assert records.keys is not None
        assert records.timestamps is not None
        assert records.timestamp_types is not None
        assert records.leader_epochs is not None
        arrays = (records.offsets, records.timestamps, records.timestamp_types, records.leader_epochs)
        payloads = (records.keys.to_pylist(), records.values.to_pylist())
        rows += zip(*(array.tolist() for array in arrays), *payloads, strict=True)
    return rows


@pytest.mark.usefixtures("without_librdkafka")
@pytest.mark.parametrize("codec", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("compressed_by", ["broker", "producer"])
def test_each_codec(topics: Topics, codec: str, compressed_by: str) -> None:
    """Batches compressed by Java in the broker, and by librdkafka."""
    topic = topics.create(compression_type=codec) if compressed_by == "broker" else topics.create()
    settings = {} if compressed_by == "broker" or codec == "uncompressed" else {"compression.type": codec}
    producer = Producer({"bootstrap.servers": topics.bootstrap, "linger.ms": 50, "log_level": 0, **settings})
    rows = [(b"k%d" % (i % 7), b"value %d " % i * 20) for i in range(5_000)]
    for key, value in rows:
        producer.produce(topic, value, key, partition=0)
        producer.poll(0)
    assert producer.flush(60) == 0
    found = to_rows(read_records(topics.client(), Split(topic, 0, 0, 5_000), ALL))
    assert [(key, value) for *_, key, value in found] == rows


def test_same_records_as_librdkafka(topics: Topics) -> None:
    """Ranges of a topic with concurrent committed and aborted transactions, and non-transactional records."""
    topic, rng = topics.create(), random.Random(5)
    common = {"bootstrap.servers": topics.bootstrap, "log_level": 0}
    transactional = [Producer({**common, "transactional.id": f"{topic}-{i}", "linger.ms": 0}) for i in range(2)]
    non_transactional = Producer(common)
    for producer in transactional:
        producer.init_transactions(30)
    for turn in range(12):
        for producer in transactional:
            producer.begin_transaction()
        for i in range(rng.randint(5, 40)):
            rng.choice([*transactional, non_transactional]).produce(
                topic, b"%d.%d" % (turn, i), rng.choice([None, b"k"]), 0
            )
            if rng.random() < 0.3:
                for producer in (*transactional, non_transactional):
                    producer.flush(30)
        for producer in transactional:
            producer.flush(30)
            producer.commit_transaction(30) if rng.random() < 0.5 else producer.abort_transaction(30)
    non_transactional.flush(30)
    end = Cluster(topics.client()).latest([(topic, 0)])[topic, 0]
    aborted = set[int]()
    for isolation in ("read_uncommitted", "read_committed"):
        by_librdkafka = topics.client(isolation_level=isolation, client_rack="r")
        expected = to_rows(read_records(by_librdkafka, Split(topic, 0, 0, end), ALL))
        aborted ^= {row[0] for row in expected}
        for _ in range(40):
            start, stop = sorted(rng.sample(range(end + 1), 2))
            size = BatchSize(rng.randint(1, 50), rng.choice((10, 1_000_000)))
            found = to_rows(
                read_records(topics.client(isolation_level=isolation), Split(topic, 0, start, stop), ALL, size)
            )
            assert found == [row for row in expected if start <= row[0] < stop]  # type: ignore[operator]
    assert len(aborted) > 20


def test_librdkafka_continues_after_a_connection_failure() -> None:
    with cluster_behind_proxy(1) as (kafka, far, network):
        topics = Topics(kafka.bootstrap_servers)
        topic = topics.create()
        topics.produce(topic, *(b"%d" % i + b" " * 1000 for i in range(20_000)))
        config = {**topics.client(), "bootstrap.servers": far}
        found: list[int] = []
        for records in read_records(config, Split(topic, 0, 0, 20_000), size=BatchSize(max_rows=3_000)):
            if not found:
                network.cut()
                network.restore()
            found += records.offsets.tolist()
        assert found == list(range(20_000))


def test_deleted_offset_is_an_error(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"a", b"b", b"c")
    topics.admin.delete_records([TopicPartition(topic, 0, 2)])[TopicPartition(topic, 0)].result(30)
    with pytest.raises(
        DataLossError, match=rf"{topic}\[0\]@0: the record was deleted before it was read\. The first .* is 2"
    ):
        list(read_records(topics.client(), Split(topic, 0, 0, 3)))
