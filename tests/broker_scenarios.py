"""Read, write and run transactions on any broker, and assert exact rows. Which client is used is part of the result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Producer as RdkafkaProducer

from kafka_sql.checks.table import check_table
from kafka_sql.definition import Definition, validate_table
from kafka_sql.kafka import fetch
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.admin.topics import TopicSettings, ensure_topics
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.fetch import fetch as fetch_request
from kafka_sql.kafka.protocol.fetch import read_fetch
from kafka_sql.kafka.split import Split
from kafka_sql.sink.row_writer import can_use_direct, table_producer, table_transaction
from kafka_sql.table.table import Column, Table
from tests.kills.simulated_query import ROWS, sink_table
from tests.topics import Topics
from tests.transaction_writers import DriverDied, WriterHarness, rows
from tests.waiting import wait_until

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")  # in the order of their numbers
DIRECT: Final = "direct"
RDKAFKA: Final = "librdkafka"

Pairs = list[tuple[int, bytes]]


def records(count: int) -> list[bytes]:
    """Return payloads that compress well, so that a codec cannot store them uncompressed."""
    return [b"%d " % i + b"x" * (i % 200) for i in range(count)]


def numbered(values: list[bytes], first_offset: int = 0) -> Pairs:
    return list(enumerate(values, first_offset))


def check_read(config: dict[str, str], split: Split, expected: Pairs, client: str) -> None:
    """Read a split, and compare offsets and values, and the client that read the end of it."""
    found, used = read(config, split)
    assert found == expected, f"{split} on {config['bootstrap.servers']}: {found[:20]} instead of {expected[:20]}"
    assert used == client, f"{split} on {config['bootstrap.servers']}: read by {used}"


def read(config: dict[str, str], split: Split) -> tuple[Pairs, str]:
    """Read a split. Return offsets and values, and the client that read the end of it."""
    client = DIRECT
    with pytest.MonkeyPatch.context() as patched:
        read_to_end = fetch.read_to_end

        def continue_with_librdkafka(*arguments: object) -> object:
            nonlocal client
            client = RDKAFKA
            return read_to_end(*arguments)  # type: ignore[arg-type]

        patched.setattr(fetch, "read_to_end", continue_with_librdkafka)
        pairs = [
            pair
            for batch in fetch.read_records(config, split)
            for pair in zip(batch.offsets.tolist(), batch.values.to_pylist(), strict=True)
        ]
    return pairs, client


def check_compressed_reads(topics: Topics, codec: str, client: str) -> None:
    """Read records that a producer compressed."""
    topic, values = topics.create(), records(1_000)
    producer = RdkafkaProducer(
        {"bootstrap.servers": topics.bootstrap, "compression.type": codec, "linger.ms": 200, "log_level": 0}
    )
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(30) == 0
    check_read(topics.client(), Split(topic, 0, 0, 1_000), numbered(values), client)
    check_read(topics.client(), Split(topic, 0, 400, 410), numbered(values[400:410], 400), client)


def check_reads_of_a_topic_with_codec(topics: Topics, codec: str, client: str) -> None:
    """Read records that the broker compressed."""
    topic = topics.create(compression_type=codec)
    values = records(50)
    topics.produce(topic, *values)
    check_read(topics.client(), Split(topic, 0, 0, 50), numbered(values), client)


def check_committed_reads(topics: Topics, client: str, writers: str = "") -> None:
    """Read a partition with committed, aborted and other records.

    Args:
        writers: the servers to which the records are written; by default those that are read.
    """
    topic, servers = topics.create(), writers or topics.bootstrap
    committed = topics.client(isolation_level="read_committed")
    cluster = Cluster(committed)
    for number, commit in enumerate((True, False, True)):  # each writes two records and a marker
        producer = RdkafkaProducer(
            {"bootstrap.servers": servers, "transactional.id": f"{topic}-{number}", "log_level": 0}
        )
        producer.init_transactions(30)
        producer.begin_transaction()
        for value in (b"%d a" % number, b"%d b" % number):
            producer.produce(topic, value, partition=0)
        producer.flush(30)
        producer.commit_transaction(30) if commit else producer.abort_transaction(30)
        # a broker responds to the end of a transaction before it has written the marker
        end = {(topic, 0): 3 * number + 3}
        wait_until(lambda: cluster.latest([(topic, 0)]) == end, "the marker")  # noqa: B023
    topics.produce(topic, b"other")
    expected = [(0, b"0 a"), (1, b"0 b"), (6, b"2 a"), (7, b"2 b"), (9, b"other")]
    check_read(committed, Split(topic, 0, 0, 10), expected, client)
    everything = sorted([*expected, (3, b"1 a"), (4, b"1 b")])
    check_read(topics.client(), Split(topic, 0, 0, 10), everything, client)


def table(topics: Topics, topic: str, **properties: str) -> Definition:
    """Return a table of raw values."""
    options = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": topics.bootstrap,
        "format": "raw",
        **{f"properties.{key.replace('_', '.')}": value for key, value in properties.items()},
    }
    return validate_table(Table(("t",), (Column("v", "BYTES", "BINARY"),), options))


def check_writes(topics: Topics, client: str) -> None:
    """Write with a client, without compression."""
    topic = topics.create(2)
    definition = table(topics, topic, batch_size="20000")
    assert can_use_direct(definition) == (client == DIRECT), f"not written by {client}"
    write_rows(topics, definition, topic)
    assert stored_codecs(topics, topic) == {0}


def check_compressed_writes(topics: Topics, codec: str) -> None:
    """Write with a codec, by whichever client."""
    topic = topics.create(2)
    write_rows(topics, table(topics, topic, batch_size="20000", compression_type=codec), topic)
    assert stored_codecs(topics, topic) == {CODECS.index(codec)}, f"not compressed with {codec}"


def write_rows(topics: Topics, definition: Definition, topic: str, count: int = 20_000) -> None:
    """Write many batches to two partitions: each row arrives once, and in order within its partition."""
    values = records(count)
    keys = [b"%d" % (i % 7) for i in range(count)]
    with table_producer(definition) as producer:
        for start in range(0, count, 1_000):
            part = slice(start, start + 1_000)
            producer.produce(pa.array(values[part], pa.binary()), pa.array(keys[part], pa.binary()))
        producer.flush()
    written: dict[int, list[bytes]] = {0: [], 1: []}
    for message in topics.consume(topic, count, 2):
        written[message.partition() or 0].append(message.value() or b"")
    assert all(written.values()), f"{topic}: all rows in one partition"
    assert sorted(written[0] + written[1]) == sorted(values), f"{topic}: other rows"
    numbers = [[int(value.split()[0]) for value in part] for part in written.values()]
    assert all(part == sorted(part) for part in numbers), f"{topic}: rows in another order"


def stored_codecs(topics: Topics, topic: str) -> set[int]:
    """Return the codecs of the first batches in partition 0, as bits 0 to 2 of their attributes (KIP-98)."""
    host, _, port = topics.bootstrap.partition(":")
    connection = Connection((host, int(port)), topics.client())
    request = fetch_request(topic, 0, 0, 1_000_000, wait_ms=0, committed=False)
    batches = bytes(read_fetch(connection.ask(request), 0).records)
    connection.close()
    codecs, at = set[int](), 0
    while at + 23 <= len(batches):
        codecs.add(batches[at + 22] & 7)
        at += 12 + int.from_bytes(batches[at + 8 : at + 12], "big")
    return codecs


def check_exactly_once(topics: Topics, folder: Path) -> None:
    """Commit two batches, crash before a decision, abort what was prepared, write it again, and lose an attempt."""
    with harness(topics, folder) as sink:
        driver = sink.driver()
        for batch in range(2):
            driver.run_batch(tasks=2)
            assert sink.numbers((batch + 1) * ROWS) == rows(batch + 1)
        with pytest.raises(DriverDied):
            driver.run_batch(_die_when_prepared, tasks=3)
        assert len(sink.open()) == 3
        assert sink.numbers(2 * ROWS) == rows(2)  # rows of open transactions are invisible
        sink.driver().run_batch(tasks=2)
        assert sink.numbers(3 * ROWS) == rows(3)
        assert sink.open() == []


def check_transactions_in_new_topics(topics: Topics, count: int) -> None:
    """Write to each partition of topics whose leaders may not know yet that they lead them."""
    partitions = 20
    values = pa.array([b"%d" % i for i in range(partitions)], pa.binary())
    for _ in range(count):
        topic = topics.create(partitions)
        definition = sink_table(topics.bootstrap, topic, topic)
        config = {**definition.client_config, "transaction.timeout.ms": "60000"}
        with table_transaction(definition, config, topic) as producer:
            producer.produce(values, partitions=np.arange(partitions, dtype=np.int32))
            producer.flush()
        written = topics.consume(topic, partitions, partitions, **{"isolation.level": "read_uncommitted"})
        assert [message.value() for message in written] == values.to_pylist()


def fail_transactions(topics: Topics, attempts: int) -> str:
    """Fail tasks while batches of their transactions are under way. Return the topic, which has three partitions."""
    topic = topics.create(3)
    definition = sink_table(topics.bootstrap, topic, "failed")
    config = {**definition.client_config, "transaction.timeout.ms": "600000", "batch.size": "2000"}
    values = pa.array([b"%d" % i + b"x" * 100 for i in range(2_000)], pa.binary())
    keys = pa.array([b"%d" % i for i in range(2_000)], pa.binary())

    def fail(transactional_id: str) -> None:
        with table_transaction(definition, config, transactional_id) as producer:
            producer.produce(values, keys)
            raise ZeroDivisionError

    for attempt in range(attempts):
        with pytest.raises(ZeroDivisionError):
            fail(f"{topic}-{attempt}")
    return topic


def check_all_aborted(topics: Topics, topic: str) -> None:
    """Check that no transaction of ``fail_transactions`` is committed, or open, which blocks readers."""
    partitions = [(topic, p) for p in range(3)]
    committed = Cluster(topics.client(isolation_level="read_committed"))
    wait_until(lambda: committed.latest(partitions) == committed.high_watermarks(partitions), "no open transaction", 30)
    topics.consume(topic, 0, 3, **{"isolation.level": "read_committed"})


def check_offsets(topics: Topics) -> None:
    """Look up the first, the last and timestamps' offsets, and those of a group."""
    topic = topics.create(2)
    times = [1_700_000_000_000 + 1_000 * i for i in range(5)]
    for time in times:
        topics.produce(topic, b"v", timestamp=time)
    cluster = Cluster(topics.client(isolation_level="read_committed"))
    partitions = [(topic, 0), (topic, 1)]
    assert cluster.earliest(partitions) == {(topic, 0): 0, (topic, 1): 0}
    assert cluster.latest(partitions) == {(topic, 0): 5, (topic, 1): 0}
    assert cluster.offsets_for_times(dict.fromkeys(partitions, times[2] - 1)) == {(topic, 0): 2}
    assert cluster.committed(f"group of {topic}", partitions) == {}
    cluster.commit(f"group of {topic}", {(topic, 0): 3}).result(30)
    assert cluster.committed(f"group of {topic}", partitions) == {(topic, 0): 3}


