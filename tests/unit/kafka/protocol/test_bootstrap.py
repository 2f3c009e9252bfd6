"""Test which broker a client asks. It waits only once for a server that does not respond."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import pytest

from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol import addresses
from kafka_sql.kafka.protocol import connection as connection_module
from kafka_sql.kafka.protocol.addresses import (
    Address,
    Endpoint,
    note_failure,
    note_success,
    order_by_failure,
    resolve,
)
from kafka_sql.kafka.protocol.codec import ApiKey, Reader
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.protocol.metadata import metadata
from tests.unit.kafka.direct.simulated_broker import SILENT, SimulatedBroker, simulated_broker


@pytest.fixture(autouse=True)
def no_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with no remembered failure, and try servers in the order of the configuration."""
    monkeypatch.setattr(addresses, "_failures", {})
    monkeypatch.setattr(connection_module, "_last_timed_out", [0.0])
    monkeypatch.setattr(random, "shuffle", lambda _: None)


@pytest.fixture
def broker() -> Iterator[SimulatedBroker]:
    with simulated_broker(t=1) as running:
        yield running


@contextmanager
def frozen_server() -> Iterator[tuple[Address, list[socket.socket]]]:
    """Accept connections and never respond; yield the address and the connections so far."""
    accepted = list[socket.socket]()

    def accept() -> None:
        with suppress(OSError):
            while True:
                accepted.append(listening.accept()[0])

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield listening.getsockname()[:2], accepted
        for connection in accepted:
            connection.close()


def config_of(broker: SimulatedBroker, *first: Address) -> dict[str, str]:
    """Return a configuration with these bootstrap servers and then the broker."""
    config = broker.config(socket_connection_setup_timeout_ms="1000")
    servers = ",".join(f"{host}:{port}" for host, port in (*first, broker.address))
    return {**config, "bootstrap.servers": servers}


def test_the_client_waits_only_once_for_a_frozen_bootstrap_server(broker: SimulatedBroker) -> None:
    with frozen_server() as (frozen, accepted):
        for _ in range(5):
            with closing(ConnectionPool(config_of(broker, frozen))) as pool:
                assert pool.any_connection().address == broker.address
        assert len(accepted) == 1


def test_the_setup_timeout_holds_until_the_broker_has_returned_its_versions() -> None:
    with simulated_broker() as silent:
        silent.errors[ApiKey.API_VERSIONS] = [SILENT]
        config = silent.config(socket_connection_setup_timeout_ms="1000", socket_timeout_ms="60000")
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            Connection(silent.address, config)
        assert 1 <= time.monotonic() - began < 30


def test_the_setup_timeout_is_for_all_steps_together(monkeypatch: pytest.MonkeyPatch) -> None:
    respond = SimulatedBroker._api_versions

    def reject_slowly(self: SimulatedBroker, request: Reader, code: int) -> bytes:
        time.sleep(0.7)
        return respond(self, request, ErrorCode.UNSUPPORTED_VERSION if request.version else ErrorCode.NONE)

    monkeypatch.setitem(SimulatedBroker._handlers, ApiKey.API_VERSIONS, reject_slowly)
    with simulated_broker() as slow, pytest.raises(TimeoutError):
        Connection(slow.address, slow.config(socket_connection_setup_timeout_ms="1000"))


def test_a_broker_that_stops_responding_is_not_the_next_choice(broker: SimulatedBroker) -> None:
    with simulated_broker(t=1) as other:
        other.errors[ApiKey.METADATA] = [SILENT]
        with closing(ConnectionPool(config_of(broker, other.address))) as pool:
            connection = pool.any_connection()
            assert connection.address == other.address
            with pytest.raises(TimeoutError):
                connection.ask(metadata([]), 0.1)
            pool.discard(connection)
            assert pool.any_connection().address == broker.address


