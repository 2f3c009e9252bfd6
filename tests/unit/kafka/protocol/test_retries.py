"""How long requests are retried, through which brokers, and what a frozen broker costs.

The brokers are simulated. A timeout of a minute is one that a test must not wait for: it would exceed pytest's.
"""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest

from kafka_sql.errors import BrokerError, BrokerUnreachableError
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.direct.coordinator import Coordinator
from kafka_sql.kafka.direct.writes.producer_state import ProducerState
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol import addresses, retries, transactions
from kafka_sql.kafka.protocol import connection as connection_module
from kafka_sql.kafka.protocol.addresses import Address, connection_timeout, note_failure, note_success
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.protocol.errors import RetriableError
from kafka_sql.kafka.protocol.retries import (
    Retries,
    TimeLimit,
    api_limit,
    block_limit,
    first_response_limit,
    request_timeout,
    retry_until,
)
from tests.model.cluster import Clock
from tests.unit.kafka.direct.simulated_broker import SILENT, SimulatedBroker, simulated_broker

pytestmark = pytest.mark.timeout(50)
INIT, METADATA = ApiKey.INIT_PRODUCER_ID, ApiKey.METADATA
LIMIT = TimeLimit(30, "x.ms")


@pytest.fixture(autouse=True)
def no_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with no remembered failure, and try servers in the order of the configuration."""
    monkeypatch.setattr(addresses, "_failures", {})
    monkeypatch.setattr(connection_module, "_last_timed_out", [0.0])
    monkeypatch.setattr(random, "shuffle", lambda _: None)


@contextmanager
def cluster(count: int) -> Iterator[list[SimulatedBroker]]:
    """Run brokers that list each other."""
    with ExitStack() as stack:
        brokers = [stack.enter_context(simulated_broker(t=1)) for _ in range(count)]
        for broker in brokers:
            broker.nodes = {i: broker.address for i, broker in enumerate(brokers, 7)}
        yield brokers


@contextmanager
def frozen_servers(count: int) -> Iterator[list[Address]]:
    """Run servers that accept connections and never respond, as frozen brokers do."""
    with ExitStack() as stack:
        yield [stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[:2] for _ in range(count)]


def config_of(*servers: Address, **properties: str) -> dict[str, str]:
    named = {key.replace("_", "."): value for key, value in properties.items()}
    return to_librdkafka({"bootstrap.servers": ",".join(f"{host}:{port}" for host, port in servers), **named})


@contextmanager
def producer(*servers: Address, **properties: str) -> Iterator[ProducerState]:
    config = config_of(*servers, **properties)
    with closing(ConnectionPool(config)) as leaders, closing(ConnectionPool(config)) as any_broker:
        yield ProducerState(config, leaders, any_broker)


def failing(*errors: Exception) -> Callable[[], str]:
    remaining = iter(errors)

    def request() -> str:
        error = next(remaining, None)
        if error is not None:
            raise error
        return "done"

    return request


def test_what_is_retried() -> None:
    forgotten = []
    errors = (OSError("reset"), RetriableError(ErrorCode.LEADER_NOT_AVAILABLE), EOFError())
    with closing(ConnectionPool(config_of(("b", 1)))) as pool:
        assert retry_until(failing(*errors), pool, LIMIT, "r", lambda: forgotten.append(1)) == "done"
        assert len(forgotten) == 2  # a connection is not closed after an error code
        with pytest.raises(BrokerError, match="rejected"):
            retry_until(failing(BrokerError("rejected")), pool, LIMIT, "r")


def test_pauses_grow_until_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(retries, "time", clock)
    monkeypatch.setattr(random, "uniform", lambda *_: 1.0)
    attempts, began = Retries("Fetch of t[0]", "b:1", lambda: LIMIT), clock.now
    pauses = list[float]()

    def retry() -> None:
        while True:
            before = clock.now
            attempts.pause("b:1: timed out")
            pauses.append(round(clock.now - before, 2))

    with pytest.raises(BrokerUnreachableError) as caught:
        retry()
    assert pauses[:8] == [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1, 1]
    assert clock.now == began + 30  # the last attempt begins before the limit, not after it
    assert str(caught.value) == (
        "[BROKER_UNREACHABLE] No broker of 'b:1' (option 'properties.bootstrap.servers') completed the request Fetch "
        "of t[0] within 30 s: b:1: timed out. Check the address, the brokers, the network and "
        "'properties.security.protocol'; 'properties.x.ms' sets how long to retry."
    )


def test_time_limits() -> None:
    config = config_of(("b", 1))
    assert api_limit(config) == block_limit(config) == (60, "default.api.timeout.ms")
    assert first_response_limit(config) == (10, "socket.connection.setup.timeout.ms")
    assert request_timeout(config) == 10
    config = config_of(("b", 1), default_api_timeout_ms="5000", max_block_ms="7000", request_timeout_ms="3000")
    assert api_limit(config) == first_response_limit(config) == (5, "default.api.timeout.ms")
    assert block_limit(config) == (7, "max.block.ms")
    assert request_timeout(config) == 3


def test_a_broker_that_returns_a_retriable_error_is_not_the_next_choice() -> None:
    """Its request to a frozen controller may take as long as all attempts."""
    with cluster(3) as brokers:
        for broker in brokers[:2]:
            broker.errors[INIT] = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 100
        # one bootstrap server: the others are learned from it
        with producer(brokers[0].address) as state:
            assert state.new_producer_id().id > 0
        assert [broker.requests.count(INIT) for broker in brokers] == [1, 1, 1]


def test_each_broker_is_asked_again_if_all_return_retriable_errors() -> None:
    with cluster(2) as brokers:
        for broker in brokers:
            broker.errors[INIT] = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2
        with producer(*(broker.address for broker in brokers)) as state:
            assert state.new_producer_id().id > 0
        assert sorted(broker.requests.count(INIT) for broker in brokers) == [2, 3]


def test_the_error_has_the_last_reason_of_each_broker() -> None:
    with cluster(2) as (silent, loading), socket.create_server(("127.0.0.1", 0)) as server:
        unreachable = server.getsockname()
        server.close()
        silent.errors[INIT] = [SILENT] * 100
        loading.errors[INIT] = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 100
        servers = unreachable, silent.address, loading.address
        properties = {"request_timeout_ms": "100", "max_block_ms": "1000"}
        with producer(*servers, **properties) as state, pytest.raises(BrokerUnreachableError) as caught:
            state.new_producer_id()
    message = caught.value.message
    assert "completed the request InitProducerId within 1 s: " in message
    for (host, port), reason in zip(servers, ("[Errno 111] Connection refused", "timed out", "the coor"), strict=True):
        assert f"{host}:{port}: {reason}" in message
    assert "'properties.max.block.ms' sets how long to retry" in message


@pytest.mark.long
@pytest.mark.parametrize("count", [1, 2])
def test_frozen_bootstrap_servers_cost_less_than_their_timeout(count: int) -> None:
    with simulated_broker() as broker, frozen_servers(count) as frozen:
        config = config_of(*frozen, broker.address, socket_connection_setup_timeout_ms="60000")
        with closing(ConnectionPool(config)) as pool:
            assert pool.any_connection().address == broker.address
        began = time.monotonic()
        with closing(ConnectionPool(config)) as pool:  # the process remembers them
            assert pool.any_connection().address == broker.address
        assert time.monotonic() - began < 1  # less than the time after which the next server is tried


def test_a_frozen_coordinator_costs_one_timeout_and_not_one_per_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until its session has expired, brokers return its address."""
    seconds = list[float]()
    monkeypatch.setattr(addresses, "_SHORT_TIMEOUT", 0.01)
    with simulated_broker() as broker, frozen_servers(1) as (frozen,):
        config = config_of(broker.address, socket_connection_setup_timeout_ms="1000", default_api_timeout_ms="60000")
        coordinators = iter([frozen] * 4)

        def find(connection: object, ids: list[str], key_type: int) -> dict[str, tuple[int, Address]]:
            seconds.append(connection_timeout(frozen, 60.0))
            return dict.fromkeys(ids, (0, next(coordinators, broker.address)))

        monkeypatch.setattr(transactions, "find_coordinators", find)
        with closing(ConnectionPool(config)) as pool:
            coordinator = Coordinator(config, pool, "id")
            code, *_ = coordinator.ask(transactions.init_producer_id("id", 1000), transactions.read_init_producer_id)
        assert code == ErrorCode.NONE
    assert seconds == [60, 0.01, 0.02, 0.04, 0.08]


