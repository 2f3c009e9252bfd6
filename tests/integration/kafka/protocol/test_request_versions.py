"""Each request in each version that a real broker supports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

import google_crc32c
import pytest

from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.error_codes import ErrorCode, is_retriable
from kafka_sql.kafka.protocol import groups, produce, transactions
from kafka_sql.kafka.protocol.codec import ApiKey, pack
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.protocol.metadata import metadata, read_metadata
from kafka_sql.kafka.protocol.produce import ProduceResult
from tests.topics import Topics
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture
def connection(topics: Topics) -> Iterator[Connection]:
    with closing(ConnectionPool(to_librdkafka({"bootstrap.servers": topics.bootstrap}))) as pool:
        yield pool.any_connection()


def versions(connection: Connection, key: ApiKey, oldest: int, latest: int) -> Iterator[int]:
    """Restrict the connection to each version of an API that both support; yield the version."""
    first, last = connection.versions[key]
    supported = range(max(first, oldest), min(last, latest) + 1)
    assert len(supported) > 1
    for version in supported:
        connection.versions[key] = (version, version)
        yield version


def until_not_retriable(key: ApiKey, request: Callable[[], tuple[int, ...]]) -> tuple[int, ...]:
    """Repeat a request after retriable error codes; return its result."""
    results = list[tuple[int, ...]]()

    def attempt() -> bool:
        results.append(request())
        return not is_retriable(results[-1][0], key)

    wait_until(attempt, f"a final response to {key.title}")
    return results[-1]


def test_metadata(topics: Topics, connection: Connection) -> None:
    topic = topics.create(3)
    cluster = read_metadata(connection.ask(metadata([topic, "absent"])))
    (leader,) = cluster.brokers.values()
    assert cluster.topic(topic).leaders == [leader] * 3
    assert cluster.topic("absent").code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    for _ in versions(connection, ApiKey.METADATA, 4, 12):
        assert read_metadata(connection.ask(metadata([topic, "absent"]))) == cluster


def record_batch(value: bytes) -> bytes:
    """Return a batch with one record, without a producer."""
    record = bytes([0, 0, 0, 1, len(value) << 1]) + value + b"\0"  # no key
    body = pack("hiqqqhii", 0, 0, 0, 0, -1, -1, -1, 1) + bytes([len(record) << 1]) + record
    return pack("qiibI", 0, len(body) + 9, -1, 2, google_crc32c.value(body)) + body


def test_produce(topics: Topics, connection: Connection) -> None:
    first, second = topics.create(2), topics.create()
    expected = []
    for offset, version in enumerate(versions(connection, ApiKey.PRODUCE, 3, 11)):
        batches = {
            (t, p): record_batch(f"{t}-{p}-{version}".encode()) for t, p in ((first, 0), (first, 1), (second, 0))
        }
        sizes = [(topic, partition, len(batch)) for (topic, partition), batch in batches.items()]
        request, tails = produce.produce(connection, None, sizes, -1, 10_000)
        parts = [part for batch, tail in zip(batches.values(), tails, strict=True) for part in (batch, tail)]
        results = produce.read_produce(connection.receive(request, connection.send(request, parts)))
        assert results == dict.fromkeys(batches, ProduceResult(ErrorCode.NONE, offset))
        expected.append(f"{second}-0-{version}".encode())
    assert [message.value() for message in topics.consume(second, len(expected))] == expected


def test_rejected_records(topics: Topics, connection: Connection) -> None:
    """A compacted topic needs keys. From version 8 on, the broker names the record."""
    topic, batch = topics.create(**{"cleanup.policy": "compact"}), record_batch(b"v")
    for version in versions(connection, ApiKey.PRODUCE, 3, 11):
        request, tails = produce.produce(connection, None, [(topic, 0, len(batch))], -1, 10_000)
        response = connection.receive(request, connection.send(request, [batch, *tails]))
        result = produce.read_produce(response)[topic, 0]
        assert result.code == ErrorCode.INVALID_RECORD
        assert ("record 0 of the batch: " in result.message) == (version >= 8)


def test_groups(topics: Topics, connection: Connection) -> None:
    first, second = topics.create(2), topics.create()
    group, partitions = f"group-of-{first}", [(first, 0), (second, 0), (first, 1)]

    def find() -> tuple[int, ...]:
        return (transactions.find_coordinators(connection, [group], transactions.GROUP)[group][0],)

    assert until_not_retriable(ApiKey.FIND_COORDINATOR, find) == (ErrorCode.NONE,)

    def commit(offsets: dict[tuple[str, int], int]) -> tuple[int, ...]:
        codes = groups.read_offset_commit(connection.ask(groups.offset_commit(group, offsets)))
        assert codes.keys() == offsets.keys()
        return tuple(codes.values())

    for version in versions(connection, ApiKey.OFFSET_COMMIT, 2, 8):
        offsets = {(first, 0): version, (second, 0): 100 + version}
        assert until_not_retriable(ApiKey.OFFSET_COMMIT, partial(commit, offsets)) == (ErrorCode.NONE,) * 2
        code, committed = groups.read_offset_fetch(connection.ask(groups.offset_fetch(group, partitions)))
        assert code == ErrorCode.NONE
        assert committed == {key: (ErrorCode.NONE, offset) for key, offset in {**offsets, (first, 1): -1}.items()}
    for _ in versions(connection, ApiKey.OFFSET_FETCH, 2, 7):
        assert groups.read_offset_fetch(connection.ask(groups.offset_fetch(group, partitions)))[1] == committed
    described = [
        groups.read_describe_group(connection.ask(groups.describe_group(group)))
        for _ in versions(connection, ApiKey.DESCRIBE_GROUPS, 3, 5)
    ]
    assert len(set(described)) == 1
    code, operations = described[0]
    read, write, delete, describe = 3, 4, 6, 8  # as AclOperation numbers them
    assert [bool(operations >> operation & 1) for operation in (read, write, delete, describe)] == [
        True,
        False,
        True,
        True,
    ]
    assert code == ErrorCode.NONE


def test_transactions(topics: Topics, connection: Connection) -> None:
    topic, transactional_id = topics.create(2), "request-versions"
    found = list[tuple[int, ...]]()
    for _ in versions(connection, ApiKey.FIND_COORDINATOR, 1, 4):

        def find() -> tuple[int, ...]:
            coordinators = transactions.find_coordinators(connection, [transactional_id, "other"])
            assert coordinators.keys() == {transactional_id, "other"}
            code, (_, port) = coordinators[transactional_id]
            return code, port

        found.append(until_not_retriable(ApiKey.FIND_COORDINATOR, find))
    assert set(found) == {(ErrorCode.NONE, connection.address[1])}

    def begin() -> tuple[int, ...]:
        return transactions.read_init_producer_id(
            connection.ask(transactions.init_producer_id(transactional_id, 60_000))
        )

    producer = (0, -1, -1)
    for _ in versions(connection, ApiKey.INIT_PRODUCER_ID, 0, 4):
        epoch, producer = producer[2], until_not_retriable(ApiKey.INIT_PRODUCER_ID, begin)
        assert (producer[0], producer[2] > epoch) == (ErrorCode.NONE, True)

    def add() -> tuple[int, ...]:
        request = transactions.add_partitions_to_txn(transactional_id, *producer[1:], topic, [0, 1])
        codes = transactions.read_add_partitions_to_txn(connection.ask(request))
        assert codes.keys() == {0, 1}
        return (max(codes.values()),)

    for _ in versions(connection, ApiKey.ADD_PARTITIONS_TO_TXN, 0, 3):
        assert until_not_retriable(ApiKey.ADD_PARTITIONS_TO_TXN, add) == (ErrorCode.NONE,)

    def end() -> tuple[int, ...]:
        request = transactions.end_txn(transactional_id, *producer[1:], committed=True)
        return (transactions.read_end_txn(connection.ask(request)),)

    for _ in versions(connection, ApiKey.END_TXN, 0, 4):
        assert until_not_retriable(ApiKey.ADD_PARTITIONS_TO_TXN, add) == (ErrorCode.NONE,)
        assert until_not_retriable(ApiKey.END_TXN, end) == (ErrorCode.NONE,)


def test_list_transactions(topics: Topics, connection: Connection) -> None:
    for _ in versions(connection, ApiKey.LIST_TRANSACTIONS, 0, 1):
        response = connection.ask(transactions.list_ongoing_transactions())
        code, ids = transactions.read_list_transactions(response)
        assert code == ErrorCode.NONE
        assert isinstance(ids, list)
