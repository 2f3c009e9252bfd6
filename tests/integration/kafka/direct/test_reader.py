"""Reading without librdkafka: the same records as by librdkafka, which reads on where that ends."""

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
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """librdkafka is not there to read on."""

    def none(*_: object) -> None:
        raise AssertionError("librdkafka reads on")

    consumer._CACHE.close()
    monkeypatch.setattr(consumer._CACHE, "_make", none)
    yield
    reader._CACHE.close()


def columns(found: Iterator[Records]) -> list[tuple[object, ...]]:
    """All that was read, as rows."""
    rows: list[tuple[object, ...]] = []
    for records in found:
        assert records.keys is not None
        assert records.timestamps is not None
        assert records.timestamp_types is not None
        assert records.leader_epochs is not None
        arrays = (records.offsets, records.timestamps, records.timestamp_types, records.leader_epochs)
        payloads = (records.keys.to_pylist(), records.values.to_pylist())
        rows += zip(*(array.tolist() for array in arrays), *payloads, strict=True)
    return rows


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("codec", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("by", ["broker", "producer"])
def test_each_codec(topics: Topics, codec: str, by: str) -> None:
    """As Java compresses, in the broker, and as librdkafka does."""
    topic = topics.create(compression_type=codec) if by == "broker" else topics.create()
    mine = {} if by == "broker" or codec == "uncompressed" else {"compression.type": codec}
    producer = Producer({"bootstrap.servers": topics.bootstrap, "linger.ms": 50, "log_level": 0, **mine})
    rows = [(b"k%d" % (i % 7), b"value %d " % i * 20) for i in range(5_000)]
    for key, value in rows:
        producer.produce(topic, value, key, partition=0)
        producer.poll(0)
    assert producer.flush(60) == 0
    found = columns(read_records(topics.client(), Split(topic, 0, 0, 5_000), ALL))
    assert [(key, value) for *_, key, value in found] == rows


def test_the_same_as_librdkafka_reads(topics: Topics) -> None:
    """Ranges of a topic with transactions that were committed and aborted, side by side, and records outside of any."""
    topic, chance = topics.create(), random.Random(5)
    common = {"bootstrap.servers": topics.bootstrap, "log_level": 0}
    inside = [Producer({**common, "transactional.id": f"{topic}-{i}", "linger.ms": 0}) for i in range(2)]
    plain = Producer(common)
    for producer in inside:
        producer.init_transactions(30)
    for turn in range(12):
        for producer in inside:
            producer.begin_transaction()
        for i in range(chance.randint(5, 40)):
            chance.choice([*inside, plain]).produce(topic, b"%d.%d" % (turn, i), chance.choice([None, b"k"]), 0)
            if chance.random() < 0.3:
                for producer in (*inside, plain):
                    producer.flush(30)
        for producer in inside:
            producer.flush(30)
            producer.commit_transaction(30) if chance.random() < 0.5 else producer.abort_transaction(30)
    plain.flush(30)
    end = Cluster(topics.client()).latest([(topic, 0)])[topic, 0]
    aborted = set[int]()
    for isolation in ("read_uncommitted", "read_committed"):
        by_librdkafka = topics.client(isolation_level=isolation, client_rack="r")
        every = columns(read_records(by_librdkafka, Split(topic, 0, 0, end), ALL))
        aborted ^= {row[0] for row in every}
        for _ in range(40):
            start, stop = sorted(chance.sample(range(end + 1), 2))
            size = BatchSize(chance.randint(1, 50), chance.choice((10, 1_000_000)))
            found = columns(
                read_records(topics.client(isolation_level=isolation), Split(topic, 0, start, stop), ALL, size)
            )
            assert found == [row for row in every if start <= row[0] < stop]  # type: ignore[operator]
    assert len(aborted) > 20


def test_what_breaks_is_read_on_by_librdkafka() -> None:
    with cluster_behind_proxy(1) as (kafka, far, network):
        topics = Topics(kafka.bootstrap_servers)
        topic = topics.create()
        topics.put(topic, *(b"%d" % i + b" " * 1000 for i in range(20_000)))
        config = {**topics.client(), "bootstrap.servers": far}
        found: list[int] = []
        for records in read_records(config, Split(topic, 0, 0, 20_000), size=BatchSize(max_rows=3_000)):
            if not found:
                network.cut()
                network.restore()
            found += records.offsets.tolist()
        assert found == list(range(20_000))


def test_offsets_that_are_gone_are_an_error(topics: Topics) -> None:
    topic = topics.create()
    topics.put(topic, b"a", b"b", b"c")
    topics.admin.delete_records([TopicPartition(topic, 0, 2)])[TopicPartition(topic, 0)].result(30)
    with pytest.raises(
        DataLossError, match=rf"{topic}\[0\]@0: the record was deleted before it was read\. The first .* is 2"
    ):
        list(read_records(topics.client(), Split(topic, 0, 0, 3)))
