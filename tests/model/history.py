"""Generate and run random histories of an idempotent writer: what a task does, and what goes wrong meanwhile."""

from __future__ import annotations

import contextlib
import logging
import random
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, cast

import numpy as np
from confluent_kafka import KafkaError

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.direct.batch_layout import HEADER
from kafka_sql.kafka.direct.writes import producer_state, sender
from kafka_sql.kafka.direct.writes.batch import Batch, ProducerIdAndEpoch
from kafka_sql.kafka.direct.writes.producer_state import ProducerState
from kafka_sql.kafka.direct.writes.send_queue import SendQueue
from kafka_sql.kafka.direct.writes.sender import Sender
from kafka_sql.kafka.error_codes import ErrorCode, error_text, is_retriable
from kafka_sql.kafka.protocol import retries
from kafka_sql.kafka.protocol.codec import ApiKey
from tests.model.cluster import REMEMBERED, TOPIC, Clock, Partition, SentBatch
from tests.model.network import Fault, Network, ProduceRequest, SimulatedPool, Violation

CONFIG: Final = {
    "bootstrap.servers": "simulated",
    "acks": "all",
    "delivery.timeout.ms": "20000",
    "socket.timeout.ms": "5000",
    "socket.connection.setup.timeout.ms": "3000",
    "message.max.bytes": "1000",
    "queue.buffering.max.kbytes": "2",
    "linger.ms": "5",
    "retry.backoff.ms": "20",
    "retry.backoff.max.ms": "1000",
    "reconnect.backoff.ms": "20",
    "reconnect.backoff.max.ms": "1000",
    "max.in.flight": "5",
}
_MAX_SECONDS: Final = 600.0  # of a flush
_MAX_WAITS: Final = 20_000  # of a history
_EXPIRATION: Final = 86_400.0  # seconds after which leaders forget a producer that is idle
_LONG: Final = 2.0  # seconds; a few of these are longer than 'delivery.timeout.ms'
_BATCH_SIZE: Final = 150  # bytes

