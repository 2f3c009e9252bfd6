"""Simulate connections to the simulated cluster, and what can go wrong with a request or a response."""

from __future__ import annotations

import random
import struct
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import google_crc32c

from kafka_sql.errors import AuthenticationError
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.addresses import Address
from kafka_sql.kafka.protocol.errors import RetriableError
from kafka_sql.kafka.protocol.metadata import TopicMetadata
from kafka_sql.kafka.protocol.produce import ProduceResult
from tests.model.cluster import TOPIC, Clock, Marker, Partition, SentBatch

LATENCY: Final = 0.001  # seconds
_HEADER: Final = struct.Struct(">hiqqqhii")  # of a batch, after the checksum
_TRANSACTIONAL: Final = 0x10
# A leader returns these only if it knows a later epoch, so it also rejects requests of this epoch that arrive later.
_LATER_EPOCH: Final = (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)


class Violation(AssertionError):
    """The writer broke a rule."""


class Fault(NamedTuple):
    """What goes wrong with one request.

    Attributes:
        name: see ``Network.process``.
        code: an error code.
        position: of the batch in the request.
        seconds: a delay.
    """

    name: str
    code: int = 0
    position: int = 0
    seconds: float = 0.0


class ProduceRequest(NamedTuple):
    """A Produce request before its batches are added."""

    partitions: tuple[int, ...]


