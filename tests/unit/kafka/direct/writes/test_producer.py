"""The direct producer and a simulated broker: batches, errors that are retried or raised, and lost responses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.errors import (
    AuthorizationError,
    BrokerError,
    BrokerUnreachableError,
    DeliveryError,
    RecordTooLargeError,
    TopicNotFoundError,
    UnsupportedVersionError,
)
from kafka_sql.kafka.direct.writes.batch import ProducerIdAndEpoch
from kafka_sql.kafka.direct.writes.producer import DirectProducer
from kafka_sql.kafka.direct.writes.producer_state import open_producer_state
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.codec import ApiKey, Reader
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from tests.unit.kafka.direct.simulated_broker import LOST, SILENT, SimulatedBroker, simulated_broker
from tests.waiting import wait_until


@pytest.fixture
def broker() -> Iterator[SimulatedBroker]:
    with simulated_broker(t=1, three=3) as running:
        yield running


@contextmanager
def open_producer(broker: SimulatedBroker, topic: str = "t", **properties: str) -> Iterator[DirectProducer]:
    with ExitStack() as stack:
        state = open_producer_state(broker.config(**properties), stack)
        yield stack.enter_context(closing(DirectProducer(state, topic, "orders")))


def binary(*values: bytes | None) -> pa.BinaryArray:
    return pa.array(values, pa.binary())


def numbers(start: int, stop: int) -> list[bytes | None]:
    return [b"%06d" % i for i in range(start, stop)]


def test_rows_are_written_in_order(broker: SimulatedBroker) -> None:
    with open_producer(broker, linger_ms="600000") as producer:
        producer.produce(binary(b"a", None, b""), binary(None, b"key", b""))
        producer.produce(binary(b"b"))
        assert ApiKey.PRODUCE not in broker.requests  # until the batch is full
        producer.flush()
        assert broker.values("t") == [b"a", None, b"", b"b"]
        assert (producer.sent, producer.sent_bytes, producer.errors) == (4, 5, 0)
        assert producer._state.is_reusable()
        assert broker.requests.count(ApiKey.PRODUCE) == 1


def test_flush_without_rows_sends_nothing(broker: SimulatedBroker) -> None:
    with open_producer(broker) as producer:
        producer.flush()
    assert ApiKey.PRODUCE not in broker.requests


def test_send_time_is_that_of_the_last_flush_in_milliseconds(broker: SimulatedBroker) -> None:
    with open_producer(broker) as producer:
        producer.produce(binary(b"a"))
        began = time.monotonic()
        producer.flush()
        assert 0 < producer.send_time <= (time.monotonic() - began) * 1000


def test_full_batches_are_sent_before_the_flush(broker: SimulatedBroker) -> None:
    with open_producer(broker, batch_size="2000") as producer:
        producer.produce(binary(*numbers(0, 1_000)))
        producer.produce(binary(*numbers(1_000, 3_000)))
        assert not producer._state.is_reusable()
        wait_until(lambda: len(broker.logs["t", 0]) > 10, "full batches")
        producer.flush()
        assert producer._state.is_reusable()
    assert broker.values("t") == numbers(0, 3_000)
    assert max(map(len, broker.logs["t", 0])) <= 2_000


def test_rows_without_a_partition_avoid_partitions_without_a_leader(broker: SimulatedBroker) -> None:
    broker.leaderless |= {("three", 0), ("three", 2)}
    with open_producer(broker, "three", batch_size="1000") as producer:
        producer.produce(binary(*numbers(0, 1_000)))
        producer.flush()
        assert producer.errors == 0
    assert broker.values("three", 1) == numbers(0, 1_000)


def test_each_full_batch_without_keys_goes_to_the_next_partition(broker: SimulatedBroker) -> None:
    with open_producer(broker, "three", batch_size="1000") as producer:
        producer.produce(binary(*numbers(0, 1_000)))
        producer.flush()
    sizes = [len(broker.logs["three", partition]) for partition in range(3)]
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) > 1


def test_given_partitions(broker: SimulatedBroker) -> None:
    with open_producer(broker, "three") as producer:
        producer.produce(binary(b"a", b"b", b"c"), partitions=np.array([2, 0, 2], np.int64))
        for partition in (-2, 3):
            with pytest.raises(DeliveryError, match=r"Table 'orders': topic 'three', row 4 of the task: .*partitioner"):
                producer.produce(binary(b"x", b"y"), partitions=np.array([1, partition], np.int32))
        producer.flush()
    assert [broker.values("three", i) for i in range(3)] == [[b"b"], [], [b"a", b"c"]]


def test_record_that_is_too_large_for_the_client(broker: SimulatedBroker) -> None:
    with open_producer(broker, max_request_size="5000") as producer:
        producer.produce(binary(b"a" * 5_000))
        with pytest.raises(RecordTooLargeError, match="row 2 of the task"):
            producer.produce(binary(b"b", b"c" * 5_001))
        producer.flush()
    assert broker.values("t")[0] == b"a" * 5_000


@pytest.mark.parametrize(
    "error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.CORRUPT_MESSAGE, LOST]
)
@pytest.mark.parametrize("position", [0, 1, 3])
def test_batches_are_sent_again(broker: SimulatedBroker, error: int, position: int) -> None:
    """Whether the first batch, one in flight or the last one fails: each record is written once and in order."""
    broker.errors[ApiKey.PRODUCE] = [*[ErrorCode.NONE] * position, error]
    with open_producer(broker, batch_size="2000") as producer:
        producer.produce(binary(*numbers(0, 700)))
        producer.flush()
        assert producer.errors >= 1
        assert producer._state.is_reusable()
        producer.produce(binary(*numbers(700, 800)))
        producer.flush()
    assert broker.values("t") == numbers(0, 800)


def test_second_batch_of_a_partition_waits_for_the_first_one(broker: SimulatedBroker) -> None:
    """A leader that does not know the producer accepts any sequence number, so it would accept the second batch."""
    broker.errors[ApiKey.PRODUCE] = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    with open_producer(broker, batch_size="300") as producer:
        producer.produce(binary(*numbers(0, 100)))
        producer.flush()
    assert broker.values("t") == numbers(0, 100)


def test_leader_that_knows_only_the_last_batch(broker: SimulatedBroker) -> None:
    """For an older batch, it returns OUT_OF_ORDER_SEQUENCE_NUMBER; a later batch then shows that it was written."""
    with open_producer(broker, batch_size="2000") as producer:
        producer.produce(binary(*numbers(0, 100)))
        producer.flush()
        # two batches are written and their responses lost; the first one is sent again
        broker.errors[ApiKey.PRODUCE] = [SILENT, LOST, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
        producer.produce(binary(*numbers(100, 400)))
        producer.flush()
        assert producer._state.is_reusable()
    assert broker.values("t") == numbers(0, 400)


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        (ErrorCode.MESSAGE_TOO_LARGE, RecordTooLargeError, r"Table 'orders': t\[0\]: .*so far: 2\. .*do not count"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, AuthorizationError, r"Table 'orders': t\[0\]: .* WRITE on the topic"),
        # in a transaction, it may be sent again
        (ErrorCode.INVALID_TXN_STATE, DeliveryError, r"Table 'orders': t\[0\]: .*INVALID_TXN_STATE"),
    ],
)
def test_rejected_batches(broker: SimulatedBroker, code: int, error: type[BrokerError], message: str) -> None:
    broker.errors[ApiKey.PRODUCE] = [code]
    with open_producer(broker) as producer:
        producer.produce(binary(b"a", b"b"))
        with pytest.raises(error, match=message):
            producer.flush()
        assert not producer._state.is_reusable()
    assert broker.requests.count(ApiKey.PRODUCE) == 1


@pytest.mark.parametrize(
    ("code", "producer_id", "epoch"),
    [
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 101, 5),
        (ErrorCode.UNKNOWN_PRODUCER_ID, 101, 5),
        # the leader knows a later epoch, and could mistake the batches of the next one for duplicates
        (ErrorCode.INVALID_PRODUCER_EPOCH, 103, 3),
        (ErrorCode.PRODUCER_FENCED, 103, 3),
    ],
)
def test_a_leader_that_does_not_know_the_sequence_numbers(
    broker: SimulatedBroker, code: int, producer_id: int, epoch: int, caplog: pytest.LogCaptureFixture
) -> None:
    with open_producer(broker) as producer:
        for value in (b"a", b"b"):
            broker.errors[ApiKey.PRODUCE] = [code]
            producer.produce(binary(value))
            producer.flush()
        (queue,) = producer._state.queues.values()
        assert queue.producer == (producer_id, epoch, None)  # the broker assigns ids from 101 on, and epoch 3
    assert broker.values("t") == [b"a", b"b"]
    assert broker.requests.count(ApiKey.INIT_PRODUCER_ID) == producer_id - 100
    assert "sent again" not in caplog.text


def test_batches_that_may_be_written_are_sent_again_with_a_warning(
    broker: SimulatedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.errors[ApiKey.PRODUCE] = [LOST, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    with open_producer(broker) as producer:
        producer.produce(binary(b"a"))
        producer.flush()
    assert broker.values("t") == [b"a", b"a"]
    assert "Table 'orders': t[0]: " in caplog.text
    assert "(OUT_OF_ORDER_SEQUENCE_NUMBER). Records that may be written are sent again." in caplog.text


def test_opening_a_connection_does_not_delay_other_leaders(
    broker: SimulatedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Acknowledgments are not delayed either: the second batch of a partition waits for that of the first one."""
    may_connect, connect = threading.Event(), ConnectionPool._connect

    def slow_connect(self: ConnectionPool, address: tuple[str, int]) -> Connection:
        if address == other.address:
            assert may_connect.wait(60)
        return connect(self, address)

    monkeypatch.setattr(ConnectionPool, "_connect", slow_connect)
    with simulated_broker(three=3) as other, ExitStack() as stack:
        broker.nodes, broker.leaders = {7: broker.address, 8: other.address}, {("three", 1): 8}
        producer = stack.enter_context(open_producer(broker, "three", linger_ms="1"))
        for value in (b"a", b"b"):
            producer.produce(binary(value, value), partitions=np.array([0, 1], np.int32))
            wait_until(lambda value=value: value in broker.values("three", 0), "the batch was written", 30)  # type: ignore[misc]
        assert other.values("three", 1) == []
        may_connect.set()
        producer.flush()
        assert other.values("three", 1) == [b"a", b"b"]
        assert producer.errors == 0


