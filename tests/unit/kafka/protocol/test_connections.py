"""Connections to brokers: addresses, reuse, and the order of responses."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol import connection as connection_module
from kafka_sql.kafka.protocol.addresses import Address, parse_address, resolve
from kafka_sql.kafka.protocol.codec import ApiKey, MalformedResponse, Reader
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.protocol.errors import RetriableError, check_complete, raise_for_code
from kafka_sql.kafka.protocol.metadata import TopicMetadata, metadata, read_metadata
from tests.unit.kafka.direct.simulated_broker import SimulatedBroker, simulated_broker
from tests.waiting import wait_until


@pytest.fixture
def broker() -> Iterator[SimulatedBroker]:
    with simulated_broker(a=1, b=3) as running:
        yield running


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ("broker:9093", ("broker", 9093)),
        (" broker:9093 ", ("broker", 9093)),
        ("broker", ("broker", 9092)),
        ("SASL_SSL://broker:9093", ("broker", 9093)),
        ("ssl://broker", ("broker", 9092)),
        ("[::1]:9093", ("::1", 9093)),
        ("[::1]", ("::1", 9092)),
    ],
)
def test_bootstrap_servers(server: str, address: tuple[str, int]) -> None:
    assert parse_address(server, 9092) == address


def test_any_connection_skips_unreachable_servers(broker: SimulatedBroker) -> None:
    config = broker.config()
    config["bootstrap.servers"] = f"127.0.0.1:1,{config['bootstrap.servers']}"
    with closing(ConnectionPool(config)) as pool:
        connection = pool.any_connection()
        assert pool.any_connection() is connection
        assert pool.connect_to(broker.address) is connection
        pool.close()
        assert pool.any_connection() is not connection


@pytest.mark.parametrize(("servers", "message"), [("127.0.0.1:1", "refused"), ("${env:SERVERS}", "refused")])
def test_no_server_is_reachable(
    broker: SimulatedBroker, monkeypatch: pytest.MonkeyPatch, servers: str, message: str
) -> None:
    monkeypatch.setenv("SERVERS", "127.0.0.1:1")
    with pytest.raises(OSError, match=message):
        ConnectionPool({**broker.config(), "bootstrap.servers": servers}).any_connection()


def test_changed_credentials(broker: SimulatedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIENT", "old")
    with closing(ConnectionPool(broker.config(client_id="${env:CLIENT}"))) as pool:
        assert not pool.credentials_changed()  # no open connection
        pool.any_connection()
        assert not pool.credentials_changed()
        monkeypatch.setenv("CLIENT", "new")
        assert pool.credentials_changed()
        pool.close()
        assert not pool.credentials_changed()
        pool.any_connection()
        assert not pool.credentials_changed()


def test_metadata_of_topics_and_of_brokers_only(broker: SimulatedBroker) -> None:
    broker.leaderless.add(("b", 1))
    with closing(ConnectionPool(broker.config())) as pool:
        cluster = pool.cluster_metadata(["a", "b"])
        assert list(cluster.brokers.values()) == [broker.address]
        assert cluster.topic("a") == (ErrorCode.NONE, [broker.address])
        assert cluster.topic("b").leaders == [broker.address, None, broker.address]
        with pytest.raises(MalformedResponse, match="lacks topic 'c'"):
            cluster.topic("c")
        assert pool.cluster_metadata([]) == ({7: broker.address}, {})
        assert pool.topic_metadata("b") == cluster.topic("b")
        assert pool.topic_metadata("c").code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("topic", "partition", "code"),
    [
        (TopicMetadata(ErrorCode.NONE, [None]), 0, ErrorCode.LEADER_NOT_AVAILABLE),
        (TopicMetadata(ErrorCode.NONE, [("b", 1)]), 1, ErrorCode.LEADER_NOT_AVAILABLE),
        (TopicMetadata(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []), 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_partitions_without_a_leader(topic: TopicMetadata, partition: int, code: int) -> None:
    assert topic.leader(partition) is None
    with pytest.raises(RetriableError) as e:
        topic.require_leader(partition)
    assert e.value.code == code


def test_metadata_that_leaves_out_a_partition() -> None:
    partition = codec.pack("hiiii", 0, 1, 7, 0, 0)
    topic = codec.pack("h", 0) + codec.string("t") + codec.pack("?i", False, 1) + partition
    with pytest.raises(MalformedResponse, match="leaves out partitions of topic 't'"):
        read_metadata(Reader(codec.pack("ii", 0, 0) + codec.string(None) + codec.pack("ii", 7, 1) + topic, version=4))


def test_pipelined_requests(broker: SimulatedBroker) -> None:
    with closing(ConnectionPool(broker.config())) as pool:
        connection = pool.any_connection()
        responses = connection.ask_all([metadata([name]) for name in ("a", "b", "c")])
        counts = [len(read_metadata(r).topic(n).leaders) for r, n in zip(responses, "abc", strict=True)]
        assert counts == [1, 3, 0]
        first, second = metadata(["a"]), metadata(["b"])
        numbers = connection.send(first), connection.send(second)
        connection.receive(first, numbers[0])
        with pytest.raises(MalformedResponse, match="out of order"):
            connection.receive(second, numbers[1] + 1)


def test_versions_are_those_of_the_broker(broker: SimulatedBroker) -> None:
    broker.versions = {ApiKey.METADATA: (4, 12), ApiKey.API_VERSIONS: (0, 2)}
    with closing(ConnectionPool(broker.config())) as pool:
        assert pool.any_connection().versions == {ApiKey.METADATA: (4, 12), ApiKey.API_VERSIONS: (0, 2)}


def test_missing_items_and_error_codes() -> None:
    check_complete({"a": 0, "b": 0}, ["a", "b"])
    with pytest.raises(MalformedResponse, match="lacks 'b'"):
        check_complete({"a": 0}, ["a", "b", "c"])
    assert raise_for_code("x", ErrorCode.NONE, 5) == 5
    with pytest.raises(BrokerError, match=r"x: .*INVALID_TXN_STATE"):
        raise_for_code("x", ErrorCode.INVALID_TXN_STATE, 5)


def test_a_new_connection_waits_as_long_as_the_throttled_one(broker: SimulatedBroker) -> None:
    with closing(ConnectionPool(broker.config())) as pool:
        for disconnect in (pool.discard, lambda _: pool.close()):
            connection = pool.any_connection()
            connection.throttle(600_000)
            disconnect(connection)
            again = pool.connect_to(broker.address)
            assert again is not connection
            assert again.ready_at == connection.ready_at
            again.ready_at = 0.0


def test_idle_connections_are_replaced(broker: SimulatedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(connection_module.time, "monotonic", lambda: now)
    with closing(ConnectionPool(broker.config(connections_max_idle_ms="5000"))) as pool:
        connection = pool.any_connection()
        now += 4
        connection.ask(metadata([]))
        now += 4
        assert pool.any_connection() is pool.connect_to(broker.address) is connection
        correlation_id = connection.send(metadata([]))
        now += 6
        assert pool.connect_to(broker.address) is connection  # a response is on its way
        connection.receive(metadata([]), correlation_id)
        now += 6
        replaced = pool.any_connection()
        assert replaced is not connection
        now += 6
        assert pool.try_connect_to(broker.address) is None
    with closing(ConnectionPool(broker.config(connections_max_idle_ms="-1"))) as pool:
        connection = pool.any_connection()
        now += 1e6
        assert pool.any_connection() is connection


def test_connections_are_opened_in_the_background(broker: SimulatedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    may_connect, connect, error = threading.Event(), ConnectionPool._connect, ConnectionRefusedError("refused")

    def slow_connect(self: ConnectionPool, address: Address) -> Connection:
        assert may_connect.wait(60)
        if address == broker.address:
            return connect(self, address)
        raise error

    monkeypatch.setattr(ConnectionPool, "_connect", slow_connect)
    with closing(ConnectionPool(broker.config())) as pool:
        assert pool.try_connect_to(broker.address) is pool.try_connect_to(("other", 1)) is None
        assert pool.wait([], 0.01) == []
        may_connect.set()
        deadline = time.monotonic() + 60
        while pool.try_connect_to(broker.address) is None or not pool._failed:
            assert pool.wait([], 60) == []  # returns as soon as one is open
            assert time.monotonic() < deadline
        with pytest.raises(ConnectionRefusedError) as caught:
            pool.try_connect_to(("other", 1))
        assert caught.value is error
        pool.close()
        may_connect.clear()
        assert pool.try_connect_to(broker.address) is None
        (opening,) = pool._opening.values()
        pool.close()  # a connection that is opened now is closed
        may_connect.set()
        wait_until(lambda: opening.result().fileno() == -1, "the connection is closed", 60)


def test_any_connection_in_the_background(broker: SimulatedBroker) -> None:
    with closing(ConnectionPool(broker.config())) as pool:
        wait_until(lambda: pool.try_any_connection() is not None, "a connection", 60)
        connection = pool.try_any_connection()
        assert connection is pool.connect_to(broker.address)
        pool.close()
        assert pool.try_any_connection() is None
        waiting = pool.any_connection()  # does not wait for the one that is being opened
        wait_until(lambda: pool._opening[None].done(), "the other connection", 60)
        background = pool._opening[None].result()
        assert pool.try_any_connection() is waiting
        assert background.fileno() == -1
    unreachable = {**broker.config(), "bootstrap.servers": "127.0.0.1:1"}
    with closing(ConnectionPool(unreachable)) as pool:
        assert pool.try_any_connection() is None
        wait_until(lambda: pool._opening[None].done(), "the failure", 60)
        with pytest.raises(ConnectionRefusedError):
            pool.try_any_connection()


def test_name_servers_have_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    released, getaddrinfo = threading.Event(), socket.getaddrinfo

    def silent(*arguments: object, **options: int) -> object:
        if not options.get("flags"):
            released.wait(60)
        return getaddrinfo(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    with pytest.raises(TimeoutError, match=r"the name server did not return the address of 'localhost' within 0\.05 s"):
        resolve(("localhost", 1), 0.05)
    assert resolve(("127.0.0.1", 1), 0.05)[0].address == ("127.0.0.1", 1)  # no look-up
    released.set()
    assert resolve(("localhost", 1), 60)


@pytest.mark.parametrize("lookup", ["use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"])
def test_canonical_names_of_bootstrap_servers(
    broker: SimulatedBroker, monkeypatch: pytest.MonkeyPatch, lookup: str
) -> None:
    monkeypatch.setattr(socket, "getnameinfo", lambda address, flags: ("localhost", str(address[1])))
    with closing(ConnectionPool(broker.config(client_dns_lookup=lookup))) as pool:
        host = "127.0.0.1" if lookup == "use_all_dns_ips" else "localhost"
        assert pool.any_connection().address == (host, broker.address[1])


def test_unknown_bootstrap_servers_are_tried_by_name() -> None:
    config = {
        "bootstrap.servers": "unknown.invalid:1",
        "client.dns.lookup": "resolve_canonical_bootstrap_servers_only",
        "socket.connection.setup.timeout.ms": "10000",
    }
    with pytest.raises(OSError):  # noqa: PT011  # its text is the system's
        ConnectionPool(config).any_connection()
