"""Version negotiation, throttling, and waiting for responses on connections to a simulated broker."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from kafka_sql import __version__
from kafka_sql.errors import BrokerError, UnsupportedVersionError
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.direct.writes.batch import ProducerIdAndEpoch
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol import codec, produce, transactions
from kafka_sql.kafka.protocol.codec import ApiKey, Reader, pack
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from kafka_sql.kafka.protocol.metadata import metadata, read_metadata
from kafka_sql.kafka.protocol.produce import ProduceResult, read_produce
from tests.certificates import create_authority, sign_certificate
from tests.unit.kafka.direct.simulated_broker import LOST, SILENT, SimulatedBroker, simulated_broker


@pytest.fixture
def broker() -> Iterator[SimulatedBroker]:
    with simulated_broker(a=2, b=3) as running:
        yield running


@pytest.fixture
def connect(broker: SimulatedBroker) -> Iterator[Callable[[], Connection]]:
    """Return a function that connects to the broker."""
    opened = list[Connection]()

    def run() -> Connection:
        opened.append(Connection(broker.address, broker.config()))
        return opened[-1]

    yield run
    for connection in opened:
        connection.close()


@pytest.mark.parametrize("version", range(4, 13))
def test_metadata(broker: SimulatedBroker, connect: Callable[[], Connection], version: int) -> None:
    broker.leaderless.add(("b", 1))
    broker.versions[ApiKey.METADATA] = (0, version)
    cluster = read_metadata(connect().ask(metadata(["a", "b", "c"])))
    assert broker.requested_versions[ApiKey.METADATA] == [version]
    assert cluster.brokers == {7: broker.address}
    assert cluster.topic("a") == (ErrorCode.NONE, [broker.address] * 2)
    assert cluster.topic("b") == (ErrorCode.NONE, [broker.address, None, broker.address])
    assert cluster.topic("c") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])


@pytest.mark.parametrize("version", range(1, 5))
def test_find_coordinators(broker: SimulatedBroker, connect: Callable[[], Connection], version: int) -> None:
    broker.versions[ApiKey.FIND_COORDINATOR] = (0, version)
    count = 1 if version == 4 else 2
    expected = dict.fromkeys(["x", "y"], (ErrorCode.NONE, broker.address))
    assert transactions.find_coordinators(connect(), ["x", "y"]) == expected
    broker.errors[ApiKey.FIND_COORDINATOR] = [ErrorCode.COORDINATOR_NOT_AVAILABLE] * count
    found = transactions.find_coordinators(connect(), ["x", "y"])
    assert {code for code, _ in found.values()} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert broker.requested_versions[ApiKey.FIND_COORDINATOR] == [version] * 2 * count


@pytest.mark.parametrize("version", range(5))
def test_init_producer_id(broker: SimulatedBroker, connect: Callable[[], Connection], version: int) -> None:
    broker.versions[ApiKey.INIT_PRODUCER_ID] = (0, version)
    for transactional_id in ("x", None):
        response = connect().ask(transactions.init_producer_id(transactional_id, 60_000))
        assert transactions.read_init_producer_id(response)[::2] == (ErrorCode.NONE, 3)
    assert broker.requested_versions[ApiKey.INIT_PRODUCER_ID] == [version] * 2


@pytest.mark.parametrize("version", range(4))
def test_add_partitions(broker: SimulatedBroker, connect: Callable[[], Connection], version: int) -> None:
    broker.versions[ApiKey.ADD_PARTITIONS_TO_TXN] = (0, version)
    response = connect().ask(transactions.add_partitions_to_txn("x", 7, 1, "b", [0, 2]))
    assert transactions.read_add_partitions_to_txn(response) == {0: ErrorCode.NONE, 2: ErrorCode.NONE}
    assert broker.requested_versions[ApiKey.ADD_PARTITIONS_TO_TXN] == [version]


@pytest.mark.parametrize("version", range(5))
def test_end_txn(broker: SimulatedBroker, connect: Callable[[], Connection], version: int) -> None:
    broker.versions[ApiKey.END_TXN] = (0, version)
    response = connect().ask(transactions.end_txn("x", 7, 1, committed=True))
    assert transactions.read_end_txn(response) == ErrorCode.NONE
    assert broker.ended == [(7, 1, True)]
    assert broker.requested_versions[ApiKey.END_TXN] == [version]


def record_batch(value: bytes) -> bytes:
    """Return a record batch; only its header is valid."""
    header = pack("qiibIhiqqqhii", 0, 49 + len(value), 0, 2, 0, 0, 0, 0, 0, *ProducerIdAndEpoch(7, 0)[:2], 0, 1)
    return header + value


@pytest.mark.parametrize("version", range(3, 12))
def test_produce(broker: SimulatedBroker, connect: Callable[[], Connection], version: int) -> None:
    broker.versions[ApiKey.PRODUCE] = (0, version)
    broker.messages = {ErrorCode.INVALID_RECORD: "no key"}
    connection = connect()
    batches = {("a", 1): record_batch(b"1"), ("b", 0): record_batch(b"23"), ("b", 2): record_batch(b"4" * 200)}
    for transactional_id, code in (("x", ErrorCode.NONE), (None, ErrorCode.INVALID_RECORD)):
        broker.errors[ApiKey.PRODUCE] = [code]
        sizes = [(topic, partition, len(batch)) for (topic, partition), batch in batches.items()]
        request, tails = produce.produce(connection, transactional_id, sizes, -1, 1000)
        parts = [part for batch, tail in zip(batches.values(), tails, strict=True) for part in (batch, tail)]
        results = read_produce(connection.receive(request, connection.send(request, parts)))
        message = "no key" if code and version >= 8 else ""
        assert results == dict.fromkeys(batches, ProduceResult(code, -1 if code else 0, message))
    assert {partition: log for partition, log in broker.logs.items() if log} == {p: [b] for p, b in batches.items()}
    assert broker.requested_versions[ApiKey.PRODUCE] == [version] * 2


def test_rejected_records_are_listed() -> None:
    errors = [pack("i", i) + codec.string(None if i == 1 else f"bad {i}") for i in range(5)]
    result = pack("ihqqq", 0, ErrorCode.INVALID_RECORD, -1, -1, -1) + codec.array(errors) + codec.string("2 are bad")
    body = pack("i", 1) + codec.string("t") + codec.array([result]) + pack("i", 0)
    assert read_produce(Reader(body, version=8))["t", 0].message == (
        "2 are bad; record 0 of the batch: bad 0; record 1 of the batch: None; record 2 of the batch: bad 2; ..."
    )


def test_zstd_needs_a_later_version(broker: SimulatedBroker, connect: Callable[[], Connection]) -> None:
    broker.versions[ApiKey.PRODUCE] = (0, 6)
    with pytest.raises(UnsupportedVersionError, match=r"request Produce .* supports 0 to 6, .* one of 7 to 11\."):
        produce.produce(connect(), None, [("a", 0, 1)], -1, 1000, produce.OLDEST_VERSION_WITH_ZSTD)


@pytest.mark.parametrize(
    ("supported", "expected"),
    [
        (
            None,
            r"Broker 127.0.0.1:\d+ does not support request EndTxn .*: it supports none, .* of 1 to 4\. Upgrade the",
        ),
        ((0, 0), r"it supports 0 to 0, kafka_sql needs one of 1 to 4\. Upgrade the brokers"),
        ((5, 7), r"it supports 5 to 7, .* Upgrade kafka_sql"),
        ((4, 2), r"it supports 4 to 2, "),  # out of order
        ((-1, -1), r"it supports -1 to -1, "),
    ],
)
def test_missing_versions(
    broker: SimulatedBroker, connect: Callable[[], Connection], supported: tuple[int, int] | None, expected: str
) -> None:
    del broker.versions[ApiKey.END_TXN]
    if supported is not None:
        broker.versions[ApiKey.END_TXN] = supported
    with pytest.raises(UnsupportedVersionError, match=expected):
        connect().choose_version(ApiKey.END_TXN, 1, 4)


@pytest.mark.parametrize(("supported", "expected"), [((0, 9), 4), ((2, 3), 3), ((4, 4), 4), ((0, 1), 1)])
def test_the_latest_common_version_is_chosen(
    broker: SimulatedBroker, connect: Callable[[], Connection], supported: tuple[int, int], expected: int
) -> None:
    broker.versions[ApiKey.END_TXN] = supported
    assert connect().choose_version(ApiKey.END_TXN, 1, 4) == expected


@pytest.mark.parametrize(("latest", "requested"), [(0, [0]), (2, [0]), (3, [3]), (4, [3])])
def test_api_versions(
    broker: SimulatedBroker, connect: Callable[[], Connection], latest: int, requested: list[int]
) -> None:
    """A broker that does not support version 3 returns UNSUPPORTED_VERSION, as in KIP-511."""
    broker.versions[ApiKey.API_VERSIONS] = (0, latest)
    assert connect().versions == broker.versions
    assert broker.requested_versions[ApiKey.API_VERSIONS] == requested


def test_api_versions_with_an_error_code(broker: SimulatedBroker, connect: Callable[[], Connection]) -> None:
    broker.errors[ApiKey.API_VERSIONS] = [ErrorCode.INVALID_REQUEST]
    with pytest.raises(BrokerError, match=r"did not return its API versions: .*INVALID_REQUEST"):
        connect()


def test_client_software(broker: SimulatedBroker, connect: Callable[[], Connection]) -> None:
    """Brokers reject names with characters other than letters, digits, hyphens and dots (KIP-511)."""
    connect()
    assert broker.client_software == ("kafka-sql", __version__)


def test_a_throttled_connection_waits(broker: SimulatedBroker, connect: Callable[[], Connection]) -> None:
    connection = connect()
    assert connection.ready_at == 0.0
    broker.throttle_ms = 200
    connection.ask(metadata([]))  # reading the response throttles
    assert connection.ready_at == 0.0
    read_metadata(connection.ask(metadata([])))
    assert 0 < connection.ready_at - time.monotonic() <= 0.2
    broker.throttle_ms = 0
    ready_at = connection.ready_at
    connection.ask(metadata([]))
    assert time.monotonic() >= ready_at
    connection.throttle(100)
    connection.throttle(-5)
    assert connection.ready_at > time.monotonic()
    ready_at = connection.ready_at
    connection.ask_all([metadata([]), metadata([])])
    assert time.monotonic() >= ready_at


Ask = Callable[[Connection], Any]
THROTTLED: dict[ApiKey, tuple[int, Ask]] = {
    # the first version in which the client waits, and not the broker (KIP-219)
    ApiKey.METADATA: (6, lambda c: read_metadata(c.ask(metadata(["a"])))),
    ApiKey.FIND_COORDINATOR: (2, lambda c: transactions.find_coordinators(c, ["x"])),
    ApiKey.INIT_PRODUCER_ID: (
        1,
        lambda c: transactions.read_init_producer_id(c.ask(transactions.init_producer_id(None, 1))),
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: (
        1,
        lambda c: transactions.read_add_partitions_to_txn(
            c.ask(transactions.add_partitions_to_txn("x", 7, 1, "a", [0]))
        ),
    ),
    ApiKey.END_TXN: (
        1,
        lambda c: transactions.read_end_txn(c.ask(transactions.end_txn("x", 7, 1, committed=False))),
    ),
}


@pytest.mark.parametrize("key", THROTTLED)
def test_every_response_throttles(broker: SimulatedBroker, connect: Callable[[], Connection], key: ApiKey) -> None:
    first, ask = THROTTLED[key]
    oldest, latest = broker.versions[key]
    for version in range(oldest, latest + 1):
        broker.versions[key], broker.throttle_ms = (version, version), 0
        connection = connect()
        broker.throttle_ms = 30_000
        ask(connection)
        assert (connection.ready_at > time.monotonic() + 20) == (version >= first)


@pytest.mark.parametrize("version", [5, 6, 9])
def test_produce_throttles(broker: SimulatedBroker, connect: Callable[[], Connection], version: int) -> None:
    broker.versions[ApiKey.PRODUCE] = (3, version)
    connection, batch = connect(), record_batch(b"1")
    broker.throttle_ms = 30_000
    request, (tail,) = produce.produce(connection, None, [("a", 0, len(batch))], -1, 1000)
    read_produce(connection.receive(request, connection.send(request, [batch, tail])))
    assert (connection.ready_at > time.monotonic() + 20) == (version >= 6)


def test_keepalive(connect: Callable[[], Connection]) -> None:
    opened = connect()._socket
    assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    if hasattr(socket, "TCP_KEEPIDLE"):
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 60


def test_waiting_for_responses(broker: SimulatedBroker) -> None:
    with simulated_broker(a=1) as other, closing(ConnectionPool(broker.config())) as pool:
        first, second = pool.connect_to(broker.address), pool.connect_to(other.address)
        assert pool.wait([first, second], 0.05) == []
        assert not first.has_response()
        broker.errors[ApiKey.METADATA] = [SILENT]
        request = metadata(["a"])
        first.send(request)
        number = second.send(request)
        assert pool.wait([first, second], 60) == [second]
        assert second.has_response()
        assert second.has_response()
        assert read_metadata(second.receive(request, number)).topic("a").leaders == [other.address]
        assert not second.has_response()
        assert pool.wait([first, second], 0.05) == []


def test_waiting_without_connections() -> None:
    began = time.monotonic()
    assert ConnectionPool({}).wait([], 0.1) == []
    assert time.monotonic() - began >= 0.1


def test_waiting_ends_when_the_connection_ends(broker: SimulatedBroker) -> None:
    with closing(ConnectionPool(broker.config())) as pool:
        connection = pool.any_connection()
        threading.Timer(0.1, connection._socket.shutdown, [socket.SHUT_RD]).start()
        assert pool.wait([connection], 60) == [connection]
        with pytest.raises(ConnectionError):
            connection.receive(metadata([]), 1)


def test_waiting_for_a_closed_connection(broker: SimulatedBroker) -> None:
    with closing(ConnectionPool(broker.config())) as pool:
        connection = pool.any_connection()
        pool.discard(connection)
        assert pool.wait([connection], 60) == [connection]
        with pytest.raises(OSError, match="Bad file descriptor"):
            connection.receive(metadata([]), 1)


def test_metadata_is_requested_over_another_connection_after_a_failure(broker: SimulatedBroker) -> None:
    with closing(ConnectionPool(broker.config())) as pool:
        broker.errors[ApiKey.METADATA] = [LOST]
        with pytest.raises(ConnectionError):
            pool.cluster_metadata(["a"])
        assert len(pool.topic_metadata("a").leaders) == 2


def test_discarded_connections_are_closed_and_replaced(broker: SimulatedBroker) -> None:
    with closing(ConnectionPool(broker.config())) as pool:
        connection = pool.any_connection()
        pool.discard(connection)
        assert connection.fileno() == -1
        replacement = pool.connect_to(broker.address)
        assert replacement is not connection
        pool.discard(connection)  # no longer the one in use
        assert pool.connect_to(broker.address) is replacement
        assert replacement.fileno() >= 0


def respond(connection: socket.socket, body: bytes) -> None:
    """Receive a request and respond."""
    number = connection.recv(10_000)[8:12]
    connection.sendall(codec.data(number + body))


API_VERSIONS = pack("h", 0) + b"\2" + pack("hhh", ApiKey.METADATA, 4, 4) + b"\0" + pack("i", 0) + b"\0"


@pytest.mark.parametrize("secure", [False, True])
def test_an_incomplete_response_is_not_accepted(tmp_path: Path, secure: bool) -> None:
    """Over TLS, the bytes of a ticket or of half a record make the socket readable, too."""
    root = create_authority("root")
    server = sign_certificate(root, "server")
    (tmp_path / "ca.pem").write_text(root.pem)
    (tmp_path / "server.pem").write_text(server.chain + server.key())
    halves = [threading.Event(), threading.Event()]
    sent = threading.Event()

    def serve() -> None:
        plain = listening.accept()[0]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "server.pem")
        with suppress(OSError), context.wrap_socket(plain, server_side=True) if secure else plain as connection:
            respond(connection, API_VERSIONS)
            message = codec.data(connection.recv(10_000)[8:12] + b"x" * 30_000)
            for half, part in zip(halves, (message[:20_000], message[20_000:]), strict=True):
                half.wait(60)
                connection.sendall(part)
                sent.set()
            connection.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        port = listening.getsockname()[1]
        properties = {"bootstrap.servers": f"localhost:{port}", "security.protocol": "ssl" if secure else "plaintext"}
        config = {**to_librdkafka(properties), "ssl.ca.location": str(tmp_path / "ca.pem")}
        with closing(ConnectionPool(config)) as pool:
            connection = pool.any_connection()
            assert not connection.has_response()
            request = metadata([])
            number = connection.send(request)
            assert pool.wait([connection], 0.05) == []
            halves[0].set()
            assert sent.wait(60)
            assert pool.wait([connection], 0.2) == []
            halves[1].set()
            assert pool.wait([connection], 60) == [connection]
            assert len(connection.receive(request, number)._body) == 30_004
    thread.join(60)