def test_a_timeout_on_one_connection_replaces_the_idle_ones(broker: SimulatedBroker) -> None:
    with simulated_broker() as other, closing(ConnectionPool(broker.config())) as pool:
        idle = pool.connect_to(broker.address)
        busy, used = Connection(broker.address, broker.config()), Connection(broker.address, broker.config())
        number = busy.send(metadata([]))
        silent = Connection(other.address, other.config())
        other.errors[ApiKey.METADATA] = [SILENT]
        with closing(busy), closing(used), closing(silent):
            timer = threading.Timer(0.1, lambda: used.ask(metadata([])))
            timer.start()
            with pytest.raises(TimeoutError):
                silent.ask(metadata([]), 0.3)
            timer.join()
            assert idle.may_be_dead()
            assert not busy.may_be_dead()  # its response has its own timeout
            assert not used.may_be_dead()
            busy.receive(metadata([]), number)
        assert pool.any_connection() is not idle
        assert pool.connect_to(broker.address) is pool.any_connection()
        assert not pool.any_connection().may_be_dead()


def test_a_timeout_while_connecting_replaces_no_connections(broker: SimulatedBroker) -> None:
    with frozen_server() as (frozen, _), closing(ConnectionPool(config_of(broker, frozen))) as pool:
        idle = pool.connect_to(broker.address)
        with pytest.raises(TimeoutError):
            pool.connect_to(frozen)
        assert pool.any_connection() is idle


def test_brokers_of_the_last_metadata_replace_unreachable_bootstrap_servers(broker: SimulatedBroker) -> None:
    with simulated_broker() as other:
        config = config_of(other)
        with closing(ConnectionPool(config)) as pool:
            address = other.address
            other.address = broker.address  # its Metadata response lists the other broker
            assert pool.cluster_metadata([]).brokers == {7: broker.address}
            pool.close()
            note_failure(address)
            assert pool.any_connection().address == broker.address


def test_a_throttled_broker_is_not_asked_if_there_is_another_connection(broker: SimulatedBroker) -> None:
    with simulated_broker() as other, closing(ConnectionPool(config_of(broker))) as pool:
        first = pool.any_connection()
        second = pool.connect_to(other.address)
        assert pool.any_connection() is first
        first.throttle(60_000)
        assert pool.any_connection() is second


def test_order_of_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = [("a", 1), ("b", 1), ("c", 1), ("b", 1)]
    assert order_by_failure(servers) == [("a", 1), ("b", 1), ("c", 1)]
    note_failure(("b", 1))
    note_failure(("a", 1))
    assert order_by_failure(servers) == [("c", 1), ("b", 1), ("a", 1)]
    note_success(("a", 1))
    assert order_by_failure(servers) == [("a", 1), ("c", 1), ("b", 1)]
    monkeypatch.setattr(addresses, "_MEMORY", 0.0)
    assert order_by_failure(servers) == [("a", 1), ("b", 1), ("c", 1)]


def test_bootstrap_servers_are_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "shuffle", lambda servers: servers.reverse())
    assert order_by_failure([("a", 1), ("b", 1)]) == [("b", 1), ("a", 1)]


def test_remembered_failures_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "_MAX_FAILURES", 3)
    for port in range(10):
        note_failure(("a", port))
    assert len(addresses._failures) <= 3


def test_all_ip_addresses_of_a_broker_are_tried(broker: SimulatedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    host, port = broker.address
    with frozen_server() as (frozen, accepted):
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in (frozen, (host, port))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        expected = [Endpoint(socket.AF_INET, frozen), Endpoint(socket.AF_INET, (host, port))]
        assert resolve(("name", port), 1.0) == expected
        for _ in range(3):
            Connection(("name", port), config_of(broker)).close()
        assert len(accepted) == 1


def test_retriable_error_codes_are_not_failures_of_the_address(broker: SimulatedBroker) -> None:
    broker.errors[ApiKey.METADATA] = [ErrorCode.REQUEST_TIMED_OUT]
    with closing(ConnectionPool(config_of(broker))) as pool:
        pool.topic_metadata("t")
    assert addresses._failures == {}
