"""Run a streaming query from topic to topic without Spark: simulated batches, read and written by the real code."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import WriterFencedError
from kafka_sql.sink.exactly_once.records import PreparedTransaction
from kafka_sql.source.reader.split_reader import SplitReader
from kafka_sql.source.stream.micro_batch import MicroBatchStream
from kafka_sql.source.stream.stream_offset import from_json, to_json
from kafka_sql.table.table import Column, Table
from tests.chaos.client_record import recorded_clients, recorded_throttling
from tests.kills import simulated_query
from tests.kills.crash_points import CrashTrigger, kill_process, suspend_process
from tests.kills.simulated_query import SCHEMA, Point, SimulatedQuery

FENCED, FAILED = 3, 1  # exit codes of drivers that were fenced or failed
PAUSES: Final = 2  # of a slow task
_IDLE: Final = 0.02  # seconds
_TIMEOUT: Final = 900_000  # milliseconds; the default limit of brokers


class Pipeline(SimulatedQuery):
    """One driver of the query."""

    def __init__(self, source: Definition, sink: Definition, folder: Path, run: str, query: str) -> None:
        super().__init__(sink, folder, run, query, _TIMEOUT)
        self.source, self.stream = source, MicroBatchStream(source)

    def plan(self, number: int) -> Any:
        """Return start and end offset of the next batch as Spark stores them; None if there is no new data."""
        start = self.stream.initial_offset() if number < 0 else from_json(self.read_plan(number)["end"])
        end = self.stream.latest_offset(start, is_limited=True)
        return None if end == start else {"start": to_json(start), "end": to_json(end)}

    def rows(self, plan: Any) -> pa.RecordBatch:
        """Return the rows of a batch; those of a partition are in order."""
        splits = self.stream.plan_splits(from_json(plan["start"]), from_json(plan["end"]))
        batches = [batch for split in splits for batch in SplitReader(self.source, SCHEMA).read(split)]
        rows = pa.Table.from_batches(batches, SCHEMA).combine_chunks().to_batches()
        return rows[0] if rows else pa.RecordBatch.from_pylist([], SCHEMA)


class SlowPipeline(Pipeline):
    """One driver of a query with one slow task per batch, which reads, computes and writes at the same time.

    While the task pauses, the reader has requested more records, and the writer's rows are acknowledged.
    """

    def __init__(self, source: Definition, sink: Definition, folder: Path, run: str, query: str, pause: float) -> None:
        super().__init__(source, sink, folder, run, query)
        self._pause = pause

    def prepare_batch(self, number: int, tasks: int, point: Point = lambda _: None) -> list[PreparedTransaction]:
        """Prepare the only task of a planned batch."""
        return [self.prepare_task_rows(number, 0, self._read_slowly(self.read_plan(number)))]

    def _read_slowly(self, plan: Any) -> Iterator[pa.RecordBatch]:
        splits = self.stream.plan_splits(from_json(plan["start"]), from_json(plan["end"]))
        for i, split in enumerate(splits):
            batches = SplitReader(self.source, SCHEMA).read(split)
            yield next(batches)
            if i < PAUSES:
                with (self.folder / "pauses").open("a") as file:
                    file.write("paused\n")
                time.sleep(self._pause)
            yield from batches


@dataclass(frozen=True)
class QueryConfig:
    """Configuration of a query.

    Attributes:
        bootstrap: bootstrap servers.
        source, target: topics.
        prefix: 'sink.transactional-id-prefix'.
        folder: the checkpoint.
        source_options, sink_options: additional options of the two tables. If ``source_options`` has 'topic' or
            'topic-pattern', ``source`` is not used.
        naming: 'sink.transaction-naming-strategy'.
        tasks: number of tasks per batch; random if None.
        pause: seconds for which a batch's only task pauses, twice; 0 for several tasks without pauses.
        name: the query id.
    """

    bootstrap: str
    source: str
    target: str
    prefix: str
    folder: Path
    source_options: Mapping[str, str] = field(default_factory=dict)
    sink_options: Mapping[str, str] = field(default_factory=dict)
    naming: str = "INCREMENTING"
    tasks: int | None = None
    pause: float = 0.0
    name: str = "q"

    def tables(self) -> tuple[Definition, Definition]:
        """Return the source and the sink."""
        options = {
            "connector": "kafka",
            "properties.bootstrap.servers": self.bootstrap,
            "scan.startup.mode": "earliest-offset",
            "scan.topic-partition-discovery.interval": "100 ms",
            **self.source_options,
        }
        if "format" not in options:
            options["format"] = "json"
        if "topic-pattern" not in options:
            options = {"topic": self.source, **options}
        columns = tuple(Column(name, "BIGINT", "BIGINT") for name in ("a", "k"))
        sink = simulated_query.sink_table(self.bootstrap, self.target, self.prefix, self.naming, **self.sink_options)
        return validate_table(Table(("source",), columns, options)), sink

    def pipeline(self, run: str) -> Pipeline:
        """Create a driver."""
        source, sink = self.tables()
        if self.pause:
            return SlowPipeline(source, sink, self.folder, run, self.name, self.pause)
        return Pipeline(source, sink, self.folder, run, self.name)


@dataclass(frozen=True)
class CrashPlan:
    """When and how a driver crashes.

    Attributes:
        point: name of the crash point; empty for none.
        after_batches: number of batches before it crashes.
        is_suspended: whether it is only suspended (SIGSTOP), instead of killed.
    """

    point: str = ""
    after_batches: int = 1
    is_suspended: bool = False


def run_driver(query: QueryConfig, run: str, crash: CrashPlan) -> None:
    """Run a driver in this process until it is killed, fails, or is asked to finish.

    If the file 'finish' exists in the checkpoint, the driver exits when there is nothing more to read. An error is
    written to the file 'error'.
    """
    try:
        with recorded_clients(query.folder), recorded_throttling(query.folder):
            _run_batches(query, run, crash)
    except BaseException as e:  # noqa: BLE001  # reported to the parent
        (query.folder / "error").write_text("".join(traceback.format_exception(e)))
        os._exit(FENCED if isinstance(e, WriterFencedError) else FAILED)


def _run_batches(query: QueryConfig, run: str, crash: CrashPlan) -> None:
    pipeline = query.pipeline(run)
    trigger = CrashTrigger(crash.point, suspend_process if crash.is_suspended else kill_process)
    done = 0
    while True:
        should_finish = (query.folder / "finish").exists()
        before = pipeline.last_batch("done")
        trigger.armed = done >= crash.after_batches
        if trigger.armed and crash.point == "claimed":
            pipeline.release_claim()
        if pipeline.run_batch(trigger, query.tasks) != before:
            done += 1
        elif should_finish:
            pipeline.close()
            return
        else:
            time.sleep(_IDLE)
