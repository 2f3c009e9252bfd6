"""Lives of an exactly-once writer, and how they end: for tests of the protocol, without Spark."""

from __future__ import annotations

import dataclasses
import json
import time
import uuid
from collections.abc import Callable
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

SHORT = 1000  # milliseconds: a transaction that the brokers abort soon


class TooBusyError(Exception):
    """A transaction of ``SHORT`` has timed out before the test was where it needs it open."""


class DriverDied(BaseException):
    """The driver is gone; nothing of it runs any more."""


@dataclasses.dataclass
class WriterHarness:
    """A topic, a prefix and a checkpoint of their own, and drivers that write with them."""

    topics: Topics
    folder: Path
    topic: str = ""
    prefix: str = dataclasses.field(default_factory=lambda: f"p-{uuid.uuid4().hex[:6]}")
    size: int = ROWS  # of a batch
    used: list[Any] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.topic = self.topics.create(3)

    def driver(self, prefix: str | None = None, timeout: int = 60_000, folder: Path | None = None) -> SimulatedQuery:
        """A new life of the query."""
        sink = sink_table(self.topics.bootstrap, self.topic, prefix or self.prefix)
        query = self.folder.name + self.topic
        engine = SimulatedQuery(sink, folder or self.folder, uuid.uuid4().hex, query, timeout, self.size)
        self.used.append(engine)
        return engine

    def close(self) -> None:
        """Close the connections of all drivers."""
        for one in self.used:
            one.close()

    def numbers(self, expected: int) -> list[int]:
        """What a reader of committed records sees."""
        found = self.topics.take(self.topic, expected, 3, **{"isolation.level": "read_committed"})
        return sorted(json.loads(m.value() or b"")["a"] for m in found)

    def open(self) -> list[str]:
        """Transactions that were left open."""
        client = TransactionAdmin(self.config)
        try:
            return client.list_ongoing(task_prefix(self.prefix))
        finally:
            client.close()

    @property
    def config(self) -> dict[str, str]:
        """A client's."""
        return to_librdkafka({"bootstrap.servers": self.topics.bootstrap})

    @property
    def properties(self) -> dict[str, str]:
        """A client's, as a user gives them."""
        return {"bootstrap.servers": self.topics.bootstrap}

    def await_timeout(self) -> None:
        """Return when the brokers have aborted all that was open."""
        deadline = time.monotonic() + 120
        while self.open():
            assert time.monotonic() < deadline
            time.sleep(0.1)


def rows(batches: int, size: int = ROWS) -> list[int]:
    return list(range(batches * size))


def crash_after_decision(monkeypatch: pytest.MonkeyPatch, engine: SimulatedQuery, tasks: int) -> None:
    """The next batch is decided, and no transaction of it is ended."""
    crash_in_commit(monkeypatch, die, lambda: engine.run_batch(tasks=tasks))


def crash_in_commit(monkeypatch: pytest.MonkeyPatch, how: Callable[..., Any], work: Callable[[], Any]) -> None:
    """Die where decided transactions are to be ended."""
    with monkeypatch.context() as patched:
        patched.setattr(committer, "commit_all", how)
        with pytest.raises(DriverDied):
            work()


def with_short_timeout(sink: WriterHarness, work: Callable[[SimulatedQuery], Any]) -> None:
    """``work`` with transactions that time out as soon as can be, and yet not before they are decided."""
    for timeout in (SHORT, 4 * SHORT, 16 * SHORT):
        try:
            work(sink.driver(timeout=timeout))
            return
        except (PreparedTransactionLostError, TooBusyError):
            continue  # nothing of it is to be seen; a busy machine needs longer
    work(sink.driver(timeout=64 * SHORT))


def die(*_: Any) -> Any:
    raise DriverDied


def commit_first_only(client: Any, decided: Any) -> Any:
    end_transactions.commit_all(client, decided[:1])
    raise DriverDied


def prepared_statement(sink: WriterHarness, numbers: range) -> tuple[Committer, list[PreparedTransaction]]:
    """A statement's tasks are done, its driver has not decided."""
    engine = sink.driver()
    writer = dataclasses.replace(engine.committer.writer, query=None)
    half = len(numbers) // 2
    prepared = [
        engine.prepare_rows(None, i, [(a, a % 7) for a in part])
        for i, part in enumerate((numbers[:half], numbers[half:]))
    ]
    sink.used.append(Committer(engine.sink.client, writer))
    return sink.used[-1], prepared
