"""A broker in memory that serves the direct client over real connections, and returns errors on request."""

from __future__ import annotations

import socket
import struct
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.direct.reads.fetched_batches import FetchedBatches, to_records
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import ApiKey, Reader, pack
from kafka_sql.kafka.records import RecordFields
from kafka_sql.kafka.topic_partition import TopicPartition

LOST: Final = -1000  # instead of an error code: the request is processed, and the connection is closed
SILENT: Final = -1001  # instead of an error code: the request is processed, and no response is sent
_VERSIONS: Final[dict[int, tuple[int, int]]] = {
    ApiKey.PRODUCE: (3, 11),
    ApiKey.FETCH: (4, 12),
    ApiKey.LIST_OFFSETS: (2, 6),
    ApiKey.METADATA: (4, 12),
    ApiKey.OFFSET_COMMIT: (2, 8),
    ApiKey.OFFSET_FETCH: (2, 7),
    ApiKey.FIND_COORDINATOR: (1, 4),
    ApiKey.API_VERSIONS: (0, 3),
    ApiKey.INIT_PRODUCER_ID: (0, 4),
    ApiKey.ADD_PARTITIONS_TO_TXN: (0, 3),
    ApiKey.END_TXN: (0, 4),
}


class SimulatedFetch(NamedTuple):
    """A Fetch request that was received."""

    offset: int
    wait_ms: int
    min_bytes: int
    rack: str


