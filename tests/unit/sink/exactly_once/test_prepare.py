"""Test what a task prepares: its transactional id, the digest of its rows, and no transaction without rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import TransactionError
from kafka_sql.sink.exactly_once import prepare as module
from kafka_sql.sink.exactly_once.prepare import Task, current_task, digest, prepare
from kafka_sql.sink.exactly_once.records import PreparedTransaction
from kafka_sql.sink.write_stats import WriteStats
from kafka_sql.table.table import Column, Table

TASK = Task(3, 17, "0123456789abcdef", "q", 5)
BATCH = pa.RecordBatch.from_pydict({"a": [1, 2]})
EMPTY = BATCH.slice(0, 0)


def table(**options: str) -> Definition:
    defaults = {
        "connector": "kafka",
        "topic": "t",
        "properties.bootstrap.servers": "h:1",
        "format": "json",
        "sink.delivery-guarantee": "exactly-once",
        "sink.transactional-id-prefix": "p",
    }
    columns = (Column("a", "BIGINT", "BIGINT"),)
    return validate_table(Table(("orders",), columns, {**defaults, **options}))


class Transactions:
    """The transactions that were begun."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.configs: list[dict[str, str]] = []

    @contextmanager
    def begin(self, definition: Definition, config: dict[str, str], transactional_id: str) -> Iterator[object]:
        self.ids.append(transactional_id)
        self.configs.append(config)
        yield object()


@pytest.fixture(params=[True, False], ids=["direct", "librdkafka"])
def is_direct(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch, is_direct: bool) -> Transactions:
    transactions = Transactions()

    def write(producer: object, definition: Definition, batches: Iterator[pa.RecordBatch]) -> WriteStats:
        return WriteStats(rows=sum(batch.num_rows for batch in batches))

    monkeypatch.setattr(module, "can_use_direct", lambda _: is_direct)
    monkeypatch.setattr(module, "table_transaction", transactions.begin)
    monkeypatch.setattr(module, "write_with_producer", write)
    return transactions


@pytest.mark.parametrize("batches", [[], [EMPTY, EMPTY]])
def test_a_task_without_rows_has_no_transaction(begun: Transactions, is_direct: bool, batches: list[Any]) -> None:
    assert prepare(table(), TASK, iter(batches), 60_000) == PreparedTransaction(
        3, 0, None, 0, "0123456789abcdef", "q", 5
    )
    assert len(begun.ids) == int(is_direct)  # librdkafka's producer is not opened


def test_the_rows_of_a_task_are_in_one_transaction(begun: Transactions) -> None:
    prepared = prepare(table(), TASK, iter([EMPTY, BATCH, EMPTY, BATCH]), 60_000)
    assert begun.ids == ["p-t-0123456789abcdef-5-3-17"]
    assert (prepared.transaction, prepared.rows, prepared.stats.rows) == (begun.ids[0], 4, 4)
    assert prepared.digest == digest(BATCH, digest(BATCH))
    assert (prepared.partition, prepared.run, prepared.query, prepared.batch) == (3, TASK.run, "q", 5)


def test_timeouts(begun: Transactions) -> None:
    """The timeout of a request is at most that of the transaction, as librdkafka requires."""
    definition = table(**{"properties.request.timeout.ms": "30000"})
    for timeout in (60_000, 10_000):
        prepare(definition, TASK, iter([BATCH]), timeout)
    assert [(c["transaction.timeout.ms"], c["socket.timeout.ms"]) for c in begun.configs] == [
        ("60000", "30000"),
        ("10000", "10000"),
    ]


def test_pooled_ids_are_used_again_in_later_batches(begun: Transactions) -> None:
    definition = table(**{"sink.transaction-naming-strategy": "POOLING"})
    for batch in (1, 1, 2):
        prepare(definition, Task(0, 0, "fedcba9876543210", "q", batch), iter([BATCH]), 60_000)
    first, second, third = begun.ids
    assert first == third != second


class Context:
    """The task context of Spark."""

    def __init__(self, **properties: str) -> None:
        self.properties = {key.replace("_", "."): value for key, value in properties.items()}

    def partitionId(self) -> int:
        return 3

    def taskAttemptId(self) -> int:
        return 17

    def getLocalProperty(self, key: str) -> str | None:
        return self.properties.get(key)


QUERY = {"sql_streaming_queryId": "q", "spark_jobGroup_id": "run"}


def test_the_current_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def task(statement_id: str | None, **properties: str) -> Task:
        monkeypatch.setattr(module.TaskContext, "get", lambda: Context(**properties))
        return current_task(statement_id)

    in_query = task(None, streaming_sql_batchId="0", **QUERY)
    assert (in_query.partition, in_query.attempt, in_query.query, in_query.batch) == (3, 17, "q", 0)
    assert task("s", streaming_sql_batchId="0", **QUERY) == in_query  # a statement inside foreachBatch
    statement = task("s", spark_jobGroup_id="run")
    assert (statement.query, statement.batch) == (None, None)
    assert statement.run != in_query.run
    for properties in ({"spark_jobGroup_id": "run"}, QUERY):
        with pytest.raises(TransactionError, match="The query id or batch id is missing"):
            task(None, **properties)


def test_outside_of_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.TaskContext, "get", lambda: None)
    with pytest.raises(TransactionError, match="only supported inside Spark tasks"):
        current_task("s")
