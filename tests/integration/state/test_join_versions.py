"""Temporal joins against a model in Python, over random histories with rows and versions that are late."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_sql import state

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pytestmark = pytest.mark.integration

SCHEMA = "side STRING, k STRING, ts TIMESTAMP, v INT, __row_kind STRING, ord BIGINT"
DELAY = 5_000_000  # of both watermarks, in microseconds
Event = tuple[str, str, int | None, int, str, int]  # of SCHEMA, with the time in microseconds


@dataclass
class Model:
    """The join of one query."""

    is_outer: bool
    versions: dict[str, dict[int, int | None]] = field(default_factory=dict)  # by key and time; None: deleted
    last_times: dict[str, int] = field(default_factory=dict)
    waiting: list[tuple[str, int, int]] = field(default_factory=list)
    newest: dict[str, int] = field(default_factory=dict)  # time by side
    watermark: int = 0

    def process(self, events: Sequence[Event]) -> Counter[Any]:
        """Return the rows of a micro-batch."""
        output: Counter[Any] = Counter()
        late = []
        for side, key, time, value, kind, _ in sorted(events, key=lambda event: event[-1]):
            if side == "right":
                self.last_times |= {} if time is None else {key: time}
                if key in self.last_times:
                    valid = self.versions.setdefault(key, {})
                    valid[self.last_times[key]] = None if kind == "-D" else value
            elif time is None:
                output[value, None] += self.is_outer
            else:
                (late if time <= self.watermark else self.waiting).append((key, time, value))
        due = [row for row in self.waiting if row[1] <= self.watermark]
        self.waiting = [row for row in self.waiting if row[1] > self.watermark]
        for key, time, value in late + due:
            known = self.versions.get(key, {})
            valid_from = max((t for t in known if t <= time), default=None)
            version = None if valid_from is None else known[valid_from]
            output[value, version] += version is not None or self.is_outer
        for known in self.versions.values():
            kept = max((t for t in known if t <= self.watermark), default=0)
            for time in [t for t in known if t < kept]:
                del known[time]
        for side, _, event_time, *_ in events:
            if event_time is not None:
                self.newest[side] = max(self.newest.get(side, 0), event_time // 1000 * 1000 - DELAY)
        self.watermark = max(self.watermark, min(self.newest.get(side, 0) for side in ("left", "right")))
        return +output


def random_batches(random_: random.Random, batches: int, length: int, keys: int) -> list[list[Event]]:
    """Return rows and versions whose times advance by 10 seconds per batch, and of which some are far too late."""
    numbers = iter(range(10**9))
    result = []
    for batch in range(batches):
        events: list[Event] = []
        for _ in range(length):
            step = random_.choice([1, 1_000_000])  # several events have the same time, also that of the watermark
            time: int | None = 100_000_000 + batch * 10_000_000 + random_.randrange(0, 12_000_000, step)
            if random_.random() < 0.1:
                time = random_.randrange(90_000_000, 100_000_000 + batch * 10_000_000 + 1)
            side = random_.choice(["left", "right"])
            kind = random_.choice(["+I", "+U", "-D"])
            time = None if random_.random() < (0.5 if kind == "-D" and side == "right" else 0.03) else time
            number = next(numbers)
            events.append((side, f"k{random_.randrange(keys)}", time, number, kind, number))
        result.append(events)
    return result


def write(spark: SparkSession, folder: Path, batches: Sequence[Sequence[Event]], first: int = 0) -> None:
    """Write each batch to a file, not in the order of the column ``ord``."""
    start = datetime(1970, 1, 1, tzinfo=timezone.utc)
    for number, events in enumerate(batches, first):
        rows = [(*e[:2], None if e[2] is None else start + timedelta(microseconds=e[2]), *e[3:]) for e in events]
        part = folder / f"part-{number}"
        spark.createDataFrame(rows[::-1], SCHEMA).coalesce(1).write.parquet(str(part))
        (file,) = part.glob("*.parquet")
        file.rename(folder / f"{number:05}.parquet")
        os.utime(folder / f"{number:05}.parquet", (number, number))


def run(spark: SparkSession, folder: Path, is_outer: bool, output: list[Counter[Any]]) -> StreamingQuery:
    """Join the rows of all files that were not processed before, one file per micro-batch."""

    def read(side: str) -> Any:
        stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "*.parquet"))
        return stream.where(f"side = '{side}'").drop("side").withWatermark("ts", f"{DELAY // 1_000_000} seconds")

    left = read("left").drop("__row_kind", "ord")
    joined = state.join_versions(left, read("right"), ["k"], "ts", "ord", is_outer).select("left.v", "right.v")
    writer = joined.writeStream.foreachBatch(lambda rows, _: output.append(Counter(map(tuple, rows.collect()))))
    with state.configure(spark):
        query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    return query


@pytest.mark.long
@pytest.mark.parametrize("is_outer", [pytest.param(False, marks=pytest.mark.long), True])
@pytest.mark.parametrize(
    ("batches", "length", "keys"), [(4, 60, 3), pytest.param(30, 2000, 40, marks=pytest.mark.long)]
)
@pytest.mark.timeout(1200)
def test_random_histories(
    spark: SparkSession, tmp_path: Path, is_outer: bool, batches: int, length: int, keys: int
) -> None:
    history = random_batches(random.Random(length + is_outer), batches, length, keys)
    write(spark, tmp_path, history)
    output: list[Counter[Any]] = []
    run(spark, tmp_path, is_outer, output)
    model = Model(is_outer)
    expected = [model.process(events) for events in [*history, []]]  # the last watermark has a batch without data
    assert output == expected
    assert sum(map(len, expected[1:-1])) > batches * length // 10


@pytest.mark.long
def test_a_restart_continues_with_the_state(spark: SparkSession, tmp_path: Path) -> None:
    history = random_batches(random.Random(5), 4, 60, 3)
    output: list[Counter[Any]] = []
    model = Model(True)
    expected = []
    for start in (0, 2):
        write(spark, tmp_path, history[start : start + 2], start)
        run(spark, tmp_path, True, output)
        expected += [model.process(events) for events in [*history[start : start + 2], []]]
    assert output == expected


def test_versions_that_were_replaced_leave_the_state(spark: SparkSession, tmp_path: Path) -> None:
    second = 1_000_000
    versions: list[Event] = [("right", "k", n * second, n, "+U", n) for n in range(100, 200)]
    rows: list[Event] = [("left", "k", 150 * second, 1, "+I", 0), ("left", "other", 150 * second, 2, "+I", 0)]
    later: list[Event] = [(side, "last", 250 * second, 3, "+I", 0) for side in ("left", "right")]
    write(spark, tmp_path, [versions + rows, later])
    output: list[Counter[Any]] = []
    query = run(spark, tmp_path, False, output)
    assert sum(output, Counter()) == {(1, 150): 1}
    assert query.lastProgress is not None
    # per key: its header and the last version; and the row of the last key
    assert query.lastProgress["stateOperators"][0]["numRowsTotal"] == 2 * 2 + 1
