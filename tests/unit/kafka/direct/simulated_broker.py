"""A broker in memory that serves the direct client over real connections, and returns errors on request."""

from __future__ import annotations

import socket
import struct
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.direct.reader import FetchedBatches, to_records
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import NO_TAGS, ApiKey, Reader, pack
from kafka_sql.kafka.records import RecordFields
from kafka_sql.kafka.types import TopicPartition

LOST: Final = -1000  # instead of an error code: the request is processed, and the connection is closed
SILENT: Final = -1001  # instead of an error code: the request is processed, and no response is sent
_VERSIONS: Final[dict[int, tuple[int, int]]] = {
    ApiKey.PRODUCE: (7, 7),
    ApiKey.FETCH: (4, 4),
    ApiKey.LIST_OFFSETS: (2, 2),
    ApiKey.METADATA: (4, 4),
    ApiKey.FIND_COORDINATOR: (4, 4),
    ApiKey.API_VERSIONS: (0, 0),
    ApiKey.INIT_PRODUCER_ID: (1, 3),
    ApiKey.ADD_PARTITIONS_TO_TXN: (1, 1),
    ApiKey.END_TXN: (1, 1),
}
_FLEXIBLE: Final = ((ApiKey.FIND_COORDINATOR, 4), (ApiKey.INIT_PRODUCER_ID, 3))


