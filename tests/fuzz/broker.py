"""Fuzz responses of broken or hostile brokers: the client must parse them or raise one of its errors."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Callable, Sized
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final
from unittest import mock

import pyarrow as pa

from kafka_sql.errors import KafkaSqlError
from kafka_sql.kafka.config.properties import DEFAULTS
from kafka_sql.kafka.direct.writes.producer import DirectProducer
from kafka_sql.kafka.direct.writes.producer_state import open_producer_state
from kafka_sql.kafka.direct.writes.transactional_producer import open_direct_transaction
from kafka_sql.kafka.protocol import codec, connection, transactions
from kafka_sql.kafka.protocol.addresses import Endpoint
from kafka_sql.kafka.protocol.codec import ApiKey, MalformedResponse, Reader
from kafka_sql.kafka.protocol.fetch import read_fetch
from kafka_sql.kafka.protocol.messages import read_response
from kafka_sql.kafka.protocol.metadata import read_metadata
from kafka_sql.kafka.protocol.produce import read_produce
from kafka_sql.kafka.protocol.transaction_admin import EndTxnTarget, TransactionAdmin
from kafka_sql.kafka.protocol.transactions import TransactionDescription
from tests.fuzz.mutation import mutate

CORPUS: Final = Path(__file__).with_name("corpus") / "responses.json"
_READERS: Final[dict[ApiKey, Callable[[Reader], Any]]] = {
    ApiKey.METADATA: read_metadata,
    ApiKey.FIND_COORDINATOR: lambda response: read_response(response, ApiKey.FIND_COORDINATOR),
    ApiKey.INIT_PRODUCER_ID: transactions.read_init_producer_id,
    ApiKey.END_TXN: transactions.read_end_txn,
    ApiKey.DESCRIBE_PRODUCERS: transactions.read_describe_producers,
    ApiKey.DESCRIBE_TRANSACTIONS: transactions.read_describe_transactions,
    ApiKey.LIST_TRANSACTIONS: transactions.read_list_transactions,
    ApiKey.FETCH: lambda response: read_fetch(response, 0),
    ApiKey.ADD_PARTITIONS_TO_TXN: transactions.read_add_partitions_to_txn,
    ApiKey.PRODUCE: read_produce,
}
_LENGTHS: Final = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x80\x80\x80\x80", b"\x00\xff\xff\xff")
_SASL_MESSAGES: Final = (
    *(b"r=abc,s=QUJD,i=4096", b"r=,s=,i=99999999", b"v=AAAA", b"e=other-error", b"", b"\xff", b"i=\xc2\xb2"),
    b"r=x,s=!,i=1",
)
CONFIG: Final[dict[str, str]] = {
    **DEFAULTS,
    "bootstrap.servers": "127.0.0.1:9092",
    "delivery.timeout.ms": "0",
    "socket.timeout.ms": "1000",
    "default.api.timeout.ms": "0",
    "transaction.timeout.ms": "60000",
}
_SCRAM: Final = {
    **CONFIG,
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "SCRAM-SHA-256",
    "sasl.username": "u",
    "sasl.password": "p",
}


def recorded_responses() -> dict[str, list[bytes]]:
    """Return recorded response bodies of a real broker, by API key and version, without the correlation id."""
    recorded: dict[str, list[str]] = json.loads(CORPUS.read_text())
    return {key: [bytes.fromhex(body) for body in bodies] for key, bodies in recorded.items()}


def make_responses() -> Callable[[random.Random], str]:
    """Return a target that parses single responses."""
    bodies = recorded_responses()
    names = sorted(name for name in bodies if _key_and_version(name)[0] in _READERS)

    def feed(rng: random.Random) -> str:
        name = rng.choice(names)
        body = mutated_body(rng, bodies[name])
        try:
            key, version = _key_and_version(name)
            parsed = _READERS[key](Reader(body, version, codec.is_flexible(key, version)))
        except MalformedResponse:
            return "malformed"
        assert not isinstance(parsed, Sized) or len(parsed) <= len(body)
        return "read"

    return feed


def _key_and_version(name: str) -> tuple[ApiKey, int]:
    key, _, version = name.partition(".")
    return ApiKey(int(key)), int(version)


def mutated_body(rng: random.Random, bodies: list[bytes]) -> bytes:
    body = bytearray(mutate(rng, rng.choice(bodies)))
    if body and rng.random() < 0.2:  # a length that is far too large
        offset = rng.randrange(len(body))
        body[offset : offset + 4] = rng.choice(_LENGTHS)
    return bytes(body)


class HostileSocket:
    """A socket of a broker that responds with mutated bodies."""

    def __init__(self, rng: random.Random, bodies: dict[str, list[bytes]], unchanged: float) -> None:
        self._rng, self._bodies, self._unchanged = rng, bodies, unchanged
        self._received = bytearray()

    def sendall(self, data: bytes) -> None:
        at = 0
        while at + 12 <= len(data):
            size = int.from_bytes(data[at : at + 4], "big")
            key, version = (int.from_bytes(data[at + i : at + i + 2], "big") for i in (4, 6))
            self._received += self._frame(ApiKey(key), version, data[at + 8 : at + 12])
            at += 4 + size

    def _frame(self, key: ApiKey, version: int, number: bytes) -> bytes:
        rng = self._rng
        bodies = self._bodies.get(f"{key}.{version}", [b"\0\0"])
        body = rng.choice(bodies) if rng.random() < self._unchanged else mutated_body(rng, bodies)
        flexible = codec.is_flexible(key, version)
        if key == ApiKey.SASL_AUTHENTICATE:
            body = _sasl_response(rng, flexible)
        message = number + (b"" if key == ApiKey.API_VERSIONS else codec.tags(flexible)) + body
        chance = rng.random()
        if chance < 0.02:
            return mutate(rng, len(message).to_bytes(4, "big") + message)
        if chance < 0.03:
            return rng.choice((b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\0", b"HTTP/1.1 400")) + message
        return len(message).to_bytes(4, "big") + message

    def recv_into(self, buffer: memoryview) -> int:
        part = bytes(self._received[: self._rng.randint(1, max(1, len(buffer)))])
        buffer[: len(part)] = part
        del self._received[: len(part)]
        return len(part)

    def settimeout(self, seconds: float | None) -> None:
        pass

    def gettimeout(self) -> float:
        return 60.0

    def setsockopt(self, *_: int) -> None:
        pass

    def close(self) -> None:
        pass


def _sasl_response(rng: random.Random, flexible: bool) -> bytes:
    message = rng.choice(_SASL_MESSAGES)
    body = mutate(rng, message) if rng.random() < 0.5 else message
    return rng.choice((b"\0\0", b"\0\0", b"\0\x3a")) + codec.string(None, flexible) + codec.data(body, flexible)


@contextmanager
def hostile_broker(rng: random.Random, bodies: dict[str, list[bytes]], unchanged: float) -> Any:
    """Connect all clients to a hostile broker."""

    def connect(address: object, wait: float) -> HostileSocket:
        return HostileSocket(rng, bodies, unchanged)

    endpoint = Endpoint(socket.AF_INET, ("127.0.0.1", 9092))
    with (
        mock.patch.object(connection, "resolve", return_value=[endpoint]),
        mock.patch.object(connection, "_connect", connect),
        mock.patch.object(connection.Connection, "throttle"),  # a throttled connection waits
    ):
        yield


def make_conversations() -> Callable[[random.Random], str]:
    """Return a target that runs whole operations of the client."""
    bodies = recorded_responses()
    described = TransactionDescription("Ongoing", 1, 0, 60_000, 0, (("t", 0),))
    operations: list[Callable[[TransactionAdmin], Any]] = [
        lambda client: client.list_ongoing("p"),
        lambda client: client.describe(["p-1", "p-2"]),
        lambda client: client.commit([EndTxnTarget("p-1", 1, 0), EndTxnTarget("p-2", 2, 0)]),
        lambda client: client.abort({"p-1": described}),
        lambda client: client.first_offsets({"p-1": described}),
        lambda client: client.outcome(("t", 0, 0), 1),
        lambda client: client.can_write("p-1"),
    ]

    def feed(rng: random.Random) -> str:
        client = TransactionAdmin(_SCRAM if rng.random() < 0.2 else CONFIG)
        with hostile_broker(rng, bodies, rng.choice((0.5, 0.9))):
            try:
                rng.choice(operations)(client)
            except KafkaSqlError as e:
                return e.condition().lower()
            finally:
                client.close()
        return "completed"

    return feed


def make_writes() -> Callable[[random.Random], str]:
    """Return a target that writes rows to a hostile broker."""
    bodies = recorded_responses()
    values = pa.array([b"a", b"b", b"c"], pa.binary())

    def feed(rng: random.Random) -> str:
        try:
            with ExitStack() as stack:
                stack.enter_context(hostile_broker(rng, bodies, rng.choice((0.5, 0.9))))
                if rng.random() < 0.5:
                    state = open_producer_state(CONFIG, stack)
                    producer = stack.enter_context(closing(DirectProducer(state, "t", None)))
                else:
                    producer = stack.enter_context(open_direct_transaction(CONFIG, "d", "t"))
                producer.produce(values, values if rng.random() < 0.5 else None)
                producer.flush()
        except KafkaSqlError as e:
            return e.condition().lower()
        return "written"

    return feed