@dataclass
class Network:
    """Brokers, their partitions, and the faults of the requests to them, by the number of the request."""

    clock: Clock
    brokers: list[Address]
    partitions: list[Partition]
    rejects_unknown: bool = False
    reports_duplicates: bool = False
    produce_faults: dict[int, Fault] = field(default_factory=dict)
    metadata_faults: dict[int, Fault] = field(default_factory=dict)
    connect_faults: dict[int, Fault] = field(default_factory=dict)
    init_faults: dict[int, Fault] = field(default_factory=dict)
    down: set[Address] = field(default_factory=set)
    connections: list[SimulatedConnection] = field(default_factory=list)
    requests: dict[str, int] = field(default_factory=dict)
    in_flight: dict[int, int] = field(default_factory=dict)  # by partition
    sent: dict[tuple[int, int], int] = field(default_factory=dict)  # how often, by partition and first record
    unreachable: int = 0  # how often a leader was unknown or unreachable

    def number(self, name: str) -> int:
        """Number the requests of one API."""
        self.requests[name] = self.requests.get(name, 0) + 1
        return self.requests[name]

    def process(self, connection: SimulatedConnection, batches: list[SentBatch], fault: Fault) -> None:
        """Process a Produce request.

        Faults: ``before`` and ``after`` return an error code before or after one of the batches is appended, ``lost
        before`` and ``lost after`` close the connection, ``silent before`` and ``silent after`` never respond,
        ``incomplete`` leaves a batch out of the response, ``throttle`` delays the next request, ``slow`` delays this
        one: it is processed even if the client closes the connection meanwhile.
        """
        if connection.is_lost or (connection.is_broken and fault.name != "slow"):
            return
        if connection.address in self.down or fault.name == "lost before":
            connection.break_off()
            return
        if fault.name == "silent before":
            connection.is_silent = True
            return
        appended = {}
        for position, batch in enumerate(batches):
            is_target = position == fault.position % len(batches)
            code = fault.code if is_target and fault.name == "before" else ErrorCode.NONE
            appended[batch.partition] = self._append(connection.address, batch, code)
        self.clock.at(self.clock.now + LATENCY, lambda: self._respond(connection, batches, appended, fault))

    def _append(self, broker: Address, batch: SentBatch, code: int) -> tuple[int, int, int]:
        partition = self.partitions[batch.partition]
        if partition.leader != broker:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER, 0, 0
        if code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and batch.producer_id not in partition.producers:
            code = ErrorCode.NONE  # a leader that does not know the producer never returns it
        if code == ErrorCode.NONE:
            code, length = partition.append(batch, self.rejects_unknown, self.reports_duplicates)
            return code, length, partition.leader_epoch
        if code in _LATER_EPOCH:
            partition.mark(Marker(batch.producer_id, batch.epoch + 1, is_commit=False))
        return code, 0, 0

    def _respond(
        self,
        connection: SimulatedConnection,
        batches: list[SentBatch],
        appended: dict[int, tuple[int, int, int]],
        fault: Fault,
    ) -> None:
        results = {}
        for position, batch in enumerate(batches):
            partition = self.partitions[batch.partition]
            code, length, leader_epoch = appended[batch.partition]
            is_target = position == fault.position % len(batches)
            if code == ErrorCode.NONE and leader_epoch != partition.leader_epoch:
                code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            elif code == ErrorCode.NONE and is_target and fault.name == "after":
                code = fault.code
            elif code == ErrorCode.NONE and not (is_target and fault.name in ("lost after", "silent after")):
                partition.high_watermark = max(partition.high_watermark, length)
            elif code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER and leader_epoch == partition.leader_epoch:
                # Kafka 0.11 does not wait for other replicas then, but no producer can find out: Java's counts it as
                # written too
                partition.high_watermark = max(partition.high_watermark, length)
            if not (is_target and fault.name == "incomplete"):
                results[TOPIC, batch.partition] = ProduceResult(code, length)
        if fault.name == "lost after":
            connection.break_off()
        elif fault.name == "silent after":
            connection.is_silent = True
        if fault.name == "throttle":
            connection.ready_at = max(connection.ready_at, self.clock.now + fault.seconds)
        connection.respond(results)

    def topic_metadata(self, connection: SimulatedConnection, seconds: float | None) -> TopicMetadata:
        """Respond to a Metadata request, or not."""
        fault = self._next_metadata_fault(connection)
        if fault.name == "silent":
            self.clock.sleep(5.0 if seconds is None else seconds)
            raise TimeoutError("simulated")
        self.clock.sleep(LATENCY)
        if fault.name == "lost" or connection.address in self.down:
            self.unreachable += 1
            raise ConnectionError("simulated")
        return self._metadata(fault)

    def send_metadata(self, connection: SimulatedConnection) -> None:
        """Respond to a Metadata request later, or not."""
        fault = self._next_metadata_fault(connection)
        if fault.name == "silent":
            connection.is_silent = True
            return

        def respond() -> None:
            if fault.name == "lost" or connection.address in self.down:
                connection.break_off()
            else:
                connection.respond(self._metadata(fault))

        self.clock.at(self.clock.now + LATENCY, respond)

    def _next_metadata_fault(self, connection: SimulatedConnection) -> Fault:
        if connection.unanswered:
            raise Violation("a Metadata request waits behind Produce requests")
        fault = self.metadata_faults.get(self.number("metadata"), Fault(""))
        self.unreachable += fault.name == "silent"
        return fault

    def _metadata(self, fault: Fault) -> TopicMetadata:
        leaders = [partition.leader for partition in self.partitions]
        if fault.name == "code":
            self.unreachable += 1
            return TopicMetadata(fault.code, [])
        if fault.name == "stale":
            leaders[fault.position % len(leaders)] = random.choice(self.brokers)
        elif fault.name == "leaderless":
            leaders[fault.position % len(leaders)] = None
        self.unreachable += None in leaders
        return TopicMetadata(ErrorCode.NONE, leaders)

    def init_producer_id(self) -> int:
        """Return the next producer id, or fail."""
        number = self.number("init")
        fault = self.init_faults.get(number, Fault(""))
        self.clock.sleep(LATENCY)
        if fault.name == "lost":
            raise ConnectionError("simulated")
        if fault.name == "code":
            raise RetriableError(fault.code)
        return 1000 + number

    def restart(self, broker: Address, seconds: float) -> None:
        """Stop a broker, and start it again later."""
        self.down.add(broker)
        for connection in self.connections:
            if connection.address == broker:
                connection.break_off()
                connection.is_lost = True
        self.clock.at(self.clock.now + seconds, lambda: self.down.discard(broker))


