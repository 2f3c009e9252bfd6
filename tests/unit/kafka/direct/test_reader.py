"""The direct reader and a simulated broker: which records it reads, and where it leaves the rest to librdkafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_sql.kafka.direct.batch import ProducerIdAndEpoch, small_batch
from kafka_sql.kafka.direct.reader import _CACHE, read_columnar
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.codec import ApiKey, pack
from kafka_sql.kafka.records import VALUES_ONLY, RecordFields
from kafka_sql.kafka.types import Split
from tests.unit.kafka.direct.simulated_broker import LOST, SimulatedBroker, simulated_broker


@pytest.fixture
def broker() -> Iterator[SimulatedBroker]:
    with simulated_broker(t=2) as running:
        for value in range(0, 100, 2):  # batches of two records
            append(running, b"%d" % value, b"%d" % (value + 1))
        yield running
    _CACHE.close()


def append(broker: SimulatedBroker, *values: bytes, transactional_id: str | None = None) -> None:
    by_key = {f"k{value.decode()}": value for value in values}
    batch = small_batch(0, by_key, ProducerIdAndEpoch(7, 0, transactional_id), 0)
    log = broker.logs["t", 0]
    log.append(pack("q", broker.end_offset(("t", 0))) + (batch.head + batch.body)[8:])


def read(
    broker: SimulatedBroker,
    split: Split,
    fields: RecordFields = VALUES_ONLY,
    max_rows: int = 1_000,
    max_bytes: int = 1 << 20,
    **properties: str,
) -> tuple[list[list[int]], int]:
    """Return the values of each batch of records, and the offset of the first one that was not read."""
    parts = read_columnar(broker.config(**properties), split, fields, max_rows, max_bytes)
    batches = []
    while True:
        try:
            records = next(parts)
        except StopIteration as e:
            return batches, e.value
        batches.append([int(value) for value in records.values.to_pylist()])
        assert (records.keys is not None) == fields.keys
        if records.keys is not None:
            assert records.keys.to_pylist() == [b"k%d" % value for value in batches[-1]]


def flat(batches: list[list[int]]) -> list[int]:
    return [value for batch in batches for value in batch]


@pytest.mark.parametrize(("start", "stop"), [(0, 100), (1, 99), (50, 51), (98, 100)])
@pytest.mark.parametrize("max_bytes", [200, 1 << 20])
def test_a_range(broker: SimulatedBroker, start: int, stop: int, max_bytes: int) -> None:
    batches, position = read(broker, Split("t", 0, start, stop), RecordFields(keys=True), max_bytes=max_bytes)
    assert flat(batches) == list(range(start, stop))
    assert position >= stop


def test_nothing_is_fetched_beyond_the_stop(broker: SimulatedBroker) -> None:
    read(broker, Split("t", 0, 0, 4), max_bytes=150)
    fetches = broker.requests.count(ApiKey.FETCH)
    read(broker, Split("t", 0, 0, 100), max_bytes=150)
    assert 0 < fetches < broker.requests.count(ApiKey.FETCH) - fetches


def test_rows_per_batch(broker: SimulatedBroker) -> None:
    batches, _ = read(broker, Split("t", 0, 0, 100), max_rows=30)
    assert list(map(len, batches)) == [30, 30, 30, 10]


def test_aborted_transactions_are_skipped_if_only_committed_records_are_read(broker: SimulatedBroker) -> None:
    append(broker, b"100", transactional_id="x")
    broker.aborted = [(7, 100)]
    assert flat(read(broker, Split("t", 0, 98, 101), isolation_level="read_committed")[0]) == [98, 99]


@pytest.mark.parametrize(
    ("split", "fields", "properties"),
    [
        (Split("t", 0, 3, 10), RecordFields(headers=True), {}),
        (Split("t", 0, 3, 10, end_may_not_exist=True), VALUES_ONLY, {}),
        (Split("t", 0, 3, 10), VALUES_ONLY, {"client_rack": "a"}),
        (Split("t", 0, 3, 10), VALUES_ONLY, {"debug": "msg"}),
    ],
)
def test_what_is_left_to_librdkafka(
    broker: SimulatedBroker, split: Split, fields: RecordFields, properties: dict[str, str]
) -> None:
    assert read(broker, split, fields, **properties) == ([], 3)
    assert broker.requests == []


@pytest.mark.parametrize("code", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.OFFSET_OUT_OF_RANGE, LOST])
def test_reading_ends_before_an_error(broker: SimulatedBroker, code: int) -> None:
    broker.errors[ApiKey.FETCH] = [ErrorCode.NONE, code]
    batches, position = read(broker, Split("t", 0, 0, 100), max_bytes=300)
    assert 0 < position < 100
    assert flat(batches) == list(range(position))
    assert flat(read(broker, Split("t", 0, position, 100))[0]) == list(range(position, 100))  # with a new connection


def test_partition_without_a_leader(broker: SimulatedBroker) -> None:
    broker.leaderless.add(("t", 1))
    assert read(broker, Split("t", 1, 0, 5)) == ([], 0)
    assert read(broker, Split("t", 2, 0, 5)) == ([], 0)
    assert read(broker, Split("absent", 0, 0, 5)) == ([], 0)
    assert ApiKey.FETCH not in broker.requests


def test_damaged_batch(broker: SimulatedBroker) -> None:
    damaged = bytearray(broker.logs["t", 0][10])
    damaged[-2] ^= 1  # in the last value
    broker.logs["t", 0][10] = bytes(damaged)
    assert read(broker, Split("t", 0, 0, 100), max_bytes=150)[1] <= 20
    batches, position = read(broker, Split("t", 0, 0, 100), max_bytes=150, check_crcs="false")
    assert (len(flat(batches)), position) == (100, 100)


def test_topics_in_an_older_format_are_not_fetched_twice(broker: SimulatedBroker) -> None:
    older = bytearray(broker.logs["t", 0][10])
    older[16] = 1
    broker.logs["t", 0][10] = bytes(older)
    batches, position = read(broker, Split("t", 0, 0, 100))
    assert (flat(batches), position) == (list(range(20)), 20)
    fetches = broker.requests.count(ApiKey.FETCH)
    assert read(broker, Split("t", 0, 20, 100)) == ([], 20)
    assert broker.requests.count(ApiKey.FETCH) == fetches


def test_leaders_and_connections_are_cached(broker: SimulatedBroker) -> None:
    for _ in range(2):
        read(broker, Split("t", 0, 0, 100))
    assert broker.requests.count(ApiKey.METADATA) == 1


def test_a_reader_that_is_left_early_is_not_reused(broker: SimulatedBroker) -> None:
    parts = read_columnar(broker.config(), Split("t", 0, 0, 100), VALUES_ONLY, 10, 200)
    next(parts)
    parts.close()
    assert not _CACHE._idle
