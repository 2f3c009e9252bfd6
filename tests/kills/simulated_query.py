"""Simulate a streaming query without Spark: batches of numbers, split into tasks, written by the real sink.

The checkpoint works as in Spark: a batch is planned, then written, then marked as done. After a crash, a batch that was
planned but not done is replayed with a different number of tasks.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafka_sql.definition import Definition, validate_table
from kafka_sql.options import connector as opt
from kafka_sql.sink.exactly_once import transactional_ids
from kafka_sql.sink.exactly_once.committer import Committer
from kafka_sql.sink.exactly_once.prepare import Task, prepare
from kafka_sql.sink.exactly_once.records import PreparedTransaction, Writer
from kafka_sql.table.table import Column, Table

ROWS, KEYS = 40, 7

Point = Callable[[str], None]


def sink_table(bootstrap: str, topic: str, prefix: str, naming: str = "INCREMENTING", **overrides: str) -> Definition:
    """Return the sink, with columns for a number and its key."""
    options = {
        "connector": "kafka",
        "topic": topic,
        "properties.bootstrap.servers": bootstrap,
        "value.format": "json",
        "key.format": "json",
        "key.fields": "k",
        "sink.delivery-guarantee": "exactly-once",
        "sink.transactional-id-prefix": prefix,
        "sink.transaction-naming-strategy": naming,
        **overrides,
    }
    columns = tuple(Column(name, "BIGINT", "BIGINT") for name in ("a", "k"))
    return validate_table(Table(("numbers",), columns, options))


class SimulatedQuery:
    """One run of the query."""

    def __init__(
        self, sink: Definition, folder: Path, run: str, query: str = "q", timeout: int = 60_000, size: int = ROWS
    ) -> None:
        """Create the committer and the checkpoint.

        Args:
            sink: the table to write to.
            folder: the checkpoint.
            run: unique name of the run.
            query: the query id.
            timeout: transaction timeout in milliseconds.
            size: number of rows per batch.
        """
        self.sink, self.folder, self.query, self.timeout, self.size = sink, folder, query, timeout, size
        self.run = transactional_ids.run_id(run)
        self.random = random.Random(run)
        prefix = sink.options[opt.TRANSACTIONAL_ID_PREFIX]
        topics = ";".join(opt.topics(sink.options) or ())
        self.committer = Committer(sink.client_config, Writer("numbers", prefix, topics, self.run, query))
        self._attempts = 0
        for state in ("planned", "done"):
            (folder / state).mkdir(parents=True, exist_ok=True)

    def run_batch(self, point: Point = lambda _: None, tasks: int | None = None) -> int:
        """Run the next batch, or replay one that was not done. Return its number, or the last one without new data."""
        number = self.last_batch("planned")
        if number == self.last_batch("done"):
            plan = self.plan(number)
            if plan is None:
                return number
            number += 1
            new = self.folder / f"{number}.new"
            new.write_text(json.dumps(plan))
            new.rename(self.folder / "planned" / str(number))
        point("planned")
        prepared = self.prepare_batch(number, tasks or self.random.randint(1, 4), point)
        point("prepared")
        self.committer.commit(number, prepared)
        point("ended")
        (self.folder / "done" / str(number)).touch()
        point("between")
        return number

    def prepare_batch(self, number: int, tasks: int, point: Point = lambda _: None) -> list[PreparedTransaction]:
        """Prepare all tasks of a planned batch. All rows of a key are in the same task."""
        rows = self.rows(self.read_plan(number))
        task_of_row = rows["k"].to_numpy() % tasks
        prepared = []
        for i in range(tasks):
            prepared.append(self.prepare_task(number, i, rows.filter(pa.array(task_of_row == i))))
            if i == 0:
                point("preparing")
        return prepared

    def plan(self, number: int) -> Any:
        """Return the plan of the batch after this one, as JSON data; None if there is no new data."""
        return {"start": (number + 1) * self.size, "end": (number + 2) * self.size}

    def rows(self, plan: Any) -> pa.RecordBatch:
        """Return the rows of a batch."""
        return _rows([(a, a % KEYS) for a in range(plan["start"], plan["end"])])

    def read_plan(self, number: int) -> Any:
        """Read the plan of a batch from the checkpoint."""
        return json.loads((self.folder / "planned" / str(number)).read_text())

    def prepare_rows(self, number: int | None, partition: int, rows: list[tuple[int, int]]) -> PreparedTransaction:
        """Prepare a task with these numbers and keys."""
        return self.prepare_task(number, partition, _rows(rows))

    def prepare_task(self, number: int | None, partition: int, rows: pa.RecordBatch) -> PreparedTransaction:
        """Prepare a task with these rows."""
        return self.prepare_task_rows(number, partition, iter([rows]))

    def prepare_task_rows(
        self, number: int | None, partition: int, batches: Iterator[pa.RecordBatch]
    ) -> PreparedTransaction:
        """Prepare a task with the rows of these batches."""
        self._attempts += 1
        task = Task(partition, self._attempts, self.run, self.query if number is not None else None, number)
        return prepare(self.sink, task, batches, self.timeout)

    def release_claim(self) -> None:
        """Let the next batch claim the prefix again, as the first batch of a driver does."""
        self.committer._owner = None

    def close(self) -> None:
        """Close the connections."""
        self.committer.close()

    def last_batch(self, state: str) -> int:
        """Return the last batch that is "planned" or "done"; -1 if there is none."""
        return max((int(p.name) for p in (self.folder / state).iterdir()), default=-1)


SCHEMA = pa.schema([("a", pa.int64()), ("k", pa.int64())])


def _rows(pairs: list[tuple[int, int]]) -> pa.RecordBatch:
    return pa.record_batch({"a": [a for a, _ in pairs], "k": [k for _, k in pairs]}, SCHEMA)
