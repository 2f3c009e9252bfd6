"""The direct reader and simulated brokers: which records it reads, from where, what it retries, and how it fails."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kafka_sql.errors import AuthorizationError, BrokerError, DataLossError, FetchError, OffsetError
from kafka_sql.kafka.direct.reads import reader
from kafka_sql.kafka.direct.reads.reader import _CACHE, read_columnar
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.fetch_errors import raise_data_loss
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.records import VALUES_ONLY, BatchSize, RecordFields
from kafka_sql.kafka.split import DataLossHandler, Split
from tests.unit.kafka.direct.record_batches import RecordBatch
from tests.unit.kafka.direct.simulated_broker import LOST, SILENT, SimulatedBroker, simulated_broker
from tests.waiting import wait_until

ALL = Split("t", 0, 0, 100)
SMALL = BatchSize(max_bytes=300)  # each response has a few batches


@pytest.fixture
def broker() -> Iterator[SimulatedBroker]:
    with simulated_broker(t=2) as running:
        for value in range(0, 100, 2):  # batches of two records
            append(running, value, value + 1)
        yield running
    _CACHE.close()
    reader._unsupported.clear()
    reader._logged.clear()
    reader._log_direct.cache_clear()


def append(broker: SimulatedBroker, *values: int, attributes: int = 0) -> None:
    rows = [(i, 0, b"k%d" % value, b"%d" % value) for i, value in enumerate(values)]
    batch = RecordBatch(broker.end_offset(("t", 0)), rows, len(rows) - 1, attributes, producer=7)
    broker.logs["t", 0].append(batch.encode())


@contextmanager
def replica_of(leader: SimulatedBroker) -> Iterator[SimulatedBroker]:
    """Run the replica that the leader prefers for clients with a rack."""
    with simulated_broker(t=2) as replica:
        replica.logs, replica.topics = leader.logs, leader.topics
        leader.nodes = replica.nodes = {7: leader.address, 8: replica.address}
        leader.preferred_replica = 8
        yield replica


def read(
    broker: SimulatedBroker,
    split: Split = ALL,
    fields: RecordFields = VALUES_ONLY,
    size: BatchSize = SMALL,
    on_data_loss: DataLossHandler = raise_data_loss,
    **properties: str,
) -> tuple[list[list[int]], int]:
    """Return the values of each batch of records, and the offset of the first one that was not read."""
    parts = read_columnar(broker.config(**properties), split, fields, size, on_data_loss)
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
        assert (records.headers is not None) == fields.headers
        if records.headers is not None:
            assert records.headers.to_pylist() == [[{"key": "name", "value": b"value"}]] * len(records.values)


def read_values(broker: SimulatedBroker, split: Split = ALL, **properties: str) -> list[int]:
    """Return the values of a split that is read to its end."""
    batches, position = read(broker, split, **properties)
    assert position >= split.stop
    return flat(batches)


def flat(batches: list[list[int]]) -> list[int]:
    return [value for batch in batches for value in batch]


@pytest.mark.sample(12)
@pytest.mark.parametrize("version", [4, 5, 7, 9, 11, 12])
@pytest.mark.parametrize(("start", "stop"), [(0, 100), (1, 99), (50, 51), (98, 100)])
@pytest.mark.parametrize("max_bytes", [200, 1 << 20])
def test_a_range(broker: SimulatedBroker, version: int, start: int, stop: int, max_bytes: int) -> None:
    broker.versions[ApiKey.FETCH] = (0, version)
    fields, size = RecordFields(keys=True, headers=True), BatchSize(max_bytes=max_bytes)
    batches, position = read(broker, Split("t", 0, start, stop), fields, size, client_rack="a")
    assert flat(batches) == list(range(start, stop))
    assert position >= stop
    assert {fetch.rack for fetch in broker.fetches} == {"a" if version >= 11 else ""}


def test_nothing_is_fetched_beyond_the_stop(broker: SimulatedBroker) -> None:
    read(broker, Split("t", 0, 0, 4))
    fetches = broker.requests.count(ApiKey.FETCH)
    read(broker)
    assert 0 < fetches < broker.requests.count(ApiKey.FETCH) - fetches


def test_the_next_request_is_sent_before_records_are_returned(broker: SimulatedBroker) -> None:
    parts = read_columnar(broker.config(), ALL, VALUES_ONLY, SMALL, raise_data_loss)
    next(parts)
    wait_until(lambda: len(broker.fetches) == 2, "the second request arrived", 10)
    parts.close()


def test_rows_per_batch(broker: SimulatedBroker) -> None:
    batches, _ = read(broker, size=BatchSize(max_rows=30))
    assert list(map(len, batches)) == [30, 30, 30, 10]


def test_aborted_transactions_are_skipped_if_only_committed_records_are_read(broker: SimulatedBroker) -> None:
    append(broker, 100, attributes=0x10)
    broker.aborted = [(7, 100)]
    assert read_values(broker, Split("t", 0, 98, 101), isolation_level="read_committed") == [98, 99]


def test_settings_that_are_not_supported_are_left_to_librdkafka(
    broker: SimulatedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "kafka_sql.kafka")
    for _ in range(2):
        assert read(broker, Split("t", 0, 3, 10), debug="msg", statistics_interval_ms="5") == ([], 3)
    assert broker.requests == []
    reason = "the direct client does not support 'properties.debug', 'properties.statistics.interval.ms'"
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("INFO", f"t[0]@3: reading with librdkafka: {reason}"),
        ("DEBUG", f"t[0]@3: reading with librdkafka: {reason}"),
    ]


def test_settings_that_are_honored_or_have_no_meaning_for_a_reader(broker: SimulatedBroker) -> None:
    properties = {
        "client_rack": "a",
        "fetch_min_bytes": "100",
        "fetch_max_wait_ms": "50",
        "fetch_max_bytes": "2000000",
        "max_partition_fetch_bytes": "1000000",
        "default_api_timeout_ms": "5000",
        "metadata_max_age_ms": "1000",
        "retry_backoff_ms": "10",
        "reconnect_backoff_max_ms": "100",
        "max_poll_interval_ms": "600000",
        "session_timeout_ms": "10000",
    }
    assert read_values(broker, **properties) == list(range(100))
    assert {fetch.wait_ms for fetch in broker.fetches} == {50}


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        LOST,
        SILENT,
    ],
)
def test_retriable_errors_and_lost_connections(broker: SimulatedBroker, code: int) -> None:
    broker.errors[ApiKey.FETCH] = [ErrorCode.NONE, code, ErrorCode.NONE, code, code]
    properties = {"retry_backoff_ms": "1", "reconnect_backoff_ms": "1", "request_timeout_ms": "300"}
    assert read_values(broker, **properties) == list(range(100))
    assert broker.requests.count(ApiKey.METADATA) > 2


@pytest.mark.parametrize("code", [ErrorCode.LEADER_NOT_AVAILABLE, LOST])
def test_metadata_errors_are_retried(broker: SimulatedBroker, code: int) -> None:
    broker.errors[ApiKey.METADATA] = [code, code]
    assert read_values(broker, retry_backoff_ms="1", reconnect_backoff_ms="1") == list(range(100))


def test_a_partition_gets_a_leader(broker: SimulatedBroker) -> None:
    broker.leaderless.add(("t", 0))
    threading.Timer(0.3, broker.leaderless.clear).start()
    assert read_values(broker, retry_backoff_ms="20") == list(range(100))
    assert broker.requests.count(ApiKey.METADATA) > 2


@pytest.mark.parametrize(
    ("split", "cause"),
    [
        (Split("t", 1, 0, 5), "the partition has no leader (LEADER_NOT_AVAILABLE)"),
        (Split("absent", 0, 0, 5), "the topic or partition does not exist (UNKNOWN_TOPIC_OR_PARTITION)"),
    ],
)
def test_no_leader_until_the_timeout(broker: SimulatedBroker, split: Split, cause: str) -> None:
    broker.leaderless.add(("t", 1))
    started = time.monotonic()
    with pytest.raises(FetchError) as error:
        read(broker, split, default_api_timeout_ms="300", retry_backoff_ms="10")
    assert error.value.message == (
        f"{split.describe_offset(0)}: no records arrived for 0.3 s, and the read ends at offset 5. Check that the "
        f"topic was not deleted or recreated and that its brokers are up. Client: {cause}."
    )
    assert 0.3 <= time.monotonic() - started < 5


def test_no_broker_is_reachable(broker: SimulatedBroker) -> None:
    config = {**broker.config(default_api_timeout_ms="200"), "bootstrap.servers": "127.0.0.1:1"}
    with pytest.raises(FetchError, match=r"^\[\w+\] t\[0\]@0: no records arrived for 0\.2 s, .* Client: .*refused"):
        list(read_columnar(config, ALL, VALUES_ONLY, SMALL, raise_data_loss))


def test_errors_that_are_not_retriable(broker: SimulatedBroker) -> None:
    broker.errors[ApiKey.FETCH] = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    with pytest.raises(
        AuthorizationError, match=r"^\[\w+\] t\[0\]@0: not authorized .* Grant the user READ on the topic\.$"
    ):
        read(broker)
    broker.errors[ApiKey.METADATA] = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    with pytest.raises(AuthorizationError, match=r"^\[\w+\] t\[0\]@5: not authorized"):
        read(broker, Split("t", 0, 5, 9))
    broker.errors[ApiKey.FETCH] = [ErrorCode.NONE, ErrorCode.CORRUPT_MESSAGE]
    with pytest.raises(FetchError, match=r"^\[\w+\] t\[0\]@\d+: the record batch is corrupt \(CORRUPT_MESSAGE\)\.$"):
        read(broker)


def test_records_before_an_error_are_returned(broker: SimulatedBroker) -> None:
    broker.errors[ApiKey.METADATA] = [ErrorCode.NONE] * 3 + [ErrorCode.TOPIC_AUTHORIZATION_FAILED] * 9
    config = broker.config(metadata_max_age_ms="1")  # metadata is requested before each fetch

    def read_slowly() -> Iterator[int]:
        for records in read_columnar(config, ALL, VALUES_ONLY, SMALL, raise_data_loss):
            yield from map(int, records.values.to_pylist())
            time.sleep(0.01)

    values = list[int]()
    with pytest.raises(AuthorizationError) as error:
        values.extend(read_slowly())
    assert 0 < len(values) < 100
    assert values == list(range(len(values)))
    assert f" t[0]@{len(values)}: not authorized" in str(error.value)


def test_deleted_records(broker: SimulatedBroker) -> None:
    broker.log_starts["t", 0] = 30
    with pytest.raises(
        DataLossError, match=r"^\[\w+\] t\[0\]@4: the record was deleted .* first available offset is 30\.$"
    ):
        read(broker, Split("t", 0, 4, 100))
    lost = list[tuple[Split, int, int]]()

    def on_data_loss(split: Split, offset: int, first: int) -> None:
        lost.append((split, offset, first))

    split = Split("t", 0, 4, 40)
    broker.errors[ApiKey.LIST_OFFSETS] = [ErrorCode.NOT_LEADER_OR_FOLLOWER, LOST]
    assert flat(read(broker, split, on_data_loss=on_data_loss)[0]) == list(range(30, 40))
    assert lost == [(split, 4, 30)]
    assert broker.requests.count(ApiKey.METADATA) == 4  # by two reads, and after each failure
    assert read(broker, Split("t", 0, 4, 10), on_data_loss=on_data_loss) == ([], 10)  # all of them were deleted


def test_an_offset_that_does_not_exist(broker: SimulatedBroker) -> None:
    with pytest.raises(
        OffsetError, match=r"^\[\w+\] t\[0\]@101: the offset is out of range \(the offset is outside of "
    ):
        read(broker, Split("t", 0, 101, 120))
    broker.errors[ApiKey.FETCH] = [ErrorCode.OFFSET_OUT_OF_RANGE]
    with pytest.raises(OffsetError, match=r"t\[0\]@0: the offset is out of range"):
        read(broker)


def test_damaged_batch(broker: SimulatedBroker) -> None:
    damaged = bytearray(broker.logs["t", 0][10])
    damaged[-10] ^= 1
    broker.logs["t", 0][10] = bytes(damaged)
    assert read_values(broker, Split("t", 0, 0, 20)) == list(range(20))
    with pytest.raises(FetchError, match=r"^\[\w+\] t\[0\]@20: the checksum of a record batch is wrong\.$"):
        read(broker)
    assert len(read_values(broker, check_crcs="false")) == 100
    damaged[61] = 0x7E  # the length of the first record
    broker.logs["t", 0][10] = bytes(damaged)
    with pytest.raises(FetchError, match=r"^\[\w+\] t\[0\]@20: a record batch is damaged\.$"):
        read(broker, check_crcs="false")
    damaged[8:12] = b"\0\0\0\0"  # the length
    broker.logs["t", 0][10] = bytes(damaged)
    with pytest.raises(FetchError, match=r"^\[\w+\] t\[0\]@20: the header of a record batch is damaged\.$"):
        read(broker)


def test_topics_in_an_older_format_are_not_fetched_twice(
    broker: SimulatedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kafka_sql.kafka")
    older = bytearray(broker.logs["t", 0][10])
    older[16] = 1
    broker.logs["t", 0][10] = bytes(older)
    batches, position = read(broker)
    assert (flat(batches), position) == (list(range(20)), 20)
    requests = list(broker.requests)
    assert read(broker, Split("t", 0, 20, 100)) == ([], 20)
    assert broker.requests == requests
    reason = "batches in the format before Apache Kafka 0.11"
    assert caplog.messages == [
        "topic 't': reading with the direct client",
        f"t[0]@20: reading with librdkafka: {reason}",
    ]


def test_missing_versions_are_left_to_librdkafka(broker: SimulatedBroker) -> None:
    broker.versions[ApiKey.FETCH] = (13, 17)
    for _ in range(2):
        assert read(broker, Split("t", 0, 3, 10)) == ([], 3)
    assert broker.requests == [ApiKey.METADATA]


def test_an_unsupported_compression_type_is_left_to_librdkafka(broker: SimulatedBroker) -> None:
    broker.errors[ApiKey.FETCH] = [ErrorCode.UNSUPPORTED_COMPRESSION_TYPE]
    for _ in range(2):
        assert read(broker, Split("t", 0, 3, 10)) == ([], 3)
    assert broker.requests.count(ApiKey.FETCH) == 1


def test_rejected_clients_are_left_to_librdkafka(
    broker: SimulatedBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """librdkafka tries again, and so does the next read: a token may be refreshed or a user created."""

    def reject(*_: object) -> None:
        raise BrokerError("SASL authentication failed.")

    caplog.set_level(logging.INFO, "kafka_sql.kafka")
    with monkeypatch.context() as patches:
        patches.setattr(ConnectionPool, "connect_to", reject)
        assert read(broker, Split("t", 0, 3, 10)) == ([], 3)
    assert [record.message for record in caplog.records] == [
        "t[0]@3: reading with librdkafka: SASL authentication failed."
    ]
    assert read_values(broker, Split("t", 0, 3, 10)) == list(range(3, 10))


def test_remembered_topics_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_MAX_REMEMBERED", 2)
    entries: dict[tuple[str, str], str] = {}
    for topic in "abca":
        reader._remember(entries, ("b:9092", topic), "reason")
    assert list(entries) == [("b:9092", "c"), ("b:9092", "a")]


def test_waits_for_an_end_that_does_not_exist_yet(broker: SimulatedBroker) -> None:
    """The reader waits longer than the timeout, which applies only to brokers that do not respond."""

    def write() -> None:
        for value in range(100, 110):
            time.sleep(0.05)
            append(broker, value)

    writer = threading.Thread(target=write)
    writer.start()
    split = Split("t", 0, 90, 110, end_may_not_exist=True)
    waits = {"fetch_max_wait_ms": "70", "fetch_min_bytes": "9", "retry_backoff_ms": "20"}
    assert read_values(broker, split, default_api_timeout_ms="100", **waits) == list(range(90, 110))
    writer.join()
    assert {(fetch.wait_ms, fetch.min_bytes) for fetch in broker.fetches} == {(70, 1), (70, 9)}


def test_brokers_disappear_while_the_reader_waits_for_the_end(broker: SimulatedBroker) -> None:
    broker.errors[ApiKey.FETCH] = [ErrorCode.NONE] * 4 + [LOST] * 1_000
    split = Split("t", 0, 99, 110, end_may_not_exist=True)
    with pytest.raises(FetchError, match=r"^\[\w+\] t\[0\]@100: no records arrived for 0\.3 s"):
        read(broker, split, default_api_timeout_ms="300", fetch_max_wait_ms="1", reconnect_backoff_ms="10")


def test_an_end_that_should_exist(broker: SimulatedBroker) -> None:
    with pytest.raises(
        FetchError, match=r"^\[\w+\] t\[0\]@100: no records arrived for 0\.3 s, and the read ends at offset 105"
    ):
        read(broker, Split("t", 0, 90, 105), default_api_timeout_ms="300")


def test_records_that_take_long_to_fetch(broker: SimulatedBroker) -> None:
    """With tiered storage, a broker that is asked to wait too briefly returns no records."""
    broker.min_wait_ms = 300
    assert read_values(broker, Split("t", 0, 0, 4)) == [0, 1, 2, 3]
    assert [fetch.wait_ms for fetch in broker.fetches if fetch.offset == 0] == [10, 20, 40, 80, 160, 320]


def test_the_wait_for_records_is_limited(broker: SimulatedBroker) -> None:
    broker.min_wait_ms = 1 << 30
    with pytest.raises(FetchError, match=r"^\[\w+\] t\[0\]@0: .* Client: .* no records, and 100 as the end offset"):
        read(broker, default_api_timeout_ms="500")
    assert max(fetch.wait_ms for fetch in broker.fetches) <= 500


def test_throttled_responses_have_no_records(broker: SimulatedBroker) -> None:
    broker.throttle_ms = 150

    def end_throttling() -> None:
        broker.throttle_ms = 0

    threading.Timer(0.5, end_throttling).start()
    assert read_values(broker, default_api_timeout_ms="200") == list(range(100))
    assert broker.requests.count(ApiKey.FETCH) < 30


def test_the_replica_in_the_same_rack(broker: SimulatedBroker) -> None:
    with replica_of(broker) as replica:
        assert read_values(broker, client_rack="b") == list(range(100))
        assert [fetch.rack for fetch in broker.fetches] == ["b"]
        assert len(replica.fetches) > 1
        assert read_values(broker, Split("t", 0, 50, 60), client_rack="b") == list(range(50, 60))
        assert len(broker.fetches) == 1  # the next split goes to the replica at once


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        LOST,
    ],
)
def test_the_leader_is_read_after_the_replica_failed(broker: SimulatedBroker, code: int) -> None:
    with replica_of(broker) as replica:
        replica.errors[ApiKey.FETCH] = [ErrorCode.NONE, code]
        assert read_values(broker, client_rack="b", retry_backoff_ms="60000") == list(range(100))
        assert len(replica.fetches) == 2
        assert [fetch.rack for fetch in broker.fetches] == ["b"] + [""] * (len(broker.fetches) - 1)


def test_the_leader_is_read_if_the_replica_is_unknown_or_unreachable(broker: SimulatedBroker) -> None:
    broker.preferred_replica, broker.nodes = 9, {7: broker.address}
    assert read_values(broker, client_rack="b", reconnect_backoff_ms="60000") == list(range(100))
    _CACHE.close()
    broker.nodes[9] = ("127.0.0.1", 1)
    assert read_values(broker, client_rack="b", reconnect_backoff_ms="60000") == list(range(100))


def test_the_leader_is_read_if_the_replica_lags(broker: SimulatedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_REPLICA_SECONDS", 0.2)
    with replica_of(broker) as replica:
        replica.logs = {("t", 0): broker.logs["t", 0][:20]}  # type: ignore[assignment]
        assert read_values(broker, client_rack="b") == list(range(100))
        assert max(fetch.offset for fetch in replica.fetches) == 40


def test_the_preferred_replica_expires(broker: SimulatedBroker) -> None:
    with replica_of(broker) as replica:
        read(broker, client_rack="b", metadata_max_age_ms="1000")
        assert len(broker.fetches) == 1
        time.sleep(1.1)
        fetches = len(replica.fetches)
        assert read_values(broker, client_rack="b", metadata_max_age_ms="1000") == list(range(100))
        assert len(broker.fetches) == 2
        assert len(replica.fetches) > fetches


def test_leaders_and_connections_are_cached(broker: SimulatedBroker) -> None:
    for _ in range(2):
        read(broker)
    assert broker.requests.count(ApiKey.METADATA) == 1


def test_a_reader_that_is_left_early_is_not_reused(broker: SimulatedBroker) -> None:
    parts = read_columnar(broker.config(), ALL, VALUES_ONLY, BatchSize(10, 200), raise_data_loss)
    next(parts)
    parts.close()
    assert not _CACHE._idle
