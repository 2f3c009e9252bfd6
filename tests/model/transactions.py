"""Generate and run random histories of a transactional writer, whose batches may arrive after the end of a transaction.

The leaders do not verify transactions, like those before Apache Kafka 3.6 (KIP-890).
"""

from __future__ import annotations

import contextlib
import logging
import random
import struct
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, cast

import numpy as np

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.direct import coordinator as coordinator_module
from kafka_sql.kafka.direct.batch_layout import HEADER
from kafka_sql.kafka.direct.writes import sender, transaction_manager, transactional_producer
from kafka_sql.kafka.direct.writes.batch import Batch
from kafka_sql.kafka.direct.writes.producer_state import ProducerState
from kafka_sql.kafka.direct.writes.sender import Sender
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol import retries
from kafka_sql.kafka.protocol.addresses import Address
from kafka_sql.kafka.protocol.codec import ApiKey
from kafka_sql.kafka.protocol.transactions import TransactionDescription
from tests.model.cluster import TOPIC, Clock, Marker, Partition, SentBatch
from tests.model.history import CONFIG
from tests.model.network import LATENCY, Failures, Fault, Network, ProduceRequest, SimulatedPool, Violation

_ID: Final = "tx"
_CONFIG: Final = {**CONFIG, "transaction.timeout.ms": "60000"}
_ADDRESS: Final = ("broker0", 9092)
_PRODUCER_ID: Final = 7
_CLOCK: Final = Clock()
_RETRIABLE: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
)
_COORDINATOR_CODES: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.INVALID_PRODUCER_EPOCH,
)


class Task(NamedTuple):
    """One task.

    Attributes:
        sends: for each call of ``send``, the partition of each batch.
        idle: seconds between the last call and the flush.
        fails: whether the task fails before it flushes.
    """

    sends: tuple[tuple[int, ...], ...]
    idle: float
    fails: bool


@dataclass
class TransactionHistory:
    """A history. Each run of it does the same.

    Attributes:
        seed: seed of the random numbers that a run draws.
        produce_faults: faults of Produce requests, by request number.
        coordinator_faults: faults of requests to the coordinator, by request number.
        takeover: when another producer uses the transactional id, in seconds; 0 if none does.
    """

    seed: int
    tasks: list[Task]
    produce_faults: dict[int, Fault] = field(default_factory=dict)
    coordinator_faults: dict[int, Fault] = field(default_factory=dict)
    takeover: float = 0.0

    def must_succeed(self) -> bool:
        """Return whether everything that goes wrong is repaired before a batch expires."""
        is_fenced = any(fault.code == ErrorCode.INVALID_PRODUCER_EPOCH for fault in self.coordinator_faults.values())
        # each may take as long as socket.timeout.ms, a quarter of delivery.timeout.ms
        silent = [fault for fault in self.produce_faults.values() if fault.name in ("slow", "silent after")]
        return not self.takeover and not is_fenced and len(silent) <= 1


def generate(seed: int) -> TransactionHistory:
    """Return a random history."""
    choose = random.Random(seed)
    tasks = []
    for _ in range(choose.randint(1, 3)):
        sends = [tuple(choose.choices((0, 1), k=choose.choice([1, 1, 2, 4]))) for _ in range(choose.randint(0, 4))]
        idle = choose.choice([0.0, 0.0, 0.001, 0.0015, 0.1, 6.0])
        tasks.append(Task(tuple(sends), idle, choose.random() < 0.5))
    history = TransactionHistory(seed, tasks)
    for _ in range(choose.choice([0, 1, 1, 2, 3])):
        name = choose.choice(["slow", "slow", "before", "after", "lost before", "lost after", "silent after"])
        code = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND if name == "after" else choose.choice(_RETRIABLE)
        fault = Fault(name, code, choose.randrange(2), choose.choice([0.002, 0.01, 0.1, 1.0, 7.0]))
        history.produce_faults[choose.randint(1, 8)] = fault
    for _ in range(choose.choice([0, 0, 1, 2])):
        fault = Fault(choose.choice(["lost before", "lost after", "code"]), choose.choice(_COORDINATOR_CODES))
        history.coordinator_faults[choose.randint(1, 10)] = fault
    if choose.random() < 0.2:
        history.takeover = choose.choice([0.005, 0.02, 0.1, 2.0])
    return history


