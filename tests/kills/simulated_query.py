"""A continuous query without Spark: batches of numbers, cut into tasks, prepared and committed by the sink's own code.

It keeps a checkpoint as Spark does: a batch is planned, then written, then noted as done; after a crash, the last one
that was planned and not done is done again, cut into another number of tasks.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafka_sql.definition import Definition, validate_table
from kafka_sql.options import connector as opt
from kafka_sql.sink.exactly_once import transactional_ids
from kafka_sql.sink.exactly_once.committer import Committer
from kafka_sql.sink.exactly_once.prepare import Task, prepare
from kafka_sql.sink.exactly_once.records import PreparedTransaction, Writer
from kafka_sql.table.declaration import Column, Table

ROWS, KEYS = 40, 7

Point = Callable[[str], None]


def sink_table(bootstrap: str, topic: str, prefix: str, naming: str = "INCREMENTING", **more: str) -> Definition:
    """The sink: a number and its key."""
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
        **more,
    }
    columns = tuple(Column(name, "BIGINT", "BIGINT") for name in ("a", "k"))
    return validate_table(Table(("numbers",), columns, options))


class SimulatedQuery:
    """One life of the query."""

    def __init__(
        self, sink: Definition, folder: Path, run: str, query: str = "q", timeout: int = 60_000, size: int = ROWS
    ) -> None:
        """
        Args:
            folder: the checkpoint.
            run: a name that no life before had.
            timeout: of a transaction, in milliseconds.
            size: rows of a batch.
        """
        self.sink, self.folder, self.query, self.timeout, self.size = sink, folder, query, timeout, size
        self.run = transactional_ids.run_id(run)
        self.random = random.Random(run)
        prefix = sink.options[opt.TRANSACTIONAL_ID_PREFIX]
        self.committer = Committer(sink.client, Writer("numbers", prefix, "t", self.run, query))
        self._attempts = 0
        for kind in ("planned", "done"):
            (folder / kind).mkdir(parents=True, exist_ok=True)

    def run_batch(self, point: Point = lambda _: None, tasks: int | None = None) -> int:
        """Do the next batch, or the one again that was not done; its number, the last one's where nothing is to do."""
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
        """All tasks of a planned batch; all rows of a key are in one of them."""
        rows = self.rows(self.read_plan(number))
        place = rows["k"].to_numpy() % tasks
        prepared = []
        for i in range(tasks):
            prepared.append(self.prepare_task(number, i, rows.filter(pa.array(place == i))))
            if i == 0:
                point("preparing")
        return prepared

    def plan(self, number: int) -> Any:
        """What the batch after this one is, as JSON's data; None where there is nothing to do."""
        return {"start": (number + 1) * self.size, "end": (number + 2) * self.size}

    def rows(self, plan: Any) -> pa.RecordBatch:
        """The rows of a batch."""
        return _rows([(a, a % KEYS) for a in range(plan["start"], plan["end"])])

    def read_plan(self, number: int) -> Any:
        """The plan of a batch, as the checkpoint has it."""
        return json.loads((self.folder / "planned" / str(number)).read_text())

    def prepare_rows(self, number: int | None, partition: int, rows: list[tuple[int, int]]) -> PreparedTransaction:
        """One task, with its numbers and their keys."""
        return self.prepare_task(number, partition, _rows(rows))

    def prepare_task(self, number: int | None, partition: int, rows: pa.RecordBatch) -> PreparedTransaction:
        """One task."""
        self._attempts += 1
        task = Task(partition, self._attempts, self.run, self.query if number is not None else None, number)
        return prepare(self.sink, task, iter([rows]), self.timeout)

    def release_claim(self) -> None:
        """Claim the prefix anew with the next batch, as a driver's first batch does."""
        self.committer._owner = None

    def close(self) -> None:
        """Close the connections."""
        self.committer.close()

    def last_batch(self, kind: str) -> int:
        """The last batch that was planned, or done; -1 where there is none."""
        return max((int(p.name) for p in (self.folder / kind).iterdir()), default=-1)


SCHEMA = pa.schema([("a", pa.int64()), ("k", pa.int64())])


def _rows(pairs: list[tuple[int, int]]) -> pa.RecordBatch:
    return pa.record_batch({"a": [a for a, _ in pairs], "k": [k for _, k in pairs]}, SCHEMA)
