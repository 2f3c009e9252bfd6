"""Run and crash exactly-once writers without Spark, for tests of the protocol."""

from __future__ import annotations

import dataclasses
import json
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.errors import (
    PreparedTransactionLostError,
)
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin
from kafka_sql.sink.exactly_once import committer, end_transactions
from kafka_sql.sink.exactly_once.committer import Committer
from kafka_sql.sink.exactly_once.records import PreparedTransaction
from kafka_sql.sink.exactly_once.transactional_ids import task_prefix
from tests.kills.simulated_query import ROWS, SimulatedQuery, sink_table
from tests.topics import Topics

SHORT = 1000  # milliseconds: a transaction timeout after which brokers abort soon


class TooBusyError(Exception):
    """A transaction with a short timeout timed out before the test reached the point where it must be open."""


class DriverDied(BaseException):
    """Simulates a crash of the driver."""


@dataclasses.dataclass
class WriterHarness:
    """A new topic, prefix and checkpoint, and drivers that write with them."""

    topics: Topics
    folder: Path
    topic: str = ""
    prefix: str = dataclasses.field(default_factory=lambda: f"p-{uuid.uuid4().hex[:6]}")
    size: int = ROWS  # rows per batch
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)  # additional options of the sink
    opened: list[Any] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.topic = self.topics.create(3)

    def driver(self, prefix: str | None = None, timeout: int = 60_000, folder: Path | None = None) -> SimulatedQuery:
        """Create a driver of the query."""
        sink = sink_table(self.topics.bootstrap, self.topic, prefix or self.prefix, **self.options)
        query = self.folder.name + self.topic
        driver = SimulatedQuery(sink, folder or self.folder, uuid.uuid4().hex, query, timeout, self.size)
        self.opened.append(driver)
        return driver

    def close(self) -> None:
        """Close the connections of all drivers."""
        for opened in self.opened:
            opened.close()

    def numbers(self, expected: int) -> list[int]:
        """Return the numbers that a reader of committed records sees."""
        records = self.topics.consume(self.topic, expected, 3, **{"isolation.level": "read_committed"})
        return sorted(json.loads(m.value() or b"")["a"] for m in records)

    def open(self) -> list[str]:
        """Return the open transactions of tasks."""
        client = TransactionAdmin(self.config)
        try:
            return client.list_ongoing(task_prefix(self.prefix))
        finally:
            client.close()

    @property
    def config(self) -> dict[str, str]:
        """Client configuration for librdkafka."""
        return to_librdkafka({"bootstrap.servers": self.topics.bootstrap})

    @property
    def properties(self) -> dict[str, str]:
        """Client properties as users write them."""
        return {"bootstrap.servers": self.topics.bootstrap}

    def await_timeout(self) -> None:
        """Wait until the brokers have aborted all open transactions."""
        deadline = time.monotonic() + 120
        while self.open():
            assert time.monotonic() < deadline
            time.sleep(0.1)


def rows(batches: int, size: int = ROWS) -> list[int]:
    return list(range(batches * size))


def crash_after_decision(monkeypatch: pytest.MonkeyPatch, driver: SimulatedQuery, tasks: int) -> None:
    """Run a batch and crash after the decision, before a transaction is committed."""
    crash_in_commit(monkeypatch, die, lambda: driver.run_batch(tasks=tasks))


def crash_in_commit(monkeypatch: pytest.MonkeyPatch, commit_all: Callable[..., Any], work: Callable[[], Any]) -> None:
    """Run ``work`` with ``how`` in place of the commit of decided transactions, and expect a crash."""
    with monkeypatch.context() as patched:
        patched.setattr(committer, "commit_all", commit_all)
        with pytest.raises(DriverDied):
            work()


def with_short_timeout(sink: WriterHarness, work: Callable[[SimulatedQuery], Any]) -> None:
    """Run ``work`` with the shortest transaction timeout that does not expire before the decision."""
    for timeout in (SHORT, 4 * SHORT, 16 * SHORT):
        try:
            work(sink.driver(timeout=timeout))
            return
        except (PreparedTransactionLostError, TooBusyError):
            continue  # nothing was committed; a busy machine needs a longer timeout
    work(sink.driver(timeout=64 * SHORT))


def die(*_: Any) -> Any:
    raise DriverDied


def commit_first_only(client: Any, decided: Any) -> Any:
    end_transactions.commit_all(client, decided[:1])
    raise DriverDied


def prepared_statement(sink: WriterHarness, numbers: range) -> tuple[Committer, list[PreparedTransaction]]:
    """Prepare the tasks of a statement whose driver has not decided yet."""
    driver = sink.driver()
    writer = dataclasses.replace(driver.committer.writer, query=None)
    half = len(numbers) // 2
    prepared = [
        driver.prepare_rows(None, i, [(a, a % 7) for a in part])
        for i, part in enumerate((numbers[:half], numbers[half:]))
    ]
    sink.opened.append(Committer(driver.sink.client_config, writer))
    return sink.opened[-1], prepared