def check_topic_creation(topics: Topics) -> None:
    """Create a topic with settings."""
    cluster, name = Cluster(topics.client()), f"created-{topics.create()}"
    settings = TopicSettings(3, 1, {"retention.ms": "1000000"})
    assert ensure_topics(cluster, (name,), settings, "t", {"cleanup.policy": "compact"}) == [name]
    assert ensure_topics(cluster, (name,), settings, "t", {}) == []
    assert cluster.partitions([name]) == [(name, p) for p in range(3)]


def check_topic_creation_with_defaults(topics: Topics) -> None:
    """Create a topic with the broker's number of partitions and replicas, which needs CreateTopics 4 (KIP-464)."""
    name = f"created-{topics.create()}"
    cluster, defaults = Cluster(topics.client()), TopicSettings(None, None, {})
    assert ensure_topics(cluster, (name,), defaults, "t", {}) == [name]
    assert cluster.partitions([name]) == [(name, 0)]


def failed_checks(topics: Topics, *, exactly_once: bool = False) -> dict[str, str]:
    """Return the messages of the checks of ``kafka-sql check`` that fail, by subject."""
    topic = topics.create()
    definition = sink_table(topics.bootstrap, topic, "checked") if exactly_once else table(topics, topic)
    schema = pa.schema([("a", pa.int64()), ("k", pa.int64())] if exactly_once else [("v", pa.binary())])
    return {finding.subject: finding.message for finding in check_table(definition, schema) if finding.ok is False}


@contextmanager
def harness(topics: Topics, folder: Path) -> Iterator[WriterHarness]:
    """Create a query with a new topic, for a ``with`` block."""
    sink = WriterHarness(topics, folder)
    try:
        yield sink
    finally:
        sink.close()


def _die_when_prepared(point: str) -> None:
    if point == "prepared":
        raise DriverDied
