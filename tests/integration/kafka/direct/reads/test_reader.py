"""Test that the direct reader returns the same records as librdkafka, and handles failures without it."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer, TopicPartition

from kafka_sql.errors import DataLossError, FetchError, TopicNotFoundError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.direct.reads import reader
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.fetch_errors import raise_data_loss
from kafka_sql.kafka.librdkafka import consumer
from kafka_sql.kafka.librdkafka.consumer import read_to_end
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.records import DEFAULT_SIZE, BatchSize, RecordFields, Records
from kafka_sql.kafka.split import Split
from tests.chaos.clusters import cluster_behind_proxy
from tests.topics import Topics

pytestmark = pytest.mark.integration
ALL = RecordFields(keys=True, timestamps=True, headers=True, leader_epochs=True)


def forbid_librdkafka(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, fail if a read falls back to librdkafka."""

    def fail(*_: object) -> None:
        raise AssertionError("librdkafka was used")

    consumer._CACHE.close()
    monkeypatch.setattr(consumer._CACHE, "_create", fail)


@pytest.fixture
def without_librdkafka(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail if a read falls back to librdkafka."""
    forbid_librdkafka(monkeypatch)
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
        assert records.headers is not None
        arrays = (records.offsets, records.timestamps, records.timestamp_types, records.leader_epochs)
        payloads = (records.headers.to_pylist(), records.keys.to_pylist(), records.values.to_pylist())
        rows += zip(*(array.tolist() for array in arrays), *payloads, strict=True)
    return rows


@pytest.mark.sample(5)
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


def rows_of_librdkafka(config: dict[str, str], split: Split) -> list[tuple[object, ...]]:
    """Return the records of a split as librdkafka reads them."""
    return to_rows(read_to_end(config, split, ALL, DEFAULT_SIZE, raise_data_loss))


@pytest.mark.sample(3)
@pytest.mark.usefixtures("without_librdkafka")
@pytest.mark.parametrize("version", range(4, 13))
def test_each_version_of_fetch(topics: Topics, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read deleted records, records, and up to an end that does not exist yet. Also covers versions of ListOffsets."""
    choose_version = Connection.choose_version
    limits = {ApiKey.FETCH: version, ApiKey.LIST_OFFSETS: min(version - 2, 6)}
    chosen = set[tuple[ApiKey, int]]()

    def choose(connection: Connection, api: ApiKey, oldest: int, latest: int) -> int:
        chosen.add((api, choose_version(connection, api, oldest, min(latest, limits.get(api, latest)))))
        return choose_version(connection, api, oldest, min(latest, limits.get(api, latest)))

    monkeypatch.setattr(Connection, "choose_version", choose)
    topic = topics.create()
    topics.produce(topic, *(b"%d" % i for i in range(10)), key=b"k", headers=[("h", b"1")])
    topics.admin.delete_records([TopicPartition(topic, 0, 4)])[TopicPartition(topic, 0)].result(30)
    timer = threading.Timer(0.5, topics.produce, (topic, b"10"))
    timer.start()
    lost = list[tuple[int, int]]()
    config = topics.client(isolation_level="read_committed", client_rack="a")
    split = Split(topic, 0, 2, 11, end_may_not_exist=True)
    parts = read_records(config, split, ALL, on_data_loss=lambda _, offset, first: lost.append((offset, first)))
    header = [{"key": "h", "value": b"1"}]
    assert [(offset, *payload) for offset, _, _, _, *payload in to_rows(parts)] == [
        *((offset, header, b"k", b"%d" % offset) for offset in range(4, 10)),
        (10, [], None, b"10"),
    ]
    assert lost == [(2, 4)]
    assert chosen >= limits.items()
    timer.join()


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_headers(topics: Topics, codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topic, rng = topics.create(), random.Random(3)
    producer = Producer({"bootstrap.servers": topics.bootstrap, "linger.ms": 50, "compression.type": codec})
    for i in range(3_000):
        names = [rng.choice(["", "trace", "Gr\u00fc\u00dfe", "x" * 200]) for _ in range(rng.randrange(4))]
        headers = [(name, rng.choice([None, b"", b"\xff\x00", b"%d" % i * 50])) for name in names]
        producer.produce(topic, rng.choice([None, b"", b"%d" % i]), rng.choice([None, b"k"]), 0, headers=headers)
        producer.poll(0)
    assert producer.flush(60) == 0
    expected = rows_of_librdkafka(topics.client(), Split(topic, 0, 0, 3_000))
    assert len({str(row[4]) for row in expected}) > 1_000
    forbid_librdkafka(monkeypatch)
    for start, stop, size in ((0, 3_000, DEFAULT_SIZE), (17, 2_999, BatchSize(7, 1 << 20))):
        assert to_rows(read_records(topics.client(), Split(topic, 0, start, stop), ALL, size)) == expected[start:stop]


def test_same_records_as_librdkafka(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
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
    clients = [topics.client(isolation_level=level) for level in ("read_uncommitted", "read_committed")]
    all_rows, committed_rows = (rows_of_librdkafka(config, Split(topic, 0, 0, end)) for config in clients)
    assert len(all_rows) - len(committed_rows) > 20
    forbid_librdkafka(monkeypatch)
    for config, expected in zip(clients, (all_rows, committed_rows), strict=True):
        for _ in range(40):
            start, stop = sorted(rng.sample(range(end + 1), 2))
            size = BatchSize(rng.randint(1, 50), rng.choice((10, 1_000_000)))
            found = to_rows(read_records(config, Split(topic, 0, start, stop), ALL, size))
            assert found == [row for row in expected if start <= row[0] < stop]  # type: ignore[operator]


@pytest.mark.long
@pytest.mark.usefixtures("without_librdkafka")
def test_reading_resumes_after_connection_failures() -> None:
    with cluster_behind_proxy(1) as (kafka, proxy_servers, network):
        topics = Topics(kafka.bootstrap_servers)
        topic = topics.create()
        topics.produce(topic, *(b"%d" % i + b" " * 1000 for i in range(20_000)))
        config = {**topics.client(), "bootstrap.servers": proxy_servers}
        found, timers = list[int](), list[threading.Timer]()
        for records in read_records(config, Split(topic, 0, 0, 20_000), size=BatchSize(max_rows=3_000)):
            network.cut()
            timers.append(threading.Timer(0.5, network.restore))
            timers[-1].start()
            found += records.offsets.tolist()
        for timer in timers:
            timer.join()
        assert found == list(range(20_000))


@pytest.mark.long
@pytest.mark.usefixtures("without_librdkafka")
def test_an_unreachable_broker_is_an_error_after_the_timeout() -> None:
    with cluster_behind_proxy(1) as (kafka, proxy_servers, network):
        topics = Topics(kafka.bootstrap_servers)
        topic = topics.create()
        topics.produce(topic, *(b"%d" % i + b" " * 1000 for i in range(10_000)))
        config = {**topics.client(default_api_timeout_ms="2000"), "bootstrap.servers": proxy_servers}
        parts = read_records(config, Split(topic, 0, 0, 10_000), size=BatchSize(max_rows=1_000))
        read = next(parts).offsets.tolist()
        network.cut()
        started = time.monotonic()
        with pytest.raises(FetchError, match=rf"{topic}\[0\]@\d+: no records arrived for 2 s, .* at offset 10000"):
            read.extend(offset for records in parts for offset in records.offsets.tolist())
        assert 2 <= time.monotonic() - started < 20
        assert read == list(range(len(read)))
        network.restore()
        found = [offset for records in read_records(config, Split(topic, 0, 0, 10_000)) for offset in records.offsets]
        assert found == list(range(10_000))


@pytest.mark.usefixtures("without_librdkafka")
def test_an_end_that_does_not_exist_yet(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"0", b"1")

    def write() -> None:
        for value in range(2, 8):
            time.sleep(0.3)
            topics.produce(topic, b"%d" % value)

    writer = threading.Thread(target=write)
    writer.start()
    config = topics.client(default_api_timeout_ms="200")  # shorter than the time between two records
    found = list(read_records(config, Split(topic, 0, 1, 7, end_may_not_exist=True)))
    writer.join()
    assert [value for records in found for value in records.values.to_pylist()] == [b"%d" % i for i in range(1, 7)]


@pytest.mark.usefixtures("without_librdkafka")
def test_the_end_is_after_an_open_transaction(topics: Topics) -> None:
    topic = topics.create()
    producer = Producer({"bootstrap.servers": topics.bootstrap, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"a", partition=0)
    producer.flush(30)
    threading.Timer(1, producer.commit_transaction, (30,)).start()
    config = topics.client(isolation_level="read_committed", default_api_timeout_ms="500")
    found = list(read_records(config, Split(topic, 0, 0, 2, end_may_not_exist=True)))  # 1 is the marker
    assert [records.values.to_pylist() for records in found] == [[b"a"]]


@pytest.mark.usefixtures("without_librdkafka")
def test_deleted_records(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"a", b"b", b"c")
    topics.admin.delete_records([TopicPartition(topic, 0, 2)])[TopicPartition(topic, 0)].result(30)
    with pytest.raises(
        DataLossError, match=rf"{topic}\[0\]@0: the record was deleted before it was read\. The first .* is 2"
    ):
        list(read_records(topics.client(), Split(topic, 0, 0, 3)))
    lost = list[tuple[int, int]]()
    found = read_records(
        topics.client(), Split(topic, 0, 0, 3), on_data_loss=lambda _, offset, first: lost.append((offset, first))
    )
    assert [records.values.to_pylist() for records in found] == [[b"c"]]
    assert lost == [(0, 2)]


@pytest.mark.long  # brokers may not know a topic for some seconds
@pytest.mark.usefixtures("without_librdkafka")
def test_a_topic_is_deleted_during_a_read(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"a", b"b")
    records = read_records(topics.client(), Split(topic, 0, 0, 2), size=BatchSize(max_rows=1))
    assert next(records).offsets.tolist() == [0]
    topics.delete(topic)
    with pytest.raises(TopicNotFoundError, match=rf"{topic}\[0\]@1: the topic no longer exists"):
        list(read_records(topics.client(), Split(topic, 0, 1, 2)))


@pytest.mark.usefixtures("without_librdkafka")
def test_records_are_deleted_during_a_read(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, *(b"%d" % i + b" " * 1000 for i in range(10_000)))
    lost, found = list[tuple[int, int]](), list[int]()
    parts = read_records(
        topics.client(),
        Split(topic, 0, 0, 10_000),
        size=BatchSize(max_rows=100, max_bytes=100_000),
        on_data_loss=lambda _, offset, first: lost.append((offset, first)),
    )
    for records in parts:
        if not found:
            topics.admin.delete_records([TopicPartition(topic, 0, 9_000)])[TopicPartition(topic, 0)].result(30)
        found += records.offsets.tolist()
    ((offset, first),) = lost
    assert first == 9_000
    assert found == [*range(offset), *range(9_000, 10_000)]
