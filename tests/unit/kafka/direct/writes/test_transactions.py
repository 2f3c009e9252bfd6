"""Transactions of the direct producer and a simulated broker: which requests are sent, repeated and given up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.errors import AuthorizationError, BrokerError, TransactionError, WriterFencedError
from kafka_sql.kafka.direct.writes.producer import DirectProducer
from kafka_sql.kafka.direct.writes.transaction_manager import TransactionManager
from kafka_sql.kafka.direct.writes.transactional_producer import _CACHE, open_direct_transaction
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from tests.unit.kafka.direct.simulated_broker import LOST, SILENT, SimulatedBroker, simulated_broker
from tests.waiting import wait_until

FIND, INIT, ADD, END = (
    ApiKey.FIND_COORDINATOR,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.END_TXN,
)
TIMEOUT = {"transaction_timeout_ms": "60000"}


@pytest.fixture
def broker() -> Iterator[SimulatedBroker]:
    with simulated_broker(t=2) as running:
        yield running


@pytest.fixture
def manager(broker: SimulatedBroker) -> Iterator[TransactionManager]:
    config = broker.config(**TIMEOUT, delivery_timeout_ms="5000", linger_ms="0")
    with closing(ConnectionPool(config)) as connections:
        yield TransactionManager(config, connections, "orders-1", "orders")


def run_transaction(manager: TransactionManager) -> None:
    manager.add_partitions("t", [0])
    manager.commit()


def test_a_transaction_begins_with_the_first_partition(broker: SimulatedBroker, manager: TransactionManager) -> None:
    assert broker.requests == []
    manager.add_partitions("t", [1, 0])
    manager.add_partitions("t", [0])  # already in the transaction
    assert broker.requests == [FIND, INIT, ADD]
    assert manager.is_idle()
    manager.commit()
    assert manager.producer_id_and_epoch() == (101, 3, "orders-1")
    assert manager.coordinator() == broker.address
    manager.add_partitions("t", [0])  # in the next transaction
    assert broker.requests == [FIND, INIT, ADD, END, ADD]
    assert broker.ended == [(101, 3, True)]


def test_a_request_is_in_flight_until_its_response_is_needed(manager: TransactionManager) -> None:
    assert manager.is_idle()
    manager.begin()
    assert not manager.is_idle()
    manager.producer_id_and_epoch()
    assert manager.is_idle()
    manager.add_partitions_async("t", [0])
    assert not manager.is_idle()
    manager.add_partitions_async("t", [0])
    manager.producer_id_and_epoch()
    assert manager.is_idle()


@pytest.mark.parametrize("key", [FIND, INIT, ADD, END])
@pytest.mark.parametrize("error", [LOST, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_requests_are_sent_again(broker: SimulatedBroker, manager: TransactionManager, key: ApiKey, error: int) -> None:
    broker.errors[key] = [error]
    run_transaction(manager)
    assert broker.requests.count(key) >= 2
    assert broker.requests.count(FIND) >= 2  # the coordinator may have moved
    assert broker.ended[-1][2]


@pytest.mark.parametrize("key", [INIT, ADD, END])
@pytest.mark.parametrize("code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED])
def test_fenced_producer(broker: SimulatedBroker, manager: TransactionManager, key: ApiKey, code: int) -> None:
    broker.errors[key] = [code]
    with pytest.raises(BrokerError, match=r"orders-1'") as e:
        run_transaction(manager)
    assert isinstance(e.value, WriterFencedError) == (key != INIT)
    assert broker.requests.count(key) == 1


@pytest.mark.parametrize(
    ("key", "code", "error", "message"),
    [
        (
            FIND,
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            AuthorizationError,
            "Grant the user WRITE and DESCRIBE",
        ),
        (INIT, ErrorCode.INVALID_TRANSACTION_TIMEOUT, TransactionError, r"timeout\.ms' = '60000' exceeds the brokers'"),
        (INIT, ErrorCode.UNKNOWN_SERVER_ERROR, BrokerError, r"'orders-1' could not be started: .*UNKNOWN_SERVER_ERROR"),
        (ADD, ErrorCode.TOPIC_AUTHORIZATION_FAILED, AuthorizationError, r"Table 'orders': t\[0\]: .*'orders-1'"),
        (END, ErrorCode.INVALID_TXN_STATE, BrokerError, r"Table 'orders': transaction 'orders-1': .*INVALID_TXN_STATE"),
    ],
)
def test_errors(
    broker: SimulatedBroker,
    manager: TransactionManager,
    key: ApiKey,
    code: int,
    error: type[BrokerError],
    message: str,
) -> None:
    broker.errors[key] = [code]
    with pytest.raises(error, match=message):
        run_transaction(manager)


def test_coordinator_that_does_not_respond() -> None:
    with simulated_broker() as broker:
        config = broker.config(
            **TIMEOUT, delivery_timeout_ms="200", linger_ms="0", request_timeout_ms="50", default_api_timeout_ms="200"
        )
        broker.errors[INIT] = [SILENT] * 1_000
        with closing(ConnectionPool(config)) as connections:
            manager = TransactionManager(config, connections, "orders-1")
            expected = r"InitProducerId for transaction 'orders-1' within 0\.2 s: 127.*: timed out\. .*'properties\.def"
            with pytest.raises(BrokerError, match=expected):
                manager.add_partitions("t", [0])


def test_abort(broker: SimulatedBroker, manager: TransactionManager) -> None:
    manager.abort()  # has not begun
    assert broker.requests == []
    manager.add_partitions("t", [0])
    manager.abort()
    assert broker.ended == [(101, 3, False)]


@pytest.mark.parametrize("error", [LOST, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.INVALID_PRODUCER_EPOCH])
def test_a_failed_abort_is_left_to_the_brokers(
    broker: SimulatedBroker, manager: TransactionManager, error: int
) -> None:
    manager.add_partitions("t", [0])
    broker.errors[END] = [error]
    manager.abort()
    assert broker.requests.count(END) == 1


@pytest.fixture
def config(broker: SimulatedBroker) -> Iterator[dict[str, str]]:
    yield broker.config(**TIMEOUT)
    _CACHE.close()


def write(config: dict[str, str], *values: bytes) -> None:
    with open_direct_transaction(config, "orders-1", "t", "orders") as producer:
        if values:
            producer.produce(pa.array(values, pa.binary()))
        producer.flush()


def test_the_transaction_is_left_open(broker: SimulatedBroker, config: dict[str, str]) -> None:
    write(config, b"a", b"b")
    assert sorted(broker.values("t", 0) + broker.values("t", 1)) == [b"a", b"b"]  # type: ignore[type-var]
    assert [key for key in broker.requests if key in (INIT, ADD, END)] == [INIT, ADD]


def write_two_batches(config: dict[str, str]) -> None:
    with open_direct_transaction(config, "orders-1", "t", "orders") as producer:
        for _ in range(2):
            producer.produce(pa.array([b"a"], pa.binary()), partitions=np.array([0], np.int32))
            producer.flush()


@pytest.mark.parametrize("before", [[], [ErrorCode.NOT_LEADER_OR_FOLLOWER]])
def test_a_first_batch_that_the_leader_did_not_verify_is_sent_again(
    broker: SimulatedBroker, config: dict[str, str], before: list[int]
) -> None:
    broker.errors[ApiKey.PRODUCE] = [*before, ErrorCode.INVALID_TXN_STATE]
    write(config, b"a")
    assert sorted(broker.values("t", 0) + broker.values("t", 1)) == [b"a"]


@pytest.mark.parametrize(
    "codes",
    [
        [ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_TXN_STATE],
        [ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE],  # the first batch is written
    ],
)
def test_batches_that_are_not_in_the_transaction_are_not_sent_again(
    broker: SimulatedBroker, config: dict[str, str], codes: list[int]
) -> None:
    broker.errors[ApiKey.PRODUCE] = list(codes)
    with pytest.raises(BrokerError, match=r"Table 'orders': t\[0\]: .*INVALID_TXN_STATE"):
        write_two_batches(config)
    assert broker.requests.count(ApiKey.PRODUCE) == 2


def test_after_a_task_without_rows_the_next_one_begins_with_its_first_row(
    broker: SimulatedBroker, config: dict[str, str]
) -> None:
    write(config)  # begins without waiting for its first row
    wait_until(lambda: broker.requests.count(INIT) == 1, "the request for a producer id")
    write(config)
    write(config, b"a")
    assert broker.requests.count(INIT) == 2
    with open_direct_transaction(config, "orders-1", "t") as producer:  # the last task had rows
        wait_until(lambda: broker.requests.count(INIT) == 3, "the request for a producer id")
        assert producer.sent == 0


def test_connections_are_reused(broker: SimulatedBroker, config: dict[str, str]) -> None:
    write(config, b"a")
    (idle,) = _CACHE._idle
    opened = idle.client.leaders.any_connection()
    write(config, b"b")
    assert idle.client.leaders.any_connection() is opened
    assert broker.requests.count(FIND) == 2


def fail_after_a_row(producer: DirectProducer) -> None:
    producer.produce(pa.array([b"a"], pa.binary()))
    producer.flush()
    raise ZeroDivisionError


def test_an_error_aborts_the_transaction(broker: SimulatedBroker, config: dict[str, str]) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        open_direct_transaction(config, "orders-1", "t") as producer,
    ):
        fail_after_a_row(producer)
    assert broker.ended == [(101, 3, False)]
    assert not _CACHE._idle


def test_records_expire_before_their_transaction(broker: SimulatedBroker) -> None:
    config = broker.config(transaction_timeout_ms="1000", linger_ms="0")
    broker.errors[ApiKey.PRODUCE] = [ErrorCode.NOT_ENOUGH_REPLICAS] * 1_000
    with pytest.raises(BrokerError, match=r"[Tt]imed out"):
        write(config, b"a")
