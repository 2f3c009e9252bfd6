"""Run a pipeline under faults: numbers are sent to a topic, a driver copies them exactly once, readers check them."""

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
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin
from kafka_sql.sink.exactly_once.transactional_ids import task_prefix
from tests.chaos.batch_codecs import topic_codecs
from tests.chaos.client_record import used_clients
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.pipeline import FAILED, FENCED, CrashPlan, QueryConfig, run_driver
from tests.kills import oracle
from tests.waiting import TIMEOUT, wait_until

PARTITIONS: Final = 3
KEYS: Final = 12
_COMPRESSION: Final = "properties.compression.type"
_OBSERVATION_TIME: Final = (
    1.0  # seconds in which the concurrent reader would have seen new rows; the final reader sees all
)
# forked from a process that has imported everything and has no clients, so drivers start within milliseconds
PROCESSES: Final = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.chaos.run"])


@dataclass
class SharedProgress:
    """Implements ``oracle.ReaderProgress`` with shared memory."""

    expected: Any
    seen: Any
    partitions: Any


class PipelineRun:
    """A pipeline with its data generator and readers.

    Attributes:
        query: configuration of the drivers.
        codec: 'compression.type' of the data generator.
        sent: number of sent numbers.
        routes: topic and partition of each key; more may be added.
        driver: process of the current driver, if there is one.
    """

    def __init__(
        self,
        bootstrap: str,
        config: ScenarioConfig,
        driver_bootstrap: str | None = None,
        source_options: Mapping[str, str] | None = None,
        sink_options: Mapping[str, str] | None = None,
        partitions: int = PARTITIONS,
        max_record_size: int = 1_000_000,
        **query_fields: Any,
    ) -> None:
        """Create the topics and start the concurrent reader.

        Args:
            bootstrap: bootstrap servers.
            config: configuration of the scenario.
            driver_bootstrap: bootstrap servers of the drivers, if they are different.
            source_options, sink_options: additional options of the two tables.
            partitions: number of partitions of both topics.
            max_record_size: size of the largest record in bytes.
            query_fields: other fields of ``QueryConfig``.
        """
        name = uuid.uuid4().hex[:8]
        folder = config.folder / name
        folder.mkdir(parents=True)
        source, target = f"{name}-source", f"{name}-target"
        self.query = QueryConfig(
            driver_bootstrap or bootstrap,
            source,
            target,
            f"{name}-prefix",
            folder,
            {
                "scan.client": config.client,
                "sink.client": config.client,  # of dead letters
                "scan.max-offsets-per-trigger": "2000",
                **(source_options or {}),
            },
            {"sink.client": config.client, _COMPRESSION: config.codec, **(sink_options or {})},
            name=name,
            **query_fields,
        )
        self.bootstrap, self.codec, self.sent, self.drivers = bootstrap, config.codec, 0, 0
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
                "compression.type": config.codec,
                "delivery.timeout.ms": int(TIMEOUT * 1000),
                "message.max.bytes": max_record_size + 10_000,
                "queue.buffering.max.kbytes": 100_000,
                "log_level": 0,
            }
        )
        self.watch = SharedProgress(*(PROCESSES.Value("q", number, lock=False) for number in (0, 0, partitions)))
        self._pipe, child_pipe = PROCESSES.Pipe()
        arguments = (bootstrap, target, partitions, child_pipe, self.watch)
        self._reader = PROCESSES.Process(target=read_concurrently, args=arguments, daemon=True)
        self._reader.start()

    def create_topic(self, topic: str, partitions: int) -> None:
        """Create a topic with the default replication factor."""
        self.admin.create_topics([NewTopic(topic, partitions, -1)])[topic].result(60)

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Increase the number of partitions of a topic. Readers learn about those of the target."""
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(60)
        if topic == self.query.target:
            self.watch.partitions.value = partitions

    def send(self, count: int) -> None:
        """Send the next numbers without waiting for acknowledgements."""
        for a in range(self.sent, self.sent + count):
            key = a % len(self.routes)
            topic, partition = self.routes[key]
            self.produce(topic, partition, self.encode(a, key))
        self.count(count)

    def count(self, count: int) -> None:
        """Count numbers that were added to the source."""
        self.sent += count
        self.watch.expected.value += count

    def encode(self, a: int, key: int) -> bytes:
        """Return the payload of a row."""
        return b'{"a": %d, "k": %d}' % (a, key)

    def produce(self, topic: str, partition: int, payload: bytes) -> None:
        """Send a record without waiting for the acknowledgement."""
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
                self._producer.list_topics(topic, timeout=30)  # a new partition

    def flush(self) -> None:
        """Wait until all sent records are acknowledged."""
        assert self._producer.flush(TIMEOUT) == 0, "not all numbers were acknowledged"

    def start(self, crash: CrashPlan | None = None, **changes: Any) -> Any:
        """Start a driver. An existing driver keeps running, but is no longer tracked.

        Args:
            crash: where it crashes.
            changes: changes to the query configuration for this driver.
        """
        self.drivers += 1
        query = replace(self.query, **changes)
        (query.folder / "error").unlink(missing_ok=True)
        self.driver = PROCESSES.Process(
            target=run_driver, args=(query, f"{self.query.prefix}-{self.drivers}", crash or CrashPlan()), daemon=True
        )
        self.driver.start()
        return self.driver

    def kill(self) -> None:
        """Kill the driver with SIGKILL."""
        os.kill(self.driver.pid, signal.SIGKILL)
        self.driver.join(60)

    def wait_until_caught_up(self, rows: int | None = None) -> None:
        """Wait until the concurrent reader has seen all rows, and the checkpoint has the batches as done.

        Args:
            rows: number of expected rows, if not all that were sent.

        Raises:
            AssertionError: there is no progress, or the driver has exited.
        """
        self.flush()
        expected = self.sent if rows is None else rows
        self.watch.expected.value = expected

        def poll() -> bool:
            assert self.driver.is_alive(), f"the driver exited with {self.driver.exitcode}: {self.error()}"
            return bool(self.watch.seen.value >= expected)

        wait_until(poll, f"progress from {self.watch.seen.value} to {expected} rows")
        self._wait_for_batch_end()

    def _wait_for_batch_end(self) -> None:
        """Wait until all planned batches are done."""

        def last(state: str) -> int:
            return max((int(path.name) for path in (self.query.folder / state).iterdir()), default=-1)

        wait_until(lambda: last("planned") == last("done"), "the end of a batch")

    def wait_for_failure(self) -> str:
        """Wait until the driver has failed, and return its error."""
        self.driver.join(TIMEOUT)
        assert self.driver.exitcode in (FAILED, FENCED), (
            f"the driver exited with {self.driver.exitcode}: {self.error()}"
        )
        return self.error()

    def error(self) -> str:
        """Return the error of the last driver that failed."""
        with contextlib.suppress(FileNotFoundError):
            return (self.query.folder / "error").read_text()
        return ""

    def assert_start_fails(self, *expected: str, **changes: Any) -> None:
        """Start a driver and check that it fails with a message that contains these strings, and writes nothing."""
        before = self.watch.seen.value
        self.start(**changes)
        error = self.wait_for_failure()
        missing = [part for part in expected if part not in error]
        assert not missing, f"{missing} not in: {error}"
        time.sleep(_OBSERVATION_TIME)
        assert self.watch.seen.value == before, "a driver that failed has written rows"
        assert self.open_transactions() == [], "a driver that failed has left open transactions"

    def offsets(self, batch: int) -> dict[int, int]:
        """Return the end offset of a batch in each partition of the source."""
        plan = json.loads((self.query.folder / "planned" / str(batch)).read_text())
        return {int(p): offset for p, offset in plan["end"]["offsets"][self.query.source].items()}

    def open_transactions(self) -> list[str]:
        """Return the open transactions of the query."""
        client = TransactionAdmin(to_librdkafka({"bootstrap.servers": self.bootstrap}))
        try:
            return client.list_ongoing(task_prefix(self.query.prefix))
        finally:
            client.close()

    def finish(self, repetitions: int, expected: int | None = None) -> Outcome:
        """Let the driver finish, and compare what two readers saw with what was sent.

        Args:
            repetitions: number of faults.
            expected: number of expected rows, if not all that were sent.
        """
        self.flush()
        if self.driver is None or not self.driver.is_alive():
            self.start()
        (self.query.folder / "finish").touch()
        self.driver.join(TIMEOUT)
        assert self.driver.exitcode == 0, f"the driver exited with {self.driver.exitcode}: {self.error()}"
        self._check_codec(self.query.source, self.codec)
        return self.evaluate(repetitions, expected)

    def evaluate(self, repetitions: int, expected: int | None = None) -> Outcome:
        """Compare what two readers saw with what was sent, after the drivers have exited. See ``finish``."""
        rows = self.sent if expected is None else expected
        self._check_clients()
        self._check_codec(self.query.target, self.query.sink_options[_COMPRESSION])
        assert self.open_transactions() == [], "there are open transactions"
        self._pipe.send(rows)
        concurrent = self._pipe.recv()
        self._reader.join()
        pipe, child_pipe = PROCESSES.Pipe()
        final = PROCESSES.Process(
            target=read_all,
            args=(self.bootstrap, self.query.target, self.watch.partitions.value, rows, child_pipe),
            daemon=True,
        )
        final.start()
        outcome = Outcome(repetitions, rows, stall=concurrent.stall)
        for observed in (concurrent, pipe.recv()):
            verdict = observed.verdict(self.sent)
            outcome.lost = max(outcome.lost, rows - verdict["distinct"])
            outcome.duplicates = max(outcome.duplicates, verdict["count"] - verdict["distinct"])
            outcome.disorder = max(outcome.disorder, len(verdict["disorder"]))
            assert not verdict["unexpected"], verdict["unexpected"]
        final.join()
        if self.drivers > 1:
            outcome.notes.append(f"{self.drivers} drivers")
        return outcome

    def _check_clients(self) -> None:
        """Check that no client other than the configured one was used."""
        source_client, sink_client = self.query.source_options["scan.client"], self.query.sink_options["sink.client"]
        used = used_clients(self.query.folder)
        assert used == {f"read {source_client}", f"write {sink_client}"}, f"other clients were used: {used}"

    def _check_codec(self, topic: str, codec: str) -> None:
        """Check that the batches of a topic are compressed."""
        found = {name or "none" for name in topic_codecs(self.bootstrap, topic)}
        # librdkafka does not compress a batch that would become larger
        assert codec in found <= {codec, "none"}, f"{topic}: {found} instead of {codec}"


@contextlib.contextmanager
def running(bootstrap: str, config: ScenarioConfig, **arguments: Any) -> Iterator[PipelineRun]:
    """Yield a pipeline, which is created with these arguments. Its processes are killed at the end."""
    run = PipelineRun(bootstrap, config, **arguments)
    try:
        yield run
    finally:
        for process in (run.driver, run._reader):
            if process is not None and process.is_alive():
                process.kill()
                process.join()


def read_concurrently(bootstrap: str, topic: str, partitions: int, pipe: Any, watch: SharedProgress) -> None:
    """Read committed records until the number of expected rows arrives in ``pipe``; then send the observed rows."""
    pipe.send(oracle.read_committed(bootstrap, topic, partitions, None, 60, pipe, watch))


def read_all(bootstrap: str, topic: str, partitions: int, count: int, pipe: Any) -> None:
    """Read committed records up to ``count`` rows, and send the observed rows."""
    pipe.send(oracle.read_committed(bootstrap, topic, partitions, count, 60, None))