_CODES: Final = [int(code) for code in ErrorCode if code not in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)]
_RETRIABLE: Final = [code for code in _CODES if is_retriable(code, ApiKey.PRODUCE)]
_REJECTED_EPOCH: Final[list[int]] = [
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.PRODUCER_FENCED,
]
# which a leader returns only before it appends
_BEFORE: Final = frozenset(
    {
        *_REJECTED_EPOCH,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)
_FAULTS: Final = (
    *["before"] * 3,
    *["after", "slow"] * 2,
    *("lost before", "lost after", "silent before", "silent after", "throttle", "incomplete"),
)
_METADATA_CODES: Final = [code for code in _CODES if is_retriable(code, ApiKey.METADATA)]
_INIT_CODES: Final = [code for code in _CODES if is_retriable(code, ApiKey.INIT_PRODUCER_ID)]


class Step(NamedTuple):
    """One step of a history.

    Attributes:
        name: an action of the task (``send``, ``poll``, ``flush``, ``idle``, ``next task``, ``expire``), an event of
            the cluster (``elect``, ``restart``), or a fault of a request (``produce``, ``metadata``, ``connect``,
            ``init``).
        at: when the event happens, in seconds since the beginning; the number of the faulty request.
        fault: of the request.
        values: of an action or event.
    """

    name: str
    at: float = 0.0
    fault: Fault = Fault("")
    values: tuple[int, ...] = ()
    seconds: float = 0.0


@dataclass
class History:
    """A history. It is the same each time that it is run.

    Attributes:
        seed: from which it was generated.
    """

    seed: int
    brokers: int
    partitions: int
    rejects_unknown: bool
    reports_duplicates: bool
    steps: list[Step] = field(default_factory=list)

    def must_succeed(self) -> bool:
        """Return whether everything that goes wrong is repaired before a batch expires.

        Then no error may be raised but the one of ``can_lose_order``.
        """
        faults = [step.fault for step in self.steps if step.name == "produce"]
        return (
            all(step.seconds < _LONG for step in self.steps)
            and all(fault.code in _RETRIABLE or fault.name not in ("before", "after") for fault in faults)
            and all(not fault.name.startswith("silent") and fault.seconds < _LONG for fault in faults)
            and all(step.fault.name not in ("silent", "rejected") for step in self.steps)
        )

    def can_lose_order(self) -> bool:
        """Return whether an acknowledged batch can hide an earlier one whose acknowledgment was lost.

        A leader that does not remember the last five batches does not recognize the earlier one.
        """
        faults = [step for step in self.steps if step.name == "produce" and step.fault.name != "throttle"]
        events = [step for step in self.steps if step.name in ("elect", "restart")]
        forgets = any(step.name == "restart" or step.values[-1] < REMEMBERED for step in events)
        return forgets and len(events) + len(faults) > 1

    def __str__(self) -> str:
        head = (
            f"seed {self.seed}: brokers={self.brokers}, partitions={self.partitions}, "
            f"rejects_unknown={self.rejects_unknown}, reports_duplicates={self.reports_duplicates}"
        )
        return "\n  ".join([head, *map(_describe, self.steps)])


def generate(seed: int) -> History:
    """Return a random history."""
    choose = random.Random(seed)
    history = History(seed, choose.randint(1, 3), choose.randint(1, 3), choose.random() < 0.15, choose.random() < 0.15)
    for _ in range(choose.randint(1, 10)):
        history.steps.append(_random_action(choose, history.partitions))
    span = choose.choice([0.05, 0.3, 3.0])  # seconds
    for _ in range(choose.choice([0, 1, 1, 2, 3, 5])):
        at, partition = choose.random() * span, choose.randrange(history.partitions)
        if choose.random() < 0.8:
            # new leader or none, surviving batches, remembered batches
            values = (
                partition,
                choose.randint(-1, history.brokers - 1),
                choose.randint(0, 5),
                choose.choice([1, 1, 3, 5]),
            )
            history.steps.append(Step("elect", at, values=values))
        else:
            broker, seconds = choose.randrange(history.brokers), choose.choice([0.02, 0.5, 6.0])
            history.steps.append(Step("restart", at, values=(broker,), seconds=seconds))
    density = choose.choice([4, 10, 30])  # of faulty Produce requests
    for _ in range(choose.choice([0, 1, 1, 2, 2, 3, 4, 8])):
        history.steps.append(Step("produce", choose.randint(1, density), _random_fault(choose)))
    for name, names, codes in (
        ("metadata", ["code", "lost", "silent", "stale", "leaderless"], _METADATA_CODES),
        ("connect", ["unreachable", "unreachable", "unreachable", "unreachable", "rejected"], [0]),
        ("init", ["code", "lost"], _INIT_CODES),
    ):
        for _ in range(choose.choice([0, 0, 0, 1, 2, 6])):
            fault = Fault(
                choose.choice(names), choose.choice(codes), choose.randrange(3), choose.choice([0.0, 0.0, 1.0])
            )
            history.steps.append(Step(name, choose.randint(1, 6), fault))
    return history


def run(history: History) -> str | None:
    """Run a history. Return the rule that the writer broke; None if none."""
    with _simulated_modules():
        return _run(history)


def _run(history: History) -> str | None:
    _CLOCK.reset()
    random.seed(history.seed)
    writer = _Writer(history)
    try:
        for step in [*history.steps, Step("flush")]:
            writer.act(step)
    except BrokerError as e:
        try:
            writer.check_failed(e)
        except Violation as violation:
            return f"{violation}, after {e!r}"
    except Violation as violation:
        return str(violation)
    except Exception as e:  # noqa: BLE001  # only errors of brokers are expected
        return repr(e)
    return None


class _Writer:
    """A task, the next ones, and the cluster to which they write."""

    def __init__(self, history: History) -> None:
        brokers = [(f"broker{number}", 9092) for number in range(history.brokers)]
        partitions = [Partition(brokers[number % history.brokers]) for number in range(history.partitions)]
        self.network = Network(_CLOCK, brokers, partitions, history.rejects_unknown, history.reports_duplicates)
        self.records = [0] * history.partitions  # sent so far
        self.flushed = [0] * history.partitions
        self.written_again: set[int] = WRITTEN_AGAIN
        self.written_again.clear()
        for step in history.steps:
            self._schedule(step)
        pools = cast(Any, SimulatedPool(self.network)), cast(Any, SimulatedPool(self.network))
        self.state = ProducerState(CONFIG, *pools)
        _NETWORK[0] = self.network
        self.must_succeed, self.can_lose_order = history.must_succeed(), history.can_lose_order()
        self.sender: Sender | None = None

    def _schedule(self, step: Step) -> None:
        network = self.network
        if step.name in ("elect", "restart"):
            event = self._elect if step.name == "elect" else self._restart
            _CLOCK.at(_CLOCK.now + step.at, lambda: event(step))
        elif step.fault.name:
            getattr(network, f"{step.name}_faults")[int(step.at)] = step.fault

    def _elect(self, step: Step) -> None:
        number, broker, survivors, remembered = step.values
        partition = self.network.partitions[number]
        leader = self.network.brokers[broker % len(self.network.brokers)]
        if leader == partition.leader:
            remembered = REMEMBERED  # it was not restarted
        partition.elect(None if broker < 0 else leader, survivors, remembered)
        if broker < 0:
            _CLOCK.at(_CLOCK.now + 0.2, lambda: partition.elect(leader, survivors, remembered))

    def _restart(self, step: Step) -> None:
        broker = self.network.brokers[step.values[0]]
        self.network.restart(broker, step.seconds)
        others = [other for other in self.network.brokers if other not in self.network.down]
        for number, partition in enumerate(self.network.partitions):
            if partition.leader == broker:
                # without another replica it is led by the same broker, which has its own log
                survivors = number if others else len(partition.log)
                partition.elect(others[0] if others else broker, survivors, 1 if not others else 5)

    def act(self, step: Step) -> None:
        """Do what the task does in a step."""
        if self.sender is None:
            self._open()
        assert self.sender is not None
        if step.name == "send":
            self.sender.send([self._batch(partition, 1 + i % 3) for i, partition in enumerate(step.values)])
        elif step.name == "poll":
            self.sender.poll()
        elif step.name == "idle":
            _CLOCK.sleep(step.seconds)
        elif step.name in ("flush", "next task", "expire"):
            self._flush()
            if step.name != "flush":
                self.sender = None
            if step.name == "expire":
                _CLOCK.drain()
                _CLOCK.sleep(_EXPIRATION)
                for partition in self.network.partitions:
                    partition.expire_producers()

    def _open(self) -> None:
        if not self.state.is_reusable():
            raise Violation("the producer is not reusable after a flush")
        self.state.producer_id_and_epoch()
        self.sender = Sender(self.state, "")
        self.sender.partition_count(TOPIC)

    def _batch(self, partition: int, records: int) -> Batch:
        content = np.zeros(_BATCH_SIZE, np.uint8)
        struct.pack_into(">q", content.data, HEADER, self.records[partition])
        self.records[partition] += records
        return Batch(TOPIC, partition, records, content, created=_CLOCK.now)

    def _flush(self) -> None:
        assert self.sender is not None
        began = _CLOCK.now
        self.sender.flush()
        if _CLOCK.now > began + _MAX_SECONDS:
            raise Violation(f"flush took {_CLOCK.now - began:g} s")
        for number, records in enumerate(self.records):
            written = self._last_copies(number, self._log_records(number, acknowledged_only=True))
            if written != list(range(records)):
                raise Violation(f"partition {number} does not contain each record once and in order: {written}")
            self.flushed[number] = records

    def _log_records(self, number: int, acknowledged_only: bool) -> list[int]:
        """Return the records of a partition."""
        partition = self.network.partitions[number]
        log = partition.log[: partition.high_watermark] if acknowledged_only else partition.log
        batches = (item for item in log if isinstance(item, SentBatch))
        return [record for batch in batches for record in range(batch.first_record, batch.first_record + batch.records)]

    def _last_copies(self, number: int, records: list[int]) -> list[int]:
        """Leave out the earlier copies of records that the writer has written again knowingly."""
        return list(dict.fromkeys(reversed(records)))[::-1] if number in self.written_again else records

    def _first_copies(self, number: int, records: list[int]) -> list[int]:
        """Leave out the later copies of records that the writer has written again knowingly."""
        return list(dict.fromkeys(records)) if number in self.written_again else records

    def check_failed(self, error: BrokerError) -> None:
        """Check what must hold even after an error, and after all requests have arrived."""
        if self.sender is not None and self.state.is_reusable() and self.records != self.flushed:
            raise Violation("the producer is reusable after an error")
        if self.must_succeed and not (self.can_lose_order and "could change the order of records" in str(error)):
            raise Violation("an error is raised although everything recovers in time")
        if error.__cause__ is not None and KafkaError(KafkaError._MSG_TIMED_OUT).str() in str(error):
            self._check_tries()
        if self.sender is not None:
            self.state.connections.close()
        _CLOCK.drain()
        for number, flushed in enumerate(self.flushed):
            # an error may have ended the second writing
            records = self._first_copies(number, self._log_records(number, acknowledged_only=False))
            if records[:flushed] != list(range(flushed)):
                raise Violation(f"partition {number} lost records of an earlier flush")
            if sorted(set(records)) != records:
                raise Violation(f"partition {number} has duplicates or another order: {records}")

    def _check_tries(self) -> None:
        oldest = [queue.batches[0] for queue in self.state.queues.values() if queue.batches]
        firsts = [struct.unpack_from(">q", batch.content.data, HEADER)[0] for batch in oldest]
        tries = [
            self.network.sent.get((batch.partition, first), 0) for batch, first in zip(oldest, firsts, strict=True)
        ]
        if max(tries, default=0) + self.network.unreachable < 2:
            raise Violation("a batch expired that was not sent again")


def _random_action(choose: random.Random, partitions: int) -> Step:
    number = choose.random()
    if number < 0.6:
        count = choose.choice([1, 1, 2, 3, 6, 12])
        only = choose.randrange(partitions) if choose.random() < 0.5 else None
        return Step("send", values=tuple(choose.randrange(partitions) if only is None else only for _ in range(count)))
    if number < 0.75:
        return Step("idle", seconds=choose.choice([0.001, 0.0015, 0.01, 0.3, 1.2, 8.0, 25.0]))
    return Step(choose.choice(["poll", "poll", "flush", "flush", "next task", "expire"]))


def _random_fault(choose: random.Random) -> Fault:
    name = choose.choice(_FAULTS)
    codes: list[int] = choose.choice([*[_RETRIABLE] * 6, _REJECTED_EPOCH, _CODES])
    code = choose.choice(codes)
    if name == "after" and code in _BEFORE:
        code = choose.choice([ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.REQUEST_TIMED_OUT])
    return Fault(name, int(code), choose.randrange(3), choose.choice([0.002, 0.05, 1.1, 4.0, 5.5, 9.0]))


def _describe(step: Step) -> str:
    if step.fault.name:
        fault = step.fault
        code = f" {error_text(fault.code)}" if fault.code else ""
        return f"{step.name} request {step.at:g}: {fault.name}{code}, position {fault.position}, {fault.seconds:g} s"
    if step.name in ("elect", "restart"):
        return f"after {step.at:.4f} s: {step.name} {step.values} {step.seconds:g} s"
    return f"{step.name} {step.values or ''} {step.seconds or ''}".rstrip()


_CLOCK: Final = Clock()
WRITTEN_AGAIN: Final[set[int]] = set()  # partitions whose batches got another epoch after they may be written
_NETWORK: Final[list[Network]] = [cast(Network, None)]  # of the history that runs


def _produce(
    connection: object, transactional_id: str | None, batches: Sequence[tuple[str, int, int]], *_: object
) -> tuple[ProduceRequest, list[bytes]]:
    if _NETWORK[0].requests.get("produce", 0) > _MAX_WAITS:
        raise Violation("the writer sends without end")
    return ProduceRequest(tuple(partition for _, partition, _ in batches)), [b""] * len(batches)


class _Queue(SendQueue):
    def restart(self, producer: ProducerIdAndEpoch) -> None:
        if any(batch.may_be_written for batch in self.batches):
            WRITTEN_AGAIN.add(self.partition)
        super().restart(producer)


def _init_producer_id(_: object, seconds: float) -> ProducerIdAndEpoch:
    return ProducerIdAndEpoch(_NETWORK[0].init_producer_id(), 0)


_PRODUCE: Final = SimpleNamespace(
    produce=_produce,
    read_produce=lambda response: response,
    OLDEST_VERSION=3,
    OLDEST_VERSION_WITH_ZSTD=7,
)
_replaced = False


@contextlib.contextmanager
def _simulated_modules() -> Iterator[None]:
    """Replace the clock and the encoding of requests in the modules of the writer."""
    global _replaced
    if _replaced:
        yield
        return
    old: list[tuple[Any, str, Any]] = []
    modules = [module for name, module in sys.modules.items() if name.startswith("kafka_sql.kafka.direct.")]
    replacements: list[tuple[Any, str, Any]] = [
        (module, "time", _CLOCK) for module in [*modules, retries] if vars(module).get("time") is time
    ]
    replacements += [(sender, "produce", _PRODUCE), (producer_state, "_init_producer_id", _init_producer_id)]
    replacements += [(sender, "SendQueue", _Queue)]
    logger = logging.getLogger("kafka_sql.kafka")
    level = logger.level
    try:
        _replaced = True
        logger.setLevel(logging.CRITICAL)
        for module, name, replacement in replacements:
            old.append((module, name, getattr(module, name)))
            setattr(module, name, replacement)
        yield
    finally:
        _replaced = False
        logger.setLevel(level)
        for module, name, original in old:
            setattr(module, name, original)


def find_violation(seeds: Sequence[int]) -> tuple[History, str] | None:
    """Run the histories of seeds. Return the first one in which the writer breaks a rule, shrunk, and the rule."""
    with _simulated_modules():
        for seed in seeds:
            history = generate(seed)
            violation = run(history)
            if violation is not None:
                return shrink(history)
    return None


def shrink(history: History) -> tuple[History, str]:
    """Leave out steps while the writer still breaks a rule."""
    violation = run(history)
    assert violation is not None, "the history is not deterministic"
    removed = True
    while removed:
        removed = False
        for index in reversed(range(len(history.steps))):
            shorter = _without(history, index)
            found = run(shorter)
            if found is not None:
                history, violation, removed = shorter, found, True
        for index, step in enumerate(history.steps):
            if step.name == "send" and len(step.values) > 1:
                shorter = _without(history, index)
                shorter.steps.insert(index, step._replace(values=step.values[:-1]))
                found = run(shorter)
                if found is not None:
                    history, violation, removed = shorter, found, True
    return history, violation


def _without(history: History, index: int) -> History:
    steps = history.steps[:index] + history.steps[index + 1 :]
    return History(
        history.seed, history.brokers, history.partitions, history.rejects_unknown, history.reports_duplicates, steps
    )