def test_a_connection_that_stops_responding_has_the_same_effect() -> None:
    """A leader that is frozen has little time for the next connection, whichever request found out."""
    with simulated_broker() as broker:
        broker.errors[METADATA] = [SILENT]
        with closing(ConnectionPool(broker.config())) as pool:
            with pytest.raises(TimeoutError):
                pool.topic_metadata("t", 0.05)
            assert connection_timeout(broker.address, 10) == 1
            assert pool.topic_metadata("t").code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert connection_timeout(broker.address, 10) == 10


def test_timeouts_of_connections() -> None:
    address = ("b", 1)
    note_failure(address, ConnectionRefusedError())
    assert connection_timeout(address, 10) == 10  # a broker that is restarting refuses at once
    timeouts = list[float]()
    for _ in range(6):
        note_failure(address, TimeoutError())
        timeouts.append(connection_timeout(address, 10))
    assert timeouts == [1, 2, 4, 8, 10, 10]
    assert connection_timeout(address, 0.5) == 0.5
    note_success(address)
    assert connection_timeout(address, 10) == 10


def test_an_open_connection_to_another_broker_is_preferred() -> None:
    with cluster(2) as (first, second), closing(ConnectionPool(config_of(first.address, second.address))) as pool:
        assert pool.any_connection().address == first.address
        pool.connect_to(second.address)
        note_failure(first.address, TimeoutError())  # on a connection of another pool
        assert pool.any_connection().address == second.address