class TransactionCoordinator:
    """The state of one transactional id. Markers reach the partitions later, and only then the transaction ends."""

    def __init__(self, partitions: list[Partition]) -> None:
        """Begin without a transaction."""
        self.epoch, self.state = 0, "Empty"
        self._all, self._added = partitions, set[int]()

    def handle(self, name: str, epoch: int, partitions: Sequence[int] = (), is_commit: bool = False) -> int:
        """Handle a request and return its error code."""
        if name == "init":
            return self._initialize()
        if epoch != self.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if name == "bump":
            return self._initialize()
        if self.state == "Prepare":
            return ErrorCode.CONCURRENT_TRANSACTIONS
        if name == "add":
            self.state = "Ongoing"
            self._added.update(partitions)
        elif self.state == "Ongoing":
            self.end(is_commit)
        elif self.state != ("Committed" if is_commit else "Aborted"):
            return ErrorCode.INVALID_TXN_STATE
        return ErrorCode.NONE

    def take_over(self) -> None:
        """Initialize another producer."""
        self._initialize()

    def _initialize(self) -> int:
        if self.state == "Ongoing":
            self.epoch += 1
            self.end(False)
        if self.state == "Prepare":
            return ErrorCode.CONCURRENT_TRANSACTIONS
        self.epoch, self.state = self.epoch + 1, "Empty"
        return ErrorCode.NONE

    def end(self, is_commit: bool) -> None:
        """Commit or abort the transaction."""
        marker = Marker(_PRODUCER_ID, self.epoch, is_commit)
        partitions = [self._all[number] for number in sorted(self._added)]
        self.state = "Prepare"
        self._added.clear()
        for position, partition in enumerate(partitions, 1):
            _CLOCK.at(_CLOCK.now + position * LATENCY / 2, partial(partition.mark, marker))
        ended = "Committed" if is_commit else "Aborted"
        _CLOCK.at(_CLOCK.now + (len(partitions) + 1) * LATENCY, lambda: setattr(self, "state", ended))


class _Cluster:
    def __init__(self, history: TransactionHistory) -> None:
        self.network = Network(_CLOCK, [_ADDRESS], [Partition(_ADDRESS), Partition(_ADDRESS)])
        self.network.produce_faults = history.produce_faults
        self.coordinator = TransactionCoordinator(self.network.partitions)
        self.faults = history.coordinator_faults


class _Request(NamedTuple):
    key: ApiKey
    name: str
    epoch: int = -1
    partitions: Sequence[int] = ()
    is_commit: bool = False


class _CoordinatorConnection(Failures):
    """The part of ``Connection`` that ``Coordinator`` uses. It is its own pool."""

    def __init__(self, cluster: _Cluster) -> None:
        self._cluster = cluster
        self._responses: deque[Any] = deque()

    def connect_to(self, _: Address) -> _CoordinatorConnection:
        return self

    def any_connection(self) -> _CoordinatorConnection:
        return self

    def close(self) -> None:
        self._responses.clear()

    def send(self, request: _Request) -> int:
        network, coordinator = self._cluster.network, self._cluster.coordinator
        fault = self._cluster.faults.get(network.number("coordinator"), Fault(""))
        if fault.name == "lost before":
            self._responses.append(None)
        elif fault.name == "code":
            self._responses.append((fault.code, -1, -1))
        else:
            code = coordinator.handle(request.name, request.epoch, request.partitions, request.is_commit)
            response = code, _PRODUCER_ID, coordinator.epoch
            self._responses.append(None if fault.name == "lost after" else response)
        return 0

    def receive(self, request: _Request, _: int) -> Any:
        _CLOCK.sleep(LATENCY)
        response = self._responses.popleft() if self._responses else None
        if response is None:
            raise ConnectionError("simulated")
        if request.name == "add":
            return dict.fromkeys(request.partitions, response[0])
        return response if request.name == "init" else response[0]

    def ask(self, request: _Request) -> Any:
        return self.receive(request, self.send(request))