@contextmanager
def gated_metadata(
    monkeypatch: pytest.MonkeyPatch, broker: SimulatedBroker, until: Callable[[], object]
) -> Iterator[SimulatedBroker]:
    """Run a bootstrap server of the broker's cluster. It responds to the first Metadata request at once, and to others
    after ``until`` returns.
    """
    with simulated_broker(t=1, three=3) as bootstrap:
        bootstrap.nodes = broker.nodes = {7: broker.address}
        respond = SimulatedBroker._metadata

        def wait_and_respond(self: SimulatedBroker, request: Reader, code: int) -> bytes:
            if bootstrap.requests.count(ApiKey.METADATA) > 1:
                until()
            return respond(self, request, code)

        monkeypatch.setitem(SimulatedBroker._handlers, ApiKey.METADATA, wait_and_respond)
        yield bootstrap


def test_requesting_leaders_again_does_not_delay_other_leaders(
    broker: SimulatedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_respond = threading.Event()
    with (
        gated_metadata(monkeypatch, broker, may_respond.wait) as bootstrap,
        simulated_broker(three=3) as other,
        ExitStack() as stack,
    ):
        bootstrap.nodes, bootstrap.leaders = {7: broker.address, 8: other.address}, {("three", 1): 8}
        properties = {"linger_ms": "1", "socket_connection_setup_timeout_ms": "60000"}
        producer = stack.enter_context(open_producer(bootstrap, "three", **properties))
        other.errors[ApiKey.PRODUCE] = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        for value in (b"a", b"b", b"c"):
            producer.produce(binary(value, value), partitions=np.array([0, 1], np.int32))
            wait_until(lambda value=value: value in broker.values("three", 0), "the batch was written", 30)  # type: ignore[misc]
        assert other.values("three", 1) == []
        may_respond.set()
        producer.flush()
        assert other.values("three", 1) == [b"a", b"b", b"c"]


def test_loading_another_topic_does_not_delay_batches(broker: SimulatedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second batch of a partition is sent after the acknowledgment of the first one."""
    may_acknowledge, written = threading.Event(), list[bool]()
    produce = SimulatedBroker._produce

    def slow_produce(self: SimulatedBroker, request: Reader, code: int) -> bytes:
        assert may_acknowledge.wait(60)
        return produce(self, request, code)

    def wait_until_written() -> None:
        may_acknowledge.set()
        wait_until(lambda: len(broker.produced) >= 2, "the second batch is sent", 30)
        written.append(True)

    monkeypatch.setitem(SimulatedBroker._handlers, ApiKey.PRODUCE, slow_produce)
    properties = {"linger_ms": "1", "batch_size": "4000", "socket_connection_setup_timeout_ms": "60000"}
    with (
        gated_metadata(monkeypatch, broker, wait_until_written) as bootstrap,
        open_producer(bootstrap, "three", **properties) as producer,
    ):
        producer.produce(binary(*numbers(0, 800)), partitions=np.zeros(800, np.int32))
        assert not broker.produced
        producer.produce(binary(b"a"), topics=pa.array(["t"]))
        assert written == [True]
        producer.flush()
    assert broker.values("t") == [b"a"]


def test_a_lookup_that_is_not_finished_does_not_disturb_the_next_task(broker: SimulatedBroker) -> None:
    with ExitStack() as stack:
        state = open_producer_state(broker.config(linger_ms="1"), stack)
        with closing(DirectProducer(state, "t", None)) as producer:
            producer.produce(binary(b"a"))
            producer._sender._leaders.mark_stale("t")
            broker.errors[ApiKey.METADATA] = [SILENT] * 2
            wait_until(lambda: bool(refresh(producer)), "the request for the leaders", 30)
            wait_until(lambda: len(broker.errors[ApiKey.METADATA]) == 1, "the broker to receive it", 30)
            producer.flush()
            assert producer._sender._leaders.awaited_connections()
            producer._sender._leaders.cancel(state.any_broker)
            wait_until(lambda: bool(refresh(producer)), "the same request without a pause", 5)
            wait_until(lambda: not broker.errors[ApiKey.METADATA], "the broker to receive it", 30)
        assert state.is_reusable()
        assert len(state.any_broker.topic_metadata("three").leaders) == 3


def refresh(producer: DirectProducer) -> tuple[Connection, ...]:
    leaders = producer._sender._leaders
    leaders.refresh(producer._state.any_broker, time.monotonic())
    return leaders.awaited_connections()


def test_a_new_producer_id_follows_the_last_epoch() -> None:
    assert ProducerIdAndEpoch(7, 32_766).next_epoch() == (7, 32_767, None)
    assert ProducerIdAndEpoch(7, 32_767).next_epoch() is None


@pytest.mark.parametrize(("acks", "sent"), [("all", -1), ("-1", -1), ("1", 1)])
def test_acks(broker: SimulatedBroker, acks: str, sent: int) -> None:
    with open_producer(broker, acks=acks) as producer:
        producer.produce(binary(b"a"))
        producer.flush()
    assert (broker.values("t"), broker.acks) == ([b"a"], {sent})
    assert broker.requests.count(ApiKey.INIT_PRODUCER_ID) == (sent == -1)  # acks=1 implies enable.idempotence=false


def test_without_idempotence_a_lost_batch_is_written_again(broker: SimulatedBroker) -> None:
    with open_producer(broker, enable_idempotence="false") as producer:
        for value in (b"a", b"b"):
            broker.errors[ApiKey.PRODUCE] = [ErrorCode.NOT_ENOUGH_REPLICAS, LOST]
            producer.produce(binary(value))
            producer.flush()
        assert producer.errors == 4
    assert broker.values("t") == [b"a", b"a", b"b", b"b"]
    broker.errors[ApiKey.PRODUCE] = [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    with open_producer(broker, enable_idempotence="false") as producer:
        producer.produce(binary(b"c"))
        with pytest.raises(DeliveryError, match="OUT_OF_ORDER"):
            producer.flush()


@pytest.mark.parametrize("error", [ErrorCode.NOT_ENOUGH_REPLICAS, LOST])
def test_number_of_retries(broker: SimulatedBroker, error: int) -> None:
    broker.errors[ApiKey.PRODUCE] = [error] * 2
    with open_producer(broker, retries="2") as producer:
        producer.produce(binary(b"a"))
        producer.flush()
    broker.errors[ApiKey.PRODUCE] = [error] * 3
    with open_producer(broker, retries="2") as producer:
        producer.produce(binary(b"b"))
        with pytest.raises(DeliveryError, match=r"t\[0\]: .*The batch was sent 3 times \('properties\.retries'\)\."):
            producer.flush()
    assert broker.values("t") == ([b"a", b"b"] if error == LOST else [b"a"])


def test_batches_expire_after_the_delivery_timeout(broker: SimulatedBroker) -> None:
    broker.errors[ApiKey.PRODUCE] = [ErrorCode.NOT_ENOUGH_REPLICAS] * 1_000
    with open_producer(broker, delivery_timeout_ms="300", linger_ms="0") as producer:
        producer.produce(binary(b"a", b"b"))
        began = time.monotonic()
        with pytest.raises(DeliveryError, match=r"t\[0\]: .*[Tt]imed out.*so far: 2\. .*NOT_ENOUGH_REPLICAS\)\."):
            producer.flush()
        assert 0.3 <= time.monotonic() - began < 3


def test_silent_broker_is_dropped_before_the_records_expire(broker: SimulatedBroker) -> None:
    broker.errors[ApiKey.PRODUCE] = [SILENT]
    with open_producer(broker, delivery_timeout_ms="1500", linger_ms="0", request_timeout_ms="300") as producer:
        producer.produce(binary(b"a"))
        producer.flush()
        assert producer.errors == 1
    assert broker.values("t") == [b"a"]


@pytest.mark.parametrize(("key", "error"), [("retry", ErrorCode.NOT_ENOUGH_REPLICAS), ("reconnect", LOST)])
def test_backoff_before_a_retry(broker: SimulatedBroker, key: str, error: int) -> None:
    broker.errors[ApiKey.PRODUCE] = [error] * 2
    backoff = {f"{key}_backoff_ms": "300", f"{key}_backoff_max_ms": "400"}
    with open_producer(broker, **backoff) as producer:
        producer.produce(binary(b"a"))
        began = time.monotonic()
        producer.flush()
        assert time.monotonic() - began >= (0.3 + 0.4) * 0.8
        assert producer.errors == 2
    assert broker.values("t") == [b"a"]


@pytest.mark.long
@pytest.mark.parametrize("in_flight", [1, 2])
def test_requests_in_flight(broker: SimulatedBroker, in_flight: int) -> None:
    broker.errors[ApiKey.PRODUCE] = [SILENT] * in_flight
    settings = {"max_in_flight_requests_per_connection": str(in_flight), "request_timeout_ms": "2000"}
    with open_producer(broker, "three", batch_size="1000", linger_ms="0", **settings) as producer:
        for partition in range(3):
            producer.produce(binary(b"a"), partitions=np.array([partition], np.int32))
        assert list(map(len, producer._sender._in_flight.values())) == [in_flight]
        producer.flush()
        assert producer.errors == 1
    assert [broker.values("three", partition) for partition in range(3)] == [[b"a"]] * 3


def test_metadata_is_requested_again_until_the_topic_has_partitions(broker: SimulatedBroker) -> None:
    broker.errors[ApiKey.METADATA] = [ErrorCode.LEADER_NOT_AVAILABLE, LOST]
    with open_producer(broker) as producer:
        assert (producer.errors, producer.partition_count("t")) == (2, 1)


def test_missing_topic(broker: SimulatedBroker) -> None:
    began = time.monotonic()
    with (
        pytest.raises(TopicNotFoundError, match=r"Table 'orders': topic 'absent': .*'sink.topic.create' = 'true'"),
        open_producer(broker, "absent", socket_connection_setup_timeout_ms="1000"),
    ):
        pass
    assert 1 <= time.monotonic() - began < 5


def test_topic_that_the_user_may_not_see(broker: SimulatedBroker) -> None:
    broker.errors[ApiKey.METADATA] = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    with pytest.raises(AuthorizationError, match="Table 'orders': topic 't'"), open_producer(broker):
        pass


def test_first_record_of_the_hint(broker: SimulatedBroker) -> None:
    for expected in (0, 2):
        with open_producer(broker) as producer:
            producer.produce(binary(b"a", b"b"))
            assert producer.hint.first_record is None
            producer.flush()
            assert producer.hint.first_record == ("t", 0, expected)
            producer.produce(binary())
            producer.flush()
            assert producer.hint == (None, ("t", 0, expected))


def test_first_record_is_unknown_if_its_response_was_lost(broker: SimulatedBroker) -> None:
    broker.errors[ApiKey.PRODUCE] = [LOST]
    with open_producer(broker) as producer:
        producer.produce(binary(b"a"))
        producer.flush()
        producer.produce(binary(b"b"))
        producer.flush()
        assert producer.hint.first_record is None


def test_producer_id_is_requested_again(broker: SimulatedBroker) -> None:
    broker.errors[ApiKey.INIT_PRODUCER_ID] = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, LOST]
    with open_producer(broker) as producer:
        assert producer._state.producer_id_and_epoch() == (102, 3, None)
    assert broker.requests.count(ApiKey.INIT_PRODUCER_ID) == 3


def test_rejected_producer(broker: SimulatedBroker) -> None:
    broker.errors[ApiKey.INIT_PRODUCER_ID] = [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    with (
        pytest.raises(AuthorizationError, match=r"assigned no producer id: .* IDEMPOTENT_WRITE"),
        open_producer(broker),
    ):
        pass


@pytest.mark.parametrize("latest", [None, 2])
def test_brokers_that_are_too_old(broker: SimulatedBroker, latest: int | None) -> None:
    del broker.versions[ApiKey.PRODUCE]
    if latest is not None:
        broker.versions[ApiKey.PRODUCE] = (0, latest)
    with pytest.raises(UnsupportedVersionError, match=r"request Produce .* Kafka 2\.1 or later"), open_producer(broker):
        pass


def test_unreachable_broker() -> None:
    with simulated_broker() as stopped:
        config = stopped.config(default_api_timeout_ms="200")
    expected = r"the request InitProducerId within 0\.2 s: 127\.0\.0\.1:1: "
    with ExitStack() as stack, pytest.raises(BrokerUnreachableError, match=expected):
        open_producer_state({**config, "bootstrap.servers": "127.0.0.1:1"}, stack)


def test_requests_have_one_batch_per_partition_and_a_maximum_size(broker: SimulatedBroker) -> None:
    with open_producer(broker, "three", batch_size="1000", max_request_size="2500", linger_ms="60000") as producer:
        for size in (700, 2_400):
            producer.produce(binary(*[b"v" * size] * 3), partitions=np.array([0, 1, 2], np.int32))
            producer.flush()
    assert [len(batches) for batches in broker.produced] == [3, 1, 1, 1]
    for batches in broker.produced:
        assert len({partition for _, partition, _ in batches}) == len(batches)
        assert sum(size for *_, size in batches) <= 2_500
    assert len(broker.values("three", 2)) == 2
