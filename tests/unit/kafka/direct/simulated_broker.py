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
from kafka_sql.kafka.protocol.codec import ApiKey, Reader, pack
from kafka_sql.kafka.records import RecordFields
from kafka_sql.kafka.types import TopicPartition

LOST: Final = -1000  # instead of an error code: the request is processed, and the connection is closed
SILENT: Final = -1001  # instead of an error code: the request is processed, and no response is sent
_VERSIONS: Final[dict[int, tuple[int, int]]] = {
    ApiKey.PRODUCE: (3, 11),
    ApiKey.FETCH: (4, 4),
    ApiKey.LIST_OFFSETS: (2, 2),
    ApiKey.METADATA: (4, 12),
    ApiKey.FIND_COORDINATOR: (1, 4),
    ApiKey.API_VERSIONS: (0, 3),
    ApiKey.INIT_PRODUCER_ID: (0, 4),
    ApiKey.ADD_PARTITIONS_TO_TXN: (0, 3),
    ApiKey.END_TXN: (0, 4),
}


class SimulatedBroker:
    """The only broker of a cluster.

    Attributes:
        topics: the number of partitions of each topic.
        leaderless: partitions without a leader.
        logs: the record batches of each partition, with their offsets.
        last_stable_offset: of all partitions; None if no transaction is open.
        aborted: producer id and first offset of the aborted transactions that Fetch responses list.
        versions: the oldest and the latest supported version of each API; the default is all that it can simulate.
        throttle_ms: throttle time of the responses.
        messages: error messages of Produce responses, by error code.
        errors: error codes, LOST or SILENT, for the next requests of an API.
        requests: the APIs of all requests so far, except ApiVersions.
        requested_versions: the versions of all requests so far, by API.
        ended: producer id, epoch and whether it was committed, of each ended transaction.
    """

    def __init__(self, address: tuple[str, int], **topics: int) -> None:
        self.address, self.topics = address, topics
        self.leaderless = set[TopicPartition]()
        self.logs: dict[TopicPartition, list[bytes]] = defaultdict(list)
        self.last_stable_offset: int | None = None
        self.aborted = list[tuple[int, int]]()
        self.versions = dict(_VERSIONS)
        self.throttle_ms = 0
        self.messages: dict[int, str] = {}
        self.requested_versions: dict[ApiKey, list[int]] = defaultdict(list)
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
            frame = _receive(connection, size)
            key, version, number = struct.unpack_from(">hhi", frame)
            request = Reader(frame[8:], version)
            request.string()  # client id
            request.flexible = codec.is_flexible(ApiKey(key), version)
            request.tags()
            response = self._respond(ApiKey(key), request, number)
            if response == LOST:
                return
            if isinstance(response, bytes):
                connection.sendall(codec.data(response))

    def _respond(self, key: ApiKey, request: Reader, number: int) -> bytes | int:
        """Return the response, or LOST or SILENT."""
        oldest, latest = self.versions.get(key, (-1, -1))
        if key == ApiKey.API_VERSIONS and not oldest <= request.version <= latest:
            return pack("ihi", number, ErrorCode.UNSUPPORTED_VERSION, 0)
        assert oldest <= request.version <= latest, (key, request.version)
        with self._lock:
            self.requested_versions[key].append(request.version)
            if key != ApiKey.API_VERSIONS:
                self.requests.append(key)
            code = self.errors[key].pop(0) if self.errors[key] else ErrorCode.NONE
            body = self._handlers[key](self, request, code if code not in (LOST, SILENT) else ErrorCode.NONE)
        if code in (LOST, SILENT):
            return code
        head = b"" if key == ApiKey.API_VERSIONS else codec.tags(request.flexible)
        return pack("i", number) + head + body + codec.tags(request.flexible)

    def _api_versions(self, request: Reader, code: int) -> bytes:
        tags = codec.tags(request.flexible)
        versions = (pack("hhh", key, *versions) + tags for key, versions in self.versions.items())
        throttle = pack("i", self.throttle_ms) if request.version > 0 else b""
        return pack("h", code) + codec.array(versions, request.flexible) + throttle

    def _metadata(self, request: Reader, code: int) -> bytes:
        flexible, version = request.flexible, request.version

        def name() -> str:
            if version >= 10:
                assert request.number("16s") == bytes(16)
            requested = str(request.string())
            request.tags()
            return requested

        topics = codec.array([self._topic(requested, code, version) for requested in request.array(name)], flexible)
        host, port = self.address
        broker = pack("i", 7) + codec.string(host, flexible) + pack("i", port) + codec.string(None, flexible)
        brokers = codec.array([broker + codec.tags(flexible)], flexible)
        operations = pack("i", 0) if 8 <= version <= 10 else b""
        return pack("i", self.throttle_ms) + brokers + codec.string(None, flexible) + pack("i", 7) + topics + operations

    def _topic(self, name: str, code: int, version: int) -> bytes:
        flexible = codec.is_flexible(ApiKey.METADATA, version)
        if name not in self.topics:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        count = self.topics[name] if code == ErrorCode.NONE else 0
        replicas = codec.array([pack("i", 7)], flexible)

        def partition(number: int) -> bytes:
            leader = pack("i", -1 if (name, number) in self.leaderless else 7)
            epoch = pack("i", 5) if version >= 7 else b""
            offline = codec.array([], flexible) if version >= 5 else b""
            return pack("hi", 0, number) + leader + epoch + replicas * 2 + offline + codec.tags(flexible)

        topic_id = bytes(range(16)) if version >= 10 else b""
        operations = pack("i", 0) if version >= 8 else b""
        partitions = codec.array([partition(number) for number in range(count)], flexible)
        start = pack("h", code) + codec.string(name, flexible) + topic_id + pack("?", False)
        return start + partitions + operations + codec.tags(flexible)

    def _find_coordinator(self, request: Reader, code: int) -> bytes:
        flexible = request.flexible
        host, port = codec.string(self.address[0], flexible), self.address[1]
        start = pack("i", self.throttle_ms)
        if request.version < 4:
            request.string(), request.number("b")
            return start + pack("h", code) + codec.string(None, flexible) + pack("i", 7) + host + pack("i", port)
        request.number("b")
        coordinators = (
            codec.string(key, flexible)
            + pack("i", 7)
            + host
            + pack("ih", port, code)
            + codec.string(None, flexible)
            + codec.tags(flexible)
            for key in request.array(request.string)
        )
        return start + codec.array(coordinators, flexible)

    def _init_producer_id(self, _: Reader, code: int) -> bytes:
        self._producer_id += code == ErrorCode.NONE
        return pack("ihqh", self.throttle_ms, code, self._producer_id, 3)

    def _add_partitions(self, request: Reader, code: int) -> bytes:
        flexible, tags = request.flexible, codec.tags(request.flexible)
        request.string(), request.number("q"), request.number("h")

        def topic() -> bytes:
            name, partitions = request.string(), request.array(lambda: request.number("i"))
            request.tags()
            codes = codec.array((pack("ih", partition, code) + tags for partition in partitions), flexible)
            return codec.string(name, flexible) + codes + tags

        return pack("i", self.throttle_ms) + codec.array(request.array(topic), flexible)

    def _end_txn(self, request: Reader, code: int) -> bytes:
        request.string()
        if code == ErrorCode.NONE:
            self.ended.append((request.number("q"), request.number("h"), request.number("?")))
        return pack("ih", self.throttle_ms, code)

    def _produce(self, request: Reader, code: int) -> bytes:
        flexible, tags = request.flexible, codec.tags(request.flexible)
        request.string()
        acks, _ = request.number("h"), request.number("i")
        assert acks == -1

        def partition(topic: str) -> bytes:
            number, batch = request.number("i"), request.data()
            request.tags()
            result, offset = self._append((topic, number), batch, code)
            start_offset = pack("q", 0) if request.version >= 5 else b""
            details = b""
            if request.version >= 8:
                details = codec.array([], flexible) + codec.string(self.messages.get(result), flexible)
            return pack("ihqq", number, result, offset, -1) + start_offset + details + tags

        def topic() -> bytes:
            name = str(request.string())
            results = codec.array(request.array(lambda: partition(name)), flexible)
            request.tags()
            return codec.string(name, flexible) + results + tags

        return codec.array(request.array(topic), flexible) + pack("i", self.throttle_ms)

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