class _Producer:
    """A stand-in for ``DirectProducer`` without the encoding of rows."""

    def __init__(self, state: ProducerState, topic: str, table: str | None) -> None:
        self.sender, self.sent = Sender(state, ""), 0
        self.sender.partition_count(topic)

    def close(self) -> None:
        """Do nothing: there is no thread."""


class _TaskError(Exception):
    pass


def run(history: TransactionHistory) -> str | None:
    """Run a history. Return the rule that the writer broke; None if none."""
    _CLOCK.reset()
    random.seed(history.seed)
    cluster = _Cluster(history)
    with _simulated_modules(cluster):
        try:
            _check(cluster, _run_tasks(cluster, history))
        except Violation as violation:
            return str(violation)
        except Exception as e:  # noqa: BLE001  # only errors of brokers are expected
            return repr(e)
        finally:
            transactional_producer._CACHE.close()
    return None


def _run_tasks(cluster: _Cluster, history: TransactionHistory) -> list[list[int]]:
    """Return the records of committed tasks, by partition."""
    written, next_record = list[list[int]]([[], []]), 0
    if history.takeover:
        _CLOCK.at(_CLOCK.now + history.takeover, cluster.coordinator.take_over)
    for task in history.tasks:
        records: list[list[int]] = [[], []]
        epoch = -1
        try:
            with transactional_producer.open_direct_transaction(_CONFIG, _ID, TOPIC) as producer:
                standin = cast(_Producer, producer)
                for partitions in task.sends:
                    batches = []
                    for partition in partitions:
                        batches.append(_batch(partition, next_record))
                        records[partition].append(next_record)
                        next_record += 1
                    standin.sender.send(batches)
                    standin.sent += len(batches)
                _CLOCK.sleep(task.idle)
                if task.fails:
                    raise _TaskError
                standin.sender.flush()
                transaction = standin.sender._state.transaction
                if task.sends and transaction is not None:
                    epoch = transaction.producer_id_and_epoch().epoch
        except _TaskError:
            continue
        except BrokerError as e:
            if history.must_succeed():
                raise Violation(f"an error is raised although everything recovers in time: {e!r}") from e
            continue
        if epoch >= 0 and cluster.coordinator.handle("end", epoch, is_commit=True) == ErrorCode.NONE:
            for partition in range(2):
                written[partition] += records[partition]
    return written


def _batch(partition: int, record: int) -> Batch:
    content = np.zeros(HEADER + 8, np.uint8)
    struct.pack_into(">q", content.data, HEADER, record)
    return Batch(TOPIC, partition, 1, content, created=_CLOCK.now)


def _check(cluster: _Cluster, written: list[list[int]]) -> None:
    _CLOCK.drain()
    if cluster.coordinator.state == "Ongoing":  # it expires
        cluster.coordinator.epoch += 1
        cluster.coordinator.end(False)
        _CLOCK.drain()
    for number, partition in enumerate(cluster.network.partitions):
        if any(entry.is_open for entry in partition.producers.values()):
            raise Violation(f"a transaction hangs in partition {number}")
        committed, uncommitted = list[int](), list[int]()
        for item in partition.log:
            if isinstance(item, SentBatch):
                uncommitted.append(item.first_record)
            else:
                committed += uncommitted if item.is_commit else []
                uncommitted = []
        if committed != written[number]:
            raise Violation(f"partition {number} contains {committed}, not the committed {written[number]}")