class SimulatedConnection:
    """The part of ``Connection`` that the writer uses."""

    def __init__(self, network: Network, address: Address) -> None:
        """Connect."""
        self._network, self.address = network, address
        self.ready_at = 0.0
        self.is_broken = self.is_silent = self.is_closed = self.is_lost = False
        self.unanswered: deque[list[SentBatch]] = deque()
        self._responses: deque[Any] = deque()
        self._processed_at = 0.0  # requests of one connection are processed in order
        network.connections.append(self)

    def note_timeout(self, sent_at: float) -> None:
        """Do nothing: a writer itself replaces the connections that it uses."""

    def send(self, request: ProduceRequest, parts: Sequence[bytes | memoryview]) -> int:
        """Read the headers of the batches, and process the request later."""
        network, clock = self._network, self._network.clock
        if self.is_closed:
            raise Violation("a request is sent on a closed connection")
        clock.sleep(max(0.0, self.ready_at - clock.now))
        batches = [
            _read_batch(partition, parts[3 * i], parts[3 * i + 1]) for i, partition in enumerate(request.partitions)
        ]
        if len(set(request.partitions)) != len(batches):
            raise Violation("two batches of one partition are in the same request")
        self.unanswered.append(batches)
        for batch in batches:
            key = batch.partition, batch.first_record
            network.sent[key] = network.sent.get(key, 0) + 1
            network.in_flight[batch.partition] = network.in_flight.get(batch.partition, 0) + 1
            if network.in_flight[batch.partition] > 5:
                raise Violation(f"more than five batches of partition {batch.partition} are in flight")
        if self.is_broken:
            raise BrokenPipeError("simulated")
        fault = network.produce_faults.get(network.number("produce"), Fault(""))
        delay = fault.seconds if fault.name == "slow" else LATENCY
        self._processed_at = max(self._processed_at, clock.now + delay)
        clock.at(self._processed_at, lambda: network.process(self, batches, fault))
        return network.requests["produce"]

    def respond(self, response: Any) -> None:
        """Deliver a response."""
        if not self.is_broken and not self.is_silent:
            self._responses.append(response)

    def break_off(self) -> None:
        """Close the connection on the broker's side."""
        self.is_broken = True

    def has_response(self) -> bool:
        """Return whether ``receive`` would not wait."""
        return bool(self._responses) or self.is_broken

    def receive(self, _: object, correlation_id: int) -> Any:
        """Return the next response."""
        if not self._responses:
            if not self.is_broken:
                raise Violation("receive waits")
            raise ConnectionError("simulated")
        if self.unanswered:  # else it is the response to a Metadata request
            self._forget(self.unanswered.popleft())
        return self._responses.popleft()

    def close(self) -> None:
        """Close the connection."""
        self.is_broken = self.is_closed = True
        while self.unanswered:
            self._forget(self.unanswered.popleft())

    def _forget(self, batches: list[SentBatch]) -> None:
        for batch in batches:
            self._network.in_flight[batch.partition] -= 1


class Failures:
    """The part of ``ConnectionPool`` that ``retry_until`` uses, for clusters of one address."""

    servers: Final = "simulated"

    def clear_failures(self) -> None:
        """Do nothing."""

    def note_error(self, error: Exception) -> None:
        """Do nothing."""

    def describe_failures(self) -> str:
        """Return an empty string."""
        return ""


