"""A pipeline under fault: numbers go into a topic, a driver copies them exactly once, a reader reads along."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin
from kafka_sql.sink.exactly_once.transactional_ids import task_prefix
from tests.chaos.clusters import TIMEOUT, wait_until
from tests.chaos.outcome import Outcome
from tests.chaos.pipeline import FAILED, FENCED, CrashPlan, QueryConfig, run_driver
from tests.kills import oracle

PARTITIONS: Final = 3
KEYS: Final = 12
_LOOK: Final = 1.0  # seconds, in which the reader that reads along would have seen more; at the end all is looked at
# forked off a process that has imported everything and made no client: a life begins in milliseconds
PROCESSES: Final = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.chaos.run"])


@dataclass
class SharedProgress:
    """As the oracle has it."""

    wanted: Any
    seen: Any
    partitions: Any


class PipelineRun:
    """One pipeline.

    Attributes:
        query: what drivers are told.
        sent: how many numbers were sent.
        routes: the partition of each key; more may be added.
        driver: the process of the living one, if there is one.
    """

    def __init__(
        self,
        bootstrap: str,
        folder: Path,
        through: str | None = None,
        reading: Mapping[str, str] | None = None,
        partitions: int = PARTITIONS,
        largest: int = 1_000_000,
        **more: Any,
    ) -> None:
        """
        Args:
            through: bootstrap servers of the driver, where they are others.
            reading: options of the source.
            largest: record in bytes.
            more: of the query.
        """
        name = uuid.uuid4().hex[:8]
        folder = folder / name
        folder.mkdir(parents=True)
        source, target = f"{name}-source", f"{name}-target"
        limits = {"scan.max-offsets-per-trigger": "2000", **(reading or {})}
        self.query = QueryConfig(
            through or bootstrap, source, target, f"{name}-prefix", folder, limits, name=name, **more
        )
        self.bootstrap, self.sent, self.lives = bootstrap, 0, 0
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        for topic in (source, target):
            self.create_topic(topic, partitions)
        self.routes = [(source, k % partitions) for k in range(KEYS)]
        self.driver: Any = None
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "delivery.timeout.ms": int(TIMEOUT * 1000),
                "message.max.bytes": largest + 10_000,
                "queue.buffering.max.kbytes": 100_000,
                "log_level": 0,
            }
        )
        self.watch = SharedProgress(*(PROCESSES.Value("q", number, lock=False) for number in (0, 0, partitions)))
        self._ours, theirs = PROCESSES.Pipe()
        arguments = (bootstrap, target, partitions, theirs, self.watch)
        self._reader = PROCESSES.Process(target=read_along, args=arguments, daemon=True)
        self._reader.start()

    def create_topic(self, topic: str, partitions: int) -> None:
        """A topic, with as many replicas as there are brokers."""
        self.admin.create_topics([NewTopic(topic, partitions, -1)])[topic].result(60)

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Add partitions to a topic, so that it has so many; readers are told of the target's."""
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(60)
        if topic == self.query.target:
            self.watch.partitions.value = partitions

    def send(self, count: int) -> None:
        """The next numbers; they are on their way when this returns."""
        for a in range(self.sent, self.sent + count):
            key = a % len(self.routes)
            topic, partition = self.routes[key]
            self.produce(topic, partition, self.encode(a, key))
        self.count(count)

    def count(self, count: int) -> None:
        """So many numbers more are in the source."""
        self.sent += count
        self.watch.wanted.value += count

    def encode(self, a: int, key: int) -> bytes:
        """A row's payload."""
        return b'{"a": %d, "k": %d}' % (a, key)

    def produce(self, topic: str, partition: int, payload: bytes) -> None:
        """One record, soon."""
        while True:
            try:
                self._producer.produce(topic, payload, partition=partition)
                self._producer.poll(0)
                return
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as e:
                if e.args[0].code() != KafkaError._UNKNOWN_PARTITION:
                    raise
                self._producer.list_topics(topic, timeout=30)  # a new one

    def flush(self) -> None:
        """Return when all that was sent is in the topic."""
        assert self._producer.flush(TIMEOUT) == 0, "the numbers could not be sent"

    def start(self, end: CrashPlan | None = None, **changes: Any) -> Any:
        """A driver; where another one lives, it is left alone and forgotten.

        Args:
            changes: of the query, for this driver.
        """
        self.lives += 1
        query = replace(self.query, **changes)
        (query.folder / "error").unlink(missing_ok=True)
        self.driver = PROCESSES.Process(
            target=run_driver, args=(query, f"{self.query.prefix}-{self.lives}", end or CrashPlan()), daemon=True
        )
        self.driver.start()
        return self.driver

    def kill(self) -> None:
        """kill -9 the driver."""
        os.kill(self.driver.pid, signal.SIGKILL)
        self.driver.join(60)

    def wait_until_caught_up(self, rows: int | None = None) -> None:
        """Return when the reader that reads along has seen all that was sent, and the checkpoint has it as done.

        Args:
            rows: how many, where it is not all that was sent.

        Raises:
            AssertionError: no progress, or the driver has ended.
        """
        self.flush()
        wanted = self.sent if rows is None else rows
        self.watch.wanted.value = wanted

        def look() -> bool:
            assert self.driver.is_alive(), f"the driver ended with {self.driver.exitcode}: {self.error()}"
            return bool(self.watch.seen.value >= wanted)

        wait_until(look, f"progress from {self.watch.seen.value} to {wanted} rows")
        self._settled()

    def _settled(self) -> None:
        """Return when the checkpoint knows that what readers have seen is done."""

        def last(kind: str) -> int:
            return max((int(path.name) for path in (self.query.folder / kind).iterdir()), default=-1)

        wait_until(lambda: last("planned") == last("done"), "the end of a batch")

    def wait_for_failure(self) -> str:
        """Wait until the driver has ended by an error; the error."""
        self.driver.join(TIMEOUT)
        assert self.driver.exitcode in (FAILED, FENCED), f"the driver ended with {self.driver.exitcode}: {self.error()}"
        return self.error()

    def error(self) -> str:
        """What the last driver that failed has said."""
        with contextlib.suppress(FileNotFoundError):
            return (self.query.folder / "error").read_text()
        return ""

    def assert_start_fails(self, *words: str, **changes: Any) -> None:
        """A driver is started, says these words and writes nothing."""
        before = self.watch.seen.value
        self.start(**changes)
        said = self.wait_for_failure()
        missing = [one for one in words if one not in said]
        assert not missing, f"{missing} not in: {said}"
        time.sleep(_LOOK)
        assert self.watch.seen.value == before, "rows were written by a driver that refused"
        assert self.open_transactions() == [], "a driver that refused has left transactions open"

    def offsets(self, batch: int) -> dict[int, int]:
        """Where a batch has ended in each partition of the source."""
        plan = json.loads((self.query.folder / "planned" / str(batch)).read_text())
        return {int(p): at for p, at in plan["end"]["offsets"][self.query.source].items()}

    def open_transactions(self) -> list[str]:
        """Transactions of the query that are open."""
        client = TransactionAdmin(to_librdkafka({"bootstrap.servers": self.bootstrap}))
        try:
            return client.list_ongoing(task_prefix(self.query.prefix))
        finally:
            client.close()

    def finish(self, repetitions: int, expected: int | None = None) -> Outcome:
        """Let the driver end, and compare what two readers saw with what was sent.

        Args:
            expected: how many rows, where it is not all that was sent.
        """
        self.flush()
        if self.driver is None or not self.driver.is_alive():
            self.start()
        (self.query.folder / "enough").touch()
        self.driver.join(TIMEOUT)
        assert self.driver.exitcode == 0, f"the driver ended with {self.driver.exitcode}: {self.error()}"
        return self.seen(repetitions, expected)

    def seen(self, repetitions: int, expected: int | None = None) -> Outcome:
        """The same, of drivers that have ended."""
        rows = self.sent if expected is None else expected
        assert self.open_transactions() == [], "open transactions are left behind"
        self._ours.send(rows)
        along = self._ours.recv()
        self._reader.join()
        ours, theirs = PROCESSES.Pipe()
        last = PROCESSES.Process(
            target=read_all,
            args=(self.bootstrap, self.query.target, self.watch.partitions.value, rows, theirs),
            daemon=True,
        )
        last.start()
        outcome = Outcome(repetitions, rows, stall=along.stall)
        for seen in (along, ours.recv()):
            found = seen.verdict(self.sent)
            outcome.lost = max(outcome.lost, rows - found["distinct"])
            outcome.duplicates = max(outcome.duplicates, found["count"] - found["distinct"])
            outcome.disorder = max(outcome.disorder, len(found["disorder"]))
            assert not found["unexpected"], found["unexpected"]
        last.join()
        if self.lives > 1:
            outcome.notes.append(f"{self.lives} drivers")
        return outcome


@contextlib.contextmanager
def running(bootstrap: str, folder: Path, **more: Any) -> Iterator[PipelineRun]:
    """A pipeline with a living driver, whose processes are ended in any case."""
    run = PipelineRun(bootstrap, folder, **more)
    try:
        yield run
    finally:
        for process in (run.driver, run._reader):
            if process is not None and process.is_alive():
                process.kill()
                process.join()


def read_along(bootstrap: str, topic: str, partitions: int, pipe: Any, watch: SharedProgress) -> None:
    """The concurrent reader's process."""
    pipe.send(oracle.read_committed(bootstrap, topic, partitions, None, 60, pipe, watch))


def read_all(bootstrap: str, topic: str, partitions: int, count: int, pipe: Any) -> None:
    """The final reader's process."""
    pipe.send(oracle.read_committed(bootstrap, topic, partitions, count, 60, None))