def _transactions() -> SimpleNamespace:
    init, add, end = ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.END_TXN
    return SimpleNamespace(
        TransactionDescription=TransactionDescription,
        find_coordinators=lambda connection, ids, key_type: {_ID: (ErrorCode.NONE, _ADDRESS)},
        init_producer_id=lambda key, timeout: _Request(init, "init"),
        bump_producer_epoch=lambda key, current: _Request(init, "bump", current.producer_epoch),
        add_partitions_to_txn=lambda key, number, epoch, topic, new: _Request(add, "add", epoch, new),
        end_txn=lambda key, number, epoch, committed: _Request(end, "end", epoch, (), committed),
        read_init_producer_id=lambda response: response,
        read_add_partitions_to_txn=lambda response: response,
        read_end_txn=lambda response: response,
    )


_PRODUCE: Final = SimpleNamespace(
    produce=lambda connection, key, batches, *_: (
        ProduceRequest(tuple(partition for _, partition, _ in batches)),
        [b""] * len(batches),
    ),
    read_produce=lambda response: response,
    OLDEST_VERSION=3,
    OLDEST_VERSION_WITH_ZSTD=7,
)


@contextlib.contextmanager
def _simulated_modules(cluster: _Cluster) -> Iterator[None]:
    modules = [module for name, module in sys.modules.items() if name.startswith("kafka_sql.kafka.direct.")]
    replacements: list[tuple[Any, str, Any]] = [
        (module, "time", _CLOCK) for module in [*modules, retries] if vars(module).get("time") is time
    ]
    replacements += [(module, "transactions", _transactions()) for module in (coordinator_module, transaction_manager)]
    replacements += [
        (sender, "produce", _PRODUCE),
        (transactional_producer, "DirectProducer", _Producer),
        (transactional_producer, "open_request_pool", lambda config: _CoordinatorConnection(cluster)),
        (transactional_producer, "open_connections", lambda config: SimulatedPool(cluster.network)),
    ]
    originals = [(module, name, getattr(module, name)) for module, name, _ in replacements]
    logger = logging.getLogger("kafka_sql.kafka")
    level = logger.level
    try:
        logger.setLevel(logging.CRITICAL)
        for module, name, replacement in replacements:
            setattr(module, name, replacement)
        yield
    finally:
        logger.setLevel(level)
        for module, name, original in originals:
            setattr(module, name, original)


def find_violation(seeds: Sequence[int]) -> tuple[TransactionHistory, str] | None:
    """Run the histories of seeds. Return the first one in which the writer breaks a rule, shrunk, and the rule."""
    for seed in seeds:
        history = generate(seed)
        violation = run(history)
        if violation is not None:
            return _shrink(history, violation)
    return None


def _shrink(history: TransactionHistory, violation: str) -> tuple[TransactionHistory, str]:
    """Leave out tasks and faults while the writer still breaks a rule."""
    while True:
        for shorter in _shorter(history):
            found = run(shorter)
            if found is not None:
                history, violation = shorter, found
                break
        else:
            return history, violation


def _shorter(history: TransactionHistory) -> Iterator[TransactionHistory]:
    seed, tasks, produce, coordinator, takeover = vars(history).values()
    for index, task in enumerate(tasks):
        yield TransactionHistory(seed, tasks[:index] + tasks[index + 1 :], produce, coordinator, takeover)
        if task.sends:
            fewer = [*tasks[:index], task._replace(sends=task.sends[:-1]), *tasks[index + 1 :]]
            yield TransactionHistory(seed, fewer, produce, coordinator, takeover)
    for number in produce:
        less = {key: fault for key, fault in produce.items() if key != number}
        yield TransactionHistory(seed, tasks, less, coordinator, takeover)
    for number in coordinator:
        less = {key: fault for key, fault in coordinator.items() if key != number}
        yield TransactionHistory(seed, tasks, produce, less, takeover)
    if takeover:
        yield TransactionHistory(seed, tasks, produce, coordinator)
