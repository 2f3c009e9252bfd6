"""A continuous query from topic to topic without Spark: the engine's batches, read by the source's own code."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import WriterFencedError
from kafka_sql.source.reader.split_reader import read_split
from kafka_sql.source.stream.micro_batch import MicroBatchStream
from kafka_sql.source.stream.stream_offset import from_json, to_json
from kafka_sql.table.declaration import Column, Table
from tests.kills import simulated_query
from tests.kills.crash_points import CrashTrigger, kill_process, stop_process
from tests.kills.simulated_query import SCHEMA, SimulatedQuery

FENCED, FAILED = 3, 1  # exit codes of a driver that finds that it is, and of one that an error ended
_IDLE: Final = 0.02  # seconds
_TIMEOUT: Final = 900_000  # of a transaction, as brokers allow it by default


class Pipeline(SimulatedQuery):
    """One life of the query."""

    def __init__(self, source: Definition, sink: Definition, folder: Path, run: str, query: str) -> None:
        super().__init__(sink, folder, run, query, _TIMEOUT)
        self.source, self.stream = source, MicroBatchStream(source)

    def plan(self, number: int) -> Any:
        """The offsets between which a batch is, as Spark keeps them."""
        start = self.stream.initial_offset() if number < 0 else from_json(self.read_plan(number)["end"])
        end = self.stream.latest_offset(start, limited=True)
        return None if end == start else {"start": to_json(start), "end": to_json(end)}

    def rows(self, plan: Any) -> pa.RecordBatch:
        """The rows of a batch; those of a partition are in order."""
        splits = self.stream.plan_splits(from_json(plan["start"]), from_json(plan["end"]))
        batches = [batch for split in splits for batch in read_split(self.source, SCHEMA, split)]
        found = pa.Table.from_batches(batches, SCHEMA).combine_chunks().to_batches()
        return found[0] if found else pa.RecordBatch.from_pylist([], SCHEMA)


@dataclass(frozen=True)
class QueryConfig:
    """What a driver is told.

    Attributes:
        folder: the checkpoint.
        reading, writing: options of the tables beyond the usual ones; of a ``reading`` that names its own 'topic' or
            'topic-pattern' the source's name counts for nothing.
        tasks: of each batch; at random where it is None.
        name: the query's id.
    """

    bootstrap: str
    source: str
    target: str
    prefix: str
    folder: Path
    reading: Mapping[str, str] = field(default_factory=dict)
    writing: Mapping[str, str] = field(default_factory=dict)
    naming: str = "INCREMENTING"
    tasks: int | None = None
    name: str = "q"

    def tables(self) -> tuple[Definition, Definition]:
        """The source and the sink."""
        given = {
            "connector": "kafka",
            "properties.bootstrap.servers": self.bootstrap,
            "scan.startup.mode": "earliest-offset",
            "scan.topic-partition-discovery.interval": "100 ms",
            **self.reading,
        }
        if "format" not in given:
            given["format"] = "json"
        if "topic-pattern" not in given:
            given = {"topic": self.source, **given}
        columns = tuple(Column(name, "BIGINT", "BIGINT") for name in ("a", "k"))
        sink = simulated_query.sink_table(self.bootstrap, self.target, self.prefix, self.naming, **self.writing)
        return validate_table(Table(("source",), columns, given)), sink

    def pipeline(self, run: str) -> Pipeline:
        """A life of it."""
        source, sink = self.tables()
        return Pipeline(source, sink, self.folder, run, self.name)


@dataclass(frozen=True)
class CrashPlan:
    """How a driver ends.

    Attributes:
        point: at which; at none where it is empty.
        after: batches.
        stops: whether it only stops there.
    """

    point: str = ""
    after_batches: int = 1
    stops: bool = False


def run_driver(query: QueryConfig, run: str, end: CrashPlan) -> None:
    """A driver's life, in a process of its own: until it is killed, or told that it is enough, or fails.

    It is told by a file 'enough' in the checkpoint, and then ends when there is nothing more to read. Why it failed is
    in the file 'error'.
    """
    try:
        pipeline, doom = query.pipeline(run), CrashTrigger(end.point, stop_process if end.stops else kill_process)
        done = 0
        while True:
            is_enough = (query.folder / "enough").exists()
            before = pipeline.last_batch("done")
            doom.armed = done >= end.after_batches
            if doom.armed and end.point == "claimed":
                pipeline.release_claim()
            if pipeline.run_batch(doom, query.tasks) != before:
                done += 1
            elif is_enough:
                pipeline.close()
                return
            else:
                time.sleep(_IDLE)
    except BaseException as e:  # noqa: BLE001  # it is told to the parent
        (query.folder / "error").write_text("".join(traceback.format_exception(e)))
        os._exit(FENCED if isinstance(e, WriterFencedError) else FAILED)