class SimulatedBroker:
    """The leader of all partitions of a cluster.

    Attributes:
        topics: the number of partitions of each topic.
        leaderless: partitions without a leader.
        logs: the record batches of each partition, with their offsets.
        log_starts: the first offset of each partition, if it is not 0.
        nodes: the addresses of the cluster's brokers by node id. Empty for this one alone, node 7.
        leaders: the node ids of the leaders of partitions; the default is node 7.
        preferred_replica: the node that clients with a rack should fetch from; -1 for none.
        min_wait_ms: Fetch requests that wait for less get no records.
        fetches: the Fetch requests so far.
        last_stable_offset: of all partitions; None if no transaction is open.
        aborted: producer id and first offset of the aborted transactions that Fetch responses list.
        versions: the oldest and the latest supported version of each API; the default is all that it can simulate.
        throttle_ms: throttle time of the responses.
        messages: error messages of Produce responses, by error code.
        errors: error codes, LOST or SILENT, for the next requests of an API.
        requests: the APIs of all requests so far, except ApiVersions.
        produced: topic, partition and size in bytes of the batches in each Produce request so far.
        requested_versions: the versions of all requests so far, by API.
        client_software: name and version of the last client that reported them.
        acks: the values of acks in all Produce requests so far.
        committed: the offsets that groups have committed, by group and partition.
        ended: producer id, epoch and whether it was committed, of each ended transaction.
    """

    def __init__(self, address: tuple[str, int], **topics: int) -> None:
        self.address, self.topics = address, topics
        self.leaderless = set[TopicPartition]()
        self.logs: dict[TopicPartition, list[bytes]] = defaultdict(list)
        self.log_starts: dict[TopicPartition, int] = defaultdict(int)
        self.nodes: dict[int, tuple[str, int]] = {}
        self.leaders: dict[TopicPartition, int] = {}
        self.preferred_replica = -1
        self.min_wait_ms = 0
        self.fetches = list[SimulatedFetch]()
        self.last_stable_offset: int | None = None
        self.aborted = list[tuple[int, int]]()
        self.versions = dict(_VERSIONS)
        self.throttle_ms = 0
        self.messages: dict[int, str] = {}
        self.requested_versions: dict[ApiKey, list[int]] = defaultdict(list)
        self.client_software: tuple[str | None, str | None] = None, None
        self.errors: dict[ApiKey, list[int]] = defaultdict(list)
        self.requests = list[ApiKey]()
        self.produced = list[list[tuple[str, int, int]]]()
        self.committed: dict[tuple[str, TopicPartition], int] = {}
        self.ended = list[tuple[int, int, bool]]()
        self.acks = set[int]()
        self._sequences = dict[tuple[TopicPartition, int, int], int]()
        self._producer_id, self._lock = 100, threading.Lock()

    def config(self, **properties: str) -> dict[str, str]:
        """Return a client's configuration; ``_`` in a name means a dot."""
        named = {key.replace("_", "."): value for key, value in properties.items()}
        return to_librdkafka({"bootstrap.servers": "{}:{}".format(*self.address), **named})

    def values(self, topic: str, partition: int = 0) -> list[bytes | None]:
        """Return the values of all records of a partition."""
        fetched = FetchedBatches(memoryview(b"".join(self.logs[topic, partition])))
        assert fetched.find_wrong_checksum(1 << 60) is None
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
        request.tags()
        assert request._at == len(request._body), (key, request.version)
        if code in (LOST, SILENT):
            return code
        head = b"" if key == ApiKey.API_VERSIONS else codec.tags(request.flexible)
        return pack("i", number) + head + body + codec.tags(request.flexible)

    def _api_versions(self, request: Reader, code: int) -> bytes:
        tags = codec.tags(request.flexible)
        if request.version >= 3:
            self.client_software = request.string(), request.string()
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
        options = [request.number("?") for _ in range(3 if 8 <= version <= 10 else 2 if version >= 8 else 1)]
        assert not any(options)  # create missing topics, include authorized operations
        nodes = self.nodes or {7: self.address}

        def node(number: int) -> bytes:
            host, port = nodes[number]
            address = pack("i", number) + codec.string(host, flexible) + pack("i", port)
            return address + codec.string(None, flexible) + codec.tags(flexible)

        brokers = codec.array(map(node, nodes), flexible)
        operations = pack("i", 0) if 8 <= version <= 10 else b""
        return pack("i", self.throttle_ms) + brokers + codec.string(None, flexible) + pack("i", 7) + topics + operations

    def _topic(self, name: str, code: int, version: int) -> bytes:
        flexible = codec.is_flexible(ApiKey.METADATA, version)
        if name not in self.topics:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        count = self.topics[name] if code == ErrorCode.NONE else 0
        replicas = codec.array([pack("i", 7)], flexible)

        def partition(number: int) -> bytes:
            leader = pack("i", -1 if (name, number) in self.leaderless else self.leaders.get((name, number), 7))
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

    def _init_producer_id(self, request: Reader, code: int) -> bytes:
        request.string(), request.number("i")
        if request.version >= 3:
            request.number("q"), request.number("h")
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
        transaction = request.number("q"), request.number("h"), request.number("?")
        if code == ErrorCode.NONE:
            self.ended.append(transaction)
        return pack("ih", self.throttle_ms, code)

    def _produce(self, request: Reader, code: int) -> bytes:
        flexible, tags = request.flexible, codec.tags(request.flexible)
        request.string()
        acks, _ = request.number("h"), request.number("i")
        self.acks.add(acks)
        self.produced.append([])

        def partition(topic: str) -> bytes:
            number, batch = request.number("i"), request.data()
            request.tags()
            self.produced[-1].append((topic, number, len(batch)))
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
        producer, epoch, sequence, count = struct.unpack_from(">qhii", batch, 43)
        expected = self._sequences.get((partition, producer, epoch), sequence)
        if code == ErrorCode.NONE and sequence < expected:
            code = ErrorCode.DUPLICATE_SEQUENCE_NUMBER
        if code == ErrorCode.NONE and sequence > expected:
            code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if code != ErrorCode.NONE:
            return code, -1
        offset = self.end_offset(partition)
        self.logs[partition].append(pack("q", offset) + batch[8:])
        if producer >= 0:
            self._sequences[partition, producer, epoch] = sequence + count
        return code, offset

    def end_offset(self, partition: TopicPartition) -> int:
        """Return the offset after a partition's last record."""
        if not self.logs[partition]:
            return self.log_starts[partition]
        last = self.logs[partition][-1]
        return int(struct.unpack_from(">q", last)[0] + struct.unpack_from(">i", last, 23)[0] + 1)

    def _fetch(self, request: Reader, code: int) -> bytes:
        version, flexible = request.version, request.flexible
        _, wait_ms, min_bytes, _, _ = (request.number(layout) for layout in "iiiib")
        if version >= 7:
            assert (request.number("i"), request.number("i")) == (0, -1)

        def location() -> tuple[int, int, int]:
            number = request.number("i")
            if version >= 9:
                request.number("i")
            offset = request.number("q")
            if version >= 12:
                request.number("i")
            if version >= 5:
                request.number("q")
            max_bytes = request.number("i")
            request.tags()
            return number, offset, max_bytes

        ((topic, ((partition, offset, max_bytes),)),) = request.array(
            lambda: (str(request.string()), request.array(location), request.tags())[:2]
        )
        if version >= 7:
            assert request.array(lambda: None) == []
        rack = str(request.string()) if version >= 11 else ""
        self.fetches.append(SimulatedFetch(offset, wait_ms, min_bytes, rack))
        topics = self._fetch_topic(topic, partition, offset, max_bytes, code, request)
        if self.throttle_ms:
            topics = codec.array([], flexible)
        return pack("i", self.throttle_ms) + (pack("hi", 0, 0) if version >= 7 else b"") + topics

    def _fetch_topic(
        self, topic: str, partition: int, offset: int, max_bytes: int, code: int, request: Reader
    ) -> bytes:
        version, flexible, fetched = request.version, request.flexible, self.fetches[-1]
        end = self.end_offset((topic, partition))
        if code == ErrorCode.NONE and not self.log_starts[topic, partition] <= offset <= end:
            code = ErrorCode.OFFSET_OUT_OF_RANGE
        is_redirected = self.preferred_replica >= 0 and fetched.rack != "" and code == ErrorCode.NONE
        is_empty = code != ErrorCode.NONE or is_redirected or fetched.wait_ms < self.min_wait_ms
        records = b"" if is_empty else self._records((topic, partition), offset, max_bytes)
        stable = end if self.last_stable_offset is None else self.last_stable_offset
        result = pack("ihqq", partition, code, end, stable)
        if version >= 5:
            result += pack("q", self.log_starts[topic, partition])
        aborted = (pack("qq", *transaction) + codec.tags(flexible) for transaction in self.aborted)
        result += codec.array(aborted, flexible)
        if version >= 11:
            result += pack("i", self.preferred_replica if is_redirected else -1)
        result += codec.data(records, flexible) + codec.tags(flexible)
        topic_result = codec.string(topic, flexible) + codec.array([result], flexible) + codec.tags(flexible)
        return codec.array([topic_result], flexible)

    def _records(self, partition: TopicPartition, offset: int, max_bytes: int) -> bytes:
        records = b""
        for batch in self.logs[partition]:
            (base,), (delta,) = struct.unpack_from(">q", batch), struct.unpack_from(">i", batch, 23)
            if base + delta >= offset and (not records or len(records) < max_bytes):
                records += batch
        return records

    def _list_offsets(self, request: Reader, code: int) -> bytes:
        version, flexible = request.version, request.flexible
        _, is_committed = request.number("i"), request.number("b")

        def location() -> tuple[int, int]:
            number = request.number("i")
            if version >= 4:
                request.number("i")
            timestamp = request.number("q")
            request.tags()
            return number, timestamp

        ((topic, ((partition, timestamp),)),) = request.array(
            lambda: (str(request.string()), request.array(location), request.tags())[:2]
        )
        offset = self.end_offset((topic, partition))
        if timestamp == -2:
            offset = self.log_starts[topic, partition]
        elif is_committed and self.last_stable_offset is not None:
            offset = self.last_stable_offset
        result = pack("ihqq", partition, code, -1, offset if code == ErrorCode.NONE else -1)
        result += (pack("i", 5) if version >= 4 else b"") + codec.tags(flexible)
        topic_result = codec.string(topic, flexible) + codec.array([result], flexible) + codec.tags(flexible)
        return pack("i", self.throttle_ms) + codec.array([topic_result], flexible)

    def _offset_commit(self, request: Reader, code: int) -> bytes:
        assert request.version == 8
        group, generation, member = request.string(), request.number("i"), request.string()
        assert (generation, member, request.string()) == (-1, "", None)

        def partition(topic: str) -> bytes:
            number, offset, _ = request.number("i"), request.number("q"), request.number("i")
            request.string(), request.tags()
            if code == ErrorCode.NONE:
                self.committed[str(group), (topic, number)] = offset
            return pack("ih", number, code) + codec.tags(True)

        return pack("i", self.throttle_ms) + self._group_topics(request, partition)

    def _offset_fetch(self, request: Reader, code: int) -> bytes:
        assert request.version == 7
        group = str(request.string())

        def partition(topic: str) -> bytes:
            number = request.number("i")
            offset = self.committed.get((group, (topic, number)), -1)
            return pack("iqi", number, offset, -1) + codec.string("", True) + pack("h", 0) + codec.tags(True)

        topics = self._group_topics(request, partition)
        assert request.number("?") is False  # require stable
        return pack("i", self.throttle_ms) + topics + pack("h", code)

    def _group_topics(self, request: Reader, partition: Callable[[str], bytes]) -> bytes:
        def topic() -> bytes:
            name = str(request.string())
            results = codec.array(request.array(lambda: partition(name)), True)
            request.tags()
            return codec.string(name, True) + results + codec.tags(True)

        return codec.array(request.array(topic), True)

    _handlers: Final[dict[ApiKey, Callable[[SimulatedBroker, Reader, int], bytes]]] = {
        ApiKey.API_VERSIONS: _api_versions,
        ApiKey.METADATA: _metadata,
        ApiKey.OFFSET_COMMIT: _offset_commit,
        ApiKey.OFFSET_FETCH: _offset_fetch,
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