class SimulatedBroker:
    """The only broker of a cluster.

    Attributes:
        topics: the number of partitions of each topic.
        leaderless: partitions without a leader.
        logs: the record batches of each partition, with their offsets.
        last_stable_offset: of all partitions; None if no transaction is open.
        aborted: producer id and first offset of the aborted transactions that Fetch responses list.
        versions: the oldest and the latest supported version of each API.
        errors: error codes, LOST or SILENT, for the next requests of an API.
        requests: the APIs of all requests so far, except ApiVersions.
        ended: producer id, epoch and whether it was committed, of each ended transaction.
    """

    def __init__(self, address: tuple[str, int], **topics: int) -> None:
        self.address, self.topics = address, topics
        self.leaderless = set[TopicPartition]()
        self.logs: dict[TopicPartition, list[bytes]] = defaultdict(list)
        self.last_stable_offset: int | None = None
        self.aborted = list[tuple[int, int]]()
        self.versions = dict(_VERSIONS)
        self.errors: dict[ApiKey, list[int]] = defaultdict(list)
        self.requests = list[ApiKey]()
        self.ended = list[tuple[int, int, bool]]()
        self._sequences = dict[tuple[TopicPartition, int], int]()
        self._producer_id, self._lock = 100, threading.Lock()

    def config(self, **properties: str) -> dict[str, str]:
        """Return a client's configuration; ``_`` in a name means a dot."""
        named = {key.replace("_", "."): value for key, value in properties.items()}
        return to_librdkafka({"bootstrap.servers": "{}:{}".format(*self.address), **named})

    def values(self, topic: str, partition: int = 0) -> list[bytes | None]:
        """Return the values of all records of a partition."""
        fetched = FetchedBatches(memoryview(b"".join(self.logs[topic, partition])))
        fetched.check()
        parts = fetched.locate(0, 1 << 60, [], 1 << 20)
        return [value for columns, _ in parts for value in to_records(columns, RecordFields()).values.to_pylist()]

    def serve(self, connection: socket.socket) -> None:
        """Respond to the requests of a connection."""
        while True:
            (size,) = struct.unpack(">i", _receive(connection, 4))
            request = Reader(_receive(connection, size))
            key, version, number = ApiKey(request.number("h")), request.number("h"), request.number("i")
            is_flexible = (key, version) in _FLEXIBLE
            assert _VERSIONS[key][0] <= version <= _VERSIONS[key][1]
            request.string()  # client id
            with self._lock:
                code = ErrorCode.NONE
                if key != ApiKey.API_VERSIONS:
                    self.requests.append(key)
                    code = self.errors[key].pop(0) if self.errors[key] else ErrorCode.NONE
                body = self._handlers[key](self, request, code if code not in (LOST, SILENT) else ErrorCode.NONE)
            if code == LOST:
                return
            if code != SILENT:
                head = pack("i", number) + (NO_TAGS if is_flexible else b"")
                connection.sendall(codec.data(head + body))

    def _api_versions(self, _: Reader, code: int) -> bytes:
        versions = b"".join(pack("hhh", key, *versions) for key, versions in self.versions.items())
        return pack("hi", code, len(self.versions)) + versions

    def _metadata(self, request: Reader, code: int) -> bytes:
        names = [str(name) for name in request.array(request.string)]
        broker = pack("ii", 1, 7) + codec.string(self.address[0]) + pack("i", self.address[1]) + codec.string(None)
        topics = b"".join(self._topic(name, code) for name in names)
        return pack("i", 0) + broker + codec.string(None) + pack("ii", 7, len(names)) + topics

    def _topic(self, name: str, code: int) -> bytes:
        if name not in self.topics:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        count = self.topics[name] if code == ErrorCode.NONE else 0
        partitions = b"".join(
            pack("hiiii", 0, number, -1 if (name, number) in self.leaderless else 7, 0, 0) for number in range(count)
        )
        return pack("h", code) + codec.string(name) + pack("?i", False, count) + partitions

    def _find_coordinator(self, request: Reader, code: int) -> bytes:
        request.tags()
        request.number("b")
        keys = [str(key) for key in request.compact_array(request.compact_string)]
        host, port = self.address
        coordinators = [
            codec.compact_string(key)
            + pack("i", 7)
            + codec.compact_string(host)
            + pack("ih", port, code)
            + codec.uvarint(0)
            + NO_TAGS
            for key in keys
        ]
        return pack("i", 0) + codec.compact_array(coordinators) + NO_TAGS

    def _init_producer_id(self, _: Reader, code: int) -> bytes:
        self._producer_id += code == ErrorCode.NONE
        return pack("ihqh", 0, code, self._producer_id, 3)

    def _add_partitions(self, request: Reader, code: int) -> bytes:
        request.string()
        request.number("q"), request.number("h"), request.number("i")
        topic = request.string()
        partitions = request.array(lambda: request.number("i"))
        codes = b"".join(pack("ih", partition, code) for partition in partitions)
        return pack("ii", 0, 1) + codec.string(topic) + pack("i", len(partitions)) + codes

    def _end_txn(self, request: Reader, code: int) -> bytes:
        request.string()
        if code == ErrorCode.NONE:
            self.ended.append((request.number("q"), request.number("h"), request.number("?")))
        return pack("ih", 0, code)

    def _produce(self, request: Reader, code: int) -> bytes:
        request.string()
        acks, _, topic_count = request.number("h"), request.number("i"), request.number("i")
        assert (acks, topic_count) == (-1, 1)
        topic = str(request.string())
        batches = request.array(lambda: (request.number("i"), request.data()))
        results = b"".join(
            pack("ihqqq", partition, *self._append((topic, partition), batch, code), -1, 0)
            for partition, batch in batches
        )
        return pack("i", 1) + codec.string(topic) + pack("i", len(batches)) + results + pack("i", 0)

    def _append(self, partition: TopicPartition, batch: bytes, code: int) -> tuple[int, int]:
        """Append a batch; return the error code and the offset."""
        producer, _, sequence, count = struct.unpack_from(">qhii", batch, 43)
        expected = self._sequences.get((partition, producer), sequence)
        if code == ErrorCode.NONE and sequence < expected:
            code = ErrorCode.DUPLICATE_SEQUENCE_NUMBER
        if code == ErrorCode.NONE and sequence > expected:
            code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if code != ErrorCode.NONE:
            return code, -1
        offset = self.end_offset(partition)
        self.logs[partition].append(pack("q", offset) + batch[8:])
        self._sequences[partition, producer] = sequence + count
        return code, offset

    def end_offset(self, partition: TopicPartition) -> int:
        """Return the offset after a partition's last record."""
        return sum(struct.unpack_from(">i", batch, 57)[0] for batch in self.logs[partition])

    def _fetch(self, request: Reader, code: int) -> bytes:
        for layout in "iiiibi":
            request.number(layout)
        topic = str(request.string())
        _, partition, offset, max_bytes = (request.number(layout) for layout in "iiqi")
        records = b""
        for batch in self.logs[topic, partition]:
            (base,), (delta,) = struct.unpack_from(">q", batch), struct.unpack_from(">i", batch, 23)
            if code == ErrorCode.NONE and base + delta >= offset and (not records or len(records) < max_bytes):
                records += batch
        end = self.end_offset((topic, partition))
        stable = end if self.last_stable_offset is None else self.last_stable_offset
        aborted = pack("i", len(self.aborted)) + b"".join(pack("qq", *transaction) for transaction in self.aborted)
        head = pack("ii", 0, 1) + codec.string(topic) + pack("iihqq", 1, partition, code, end, stable)
        return head + aborted + codec.data(records)

    def _list_offsets(self, request: Reader, code: int) -> bytes:
        _, is_committed, _ = (request.number(layout) for layout in "ibi")
        topic = str(request.string())
        _, partition, timestamp = (request.number(layout) for layout in "iiq")
        assert timestamp == -1
        offset = self.end_offset((topic, partition))
        if is_committed and self.last_stable_offset is not None:
            offset = self.last_stable_offset
        head = pack("ii", 0, 1) + codec.string(topic)
        return head + pack("iihqq", 1, partition, code, -1, offset if code == ErrorCode.NONE else -1)

    _handlers: Final[dict[ApiKey, Callable[[SimulatedBroker, Reader, int], bytes]]] = {
        ApiKey.API_VERSIONS: _api_versions,
        ApiKey.METADATA: _metadata,
        ApiKey.FIND_COORDINATOR: _find_coordinator,
        ApiKey.INIT_PRODUCER_ID: _init_producer_id,
        ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions,
        ApiKey.END_TXN: _end_txn,
        ApiKey.PRODUCE: _produce,
        ApiKey.FETCH: _fetch,
        ApiKey.LIST_OFFSETS: _list_offsets,
    }


def _receive(connection: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        part = connection.recv(size - len(content))
        if not part:
            raise ConnectionError
        content += part
    return content


@contextmanager
def simulated_broker(**topics: int) -> Iterator[SimulatedBroker]:
    """Run a broker for a ``with`` block.

    Args:
        topics: the number of partitions of each topic.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        broker = SimulatedBroker(listening.getsockname()[:2], **topics)
        connections = list[socket.socket]()

        def handle(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                broker.serve(connection)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connections.append(listening.accept()[0])
                    threading.Thread(target=handle, args=(connections[-1],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield broker
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