class SimulatedPool(Failures):
    """The part of ``ConnectionPool`` that the writer uses."""

    def __init__(self, network: Network) -> None:
        """Open nothing yet."""
        self._network = network
        self._open: dict[Address, SimulatedConnection] = {}
        # by address, None for any broker: when the attempt ends, and how
        self._opening: dict[Address | None, tuple[float, Fault]] = {}
        self._failed: dict[Address | None, Exception] = {}

    def close(self) -> None:
        """Close all connections."""
        for connection in self._open.values():
            connection.close()
        self._open.clear()
        self._opening.clear()
        self._failed.clear()

    def discard(self, connection: SimulatedConnection) -> None:
        """Close a connection."""
        connection.close()
        if self._open.get(connection.address) is connection:
            del self._open[connection.address]

    def wait(self, connections: Collection[SimulatedConnection], seconds: float) -> list[SimulatedConnection]:
        """Advance the clock until there is a response, or a connection is open."""
        clock = self._network.clock
        deadline = clock.now + seconds
        while True:
            ready = [connection for connection in connections if connection.has_response()]
            if ready or clock.now >= deadline or self._collect_opened():
                return ready
            ends = (end for end, _ in self._opening.values())
            clock.advance(min(deadline, clock.next_event(), *ends))

    def connect_to(self, address: Address) -> SimulatedConnection:
        """Return a connection, or fail to connect."""
        if address not in self._open:
            fault = self._next_fault()
            self._network.clock.sleep(fault.seconds)
            self._connect(address, fault)
        return self._open[address]

    def try_connect_to(self, address: Address) -> SimulatedConnection | None:
        """Return a connection, or fail to connect; None while it takes time."""
        self._collect_opened()
        if address in self._failed:
            raise self._failed.pop(address)
        if address not in self._open and address not in self._opening:
            fault = self._next_fault()
            self._opening[address] = self._network.clock.now + LATENCY + fault.seconds, fault
        return self._open.get(address)

    def _collect_opened(self) -> bool:
        ended = [address for address, (end, _) in self._opening.items() if end <= self._network.clock.now]
        for address in ended:
            _, fault = self._opening.pop(address)
            try:
                self._connect(address or random.choice(self._network.brokers), fault)
            except (OSError, AuthenticationError) as e:
                self._failed[address] = e
        return bool(ended)

    def _next_fault(self) -> Fault:
        return self._network.connect_faults.get(self._network.number("connect"), Fault(""))

    def _connect(self, address: Address, fault: Fault) -> None:
        network = self._network
        if address in network.down or fault.name == "unreachable":
            network.unreachable += 1
            raise ConnectionRefusedError("simulated")
        if fault.name == "rejected":
            raise AuthenticationError("simulated")
        self._open[address] = SimulatedConnection(network, address)

    def any_connection(self) -> SimulatedConnection:
        """Return a connection to any broker."""
        if self._open:
            return min(self._open.values(), key=lambda connection: connection.ready_at)
        failure = OSError("no brokers")
        for address in random.sample(self._network.brokers, len(self._network.brokers)):
            try:
                return self.connect_to(address)
            except OSError as e:
                failure = e
        raise failure

    def try_any_connection(self) -> SimulatedConnection | None:
        """Return a connection to any broker, or fail to connect; None while it takes time."""
        self._collect_opened()
        if None in self._failed:
            raise self._failed.pop(None)
        if not self._open and None not in self._opening:
            fault = self._next_fault()
            self._opening[None] = self._network.clock.now + LATENCY + fault.seconds, fault
        return min(self._open.values(), key=lambda connection: connection.ready_at, default=None)

    def send_metadata(self, connection: SimulatedConnection, _: Collection[str]) -> int:
        """Request the leaders."""
        self._network.send_metadata(connection)
        return 0

    def receive_metadata(self, connection: SimulatedConnection, _: Collection[str], correlation_id: int) -> Any:
        """Return the leaders."""
        try:
            leaders = connection.receive(None, correlation_id)
        except OSError:  # even if a restart broke the connection
            self._network.unreachable += 1
            self.discard(connection)
            raise
        return SimpleNamespace(topic=lambda _: leaders)

    def topic_metadata(self, topic: str, seconds: float | None = None) -> TopicMetadata:
        """Request the leaders."""
        connection = self.any_connection()
        try:
            return self._network.topic_metadata(connection, seconds)
        except OSError:
            self.discard(connection)
            raise


def _read_batch(partition: int, head: bytes | memoryview, body: bytes | memoryview) -> SentBatch:
    attributes, last, _, _, producer_id, epoch, sequence, records = _HEADER.unpack_from(body)
    if last != records - 1 or struct.unpack_from(">I", head, 17)[0] != google_crc32c.value(bytes(body)):
        raise Violation("the header of a batch is wrong")
    first_record = struct.unpack_from(">q", body, _HEADER.size)[0]
    return SentBatch(partition, producer_id, epoch, bool(attributes & _TRANSACTIONAL), sequence, records, first_record)
