"""Windows over changes against a model in Python, over random histories with late rows and a restart."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType

from kafka_sql import state

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.integration

SCHEMA: Final = "k STRING, ts TIMESTAMP, v INT, __row_kind STRING, ord BIGINT"
DELAY, GAP, SIZE = 5000, 3000, 10000  # in milliseconds
FAR: Final = 10**9
Event = tuple[str, int, int, str, int]  # of SCHEMA, with the time in milliseconds


@dataclass
class Model:
    """The open windows of one query."""

    sessions: dict[str, list[list[Any]]] = field(default_factory=dict)  # by key: start, end and rows
    windows: dict[tuple[str, int], list[int]] = field(default_factory=dict)  # values by key and end
    output: Counter[Any] = field(default_factory=Counter)

    def sessions_of(self, batches: Sequence[Sequence[Event]]) -> Counter[Any]:
        """Return the rows with their sessions."""
        for watermark, batch in _with_watermarks(batches):
            for key, open_sessions in self.sessions.items():
                for session in [s for s in open_sessions if s[1] - 1 <= watermark]:
                    self.output.update((key, session[0], session[1], v) for _, v in session[2])
                    open_sessions.remove(session)
            for key, time, value, kind, _ in batch:
                self._add(self.sessions.setdefault(key, []), time, value, kind, watermark)
        return self.output

    def _add(self, sessions: list[list[Any]], time: int, value: int, kind: str, watermark: int) -> None:
        touching = [s for s in sessions if s[0] <= time + GAP and time <= s[1]]
        if not touching and time + GAP - 1 <= watermark:
            return
        rows = [row for session in touching for row in session[2]]
        merged = [min([time, *(s[0] for s in touching)]), max([time + GAP, *(s[1] for s in touching)]), rows]
        sessions[:] = [s for s in sessions if s not in touching] + [merged]
        if kind in ("+I", "+U"):
            rows.append((time, value))
        elif (time, value) in rows:
            rows.remove((time, value))

    def aggregates_of(self, batches: Sequence[Sequence[Event]]) -> Counter[Any]:
        """Return the number, the sum, the greatest and the number of different values per window."""
        for watermark, batch in _with_watermarks(batches):
            for key, end in [w for w in self.windows if w[1] - 1 <= watermark]:
                values = self.windows.pop((key, end))
                if values:
                    self.output[key, end, len(values), sum(values), max(values), len(set(values))] += 1
            for key, time, value, kind, _ in batch:
                end = time // SIZE * SIZE + SIZE
                if end - 1 > watermark:
                    values = self.windows.setdefault((key, end), [])
                    if kind in ("+I", "+U"):
                        values.append(value)
                    elif value in values:
                        values.remove(value)
        return self.output


def _with_watermarks(batches: Sequence[Sequence[Event]]) -> Iterator[tuple[int, Sequence[Event]]]:
    watermark = 0
    for batch in batches:
        yield watermark, batch
        watermark = max([watermark, *(event[1] - DELAY for event in batch)])


def random_batches(rng: random.Random, batches: int, length: int) -> list[list[Event]]:
    """Return rows and retractions of rows, some of which are late. The last rows close all windows."""
    number, result, known = 0, list[list[Event]](), list[tuple[str, int, int]]()
    for batch in range(batches):
        events: list[Event] = []
        for _ in range(length):
            number += 1
            if known and rng.random() < 0.3:
                row = known.pop(rng.randrange(len(known)))
                events.append((*row, "-D", number))
            else:
                time = 100_000 + batch * 10_000 + rng.randrange(0, 12_000, rng.choice([1, 500]))
                time = rng.randrange(90_000, 100_000 + batch * 10_000 + 1) if rng.random() < 0.1 else time
                row = (f"k{rng.randrange(3)}", time, rng.randrange(4))
                known.append(row)
                events.append((*row, "+I", number))
        result.append(events)
    return [*result, *([("end", FAR * n, 0, "+I", 0)] for n in (1, 2))]


def write(spark: SparkSession, folder: Path, batches: Sequence[Sequence[Event]], first: int) -> None:
    """Write each batch to a file, not in the order of the column ``ord``."""
    start = datetime(1970, 1, 1, tzinfo=timezone.utc)
    for number, events in enumerate(batches, first):
        rows = [(key, start + timedelta(milliseconds=time), *others) for key, time, *others in events]
        part = folder / f"part-{number}"
        spark.createDataFrame(rows[::-1], SCHEMA).coalesce(1).write.parquet(str(part))
        (file,) = part.glob("*.parquet")
        file.rename(folder / f"{number:05}.parquet")
        os.utime(folder / f"{number:05}.parquet", (number, number))


def run(
    spark: SparkSession, folder: Path, batches: Sequence[Sequence[Event]], transform: Callable[[DataFrame], DataFrame]
) -> Counter[Any]:
    """Return the rows of a query that is restarted in the middle."""
    output: Counter[Any] = Counter()
    half = len(batches) // 2
    for first, part in ((0, batches[:half]), (half, batches[half:])):
        write(spark, folder, part, first)
        stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "*.parquet"))
        rows = transform(stream.withWatermark("ts", f"{DELAY} milliseconds")).where("k <> 'end'")
        writer = rows.writeStream.foreachBatch(lambda rows, _: output.update(map(tuple, rows.collect())))
        with state.configure(spark):
            query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
        query.awaitTermination()
    return output


def _millis(time: str) -> Any:
    return (F.unix_micros(time) / 1000).cast("bigint")


@pytest.mark.timeout(1200)
def test_sessions_end_at_the_watermark(spark: SparkSession, tmp_path: Path) -> None:
    def transform(rows: DataFrame) -> DataFrame:
        own = rows.withColumn("w", F.session_window("ts", f"{GAP} milliseconds"))
        merged = state.session_windows(own, ["k"], "w", "ord")
        return merged.select("k", _millis("w.start"), _millis("w.end"), "v")

    batches = random_batches(random.Random(1), 8, 40)
    assert run(spark, tmp_path, batches, transform) == Model().sessions_of(batches)


@pytest.mark.timeout(1200)
def test_aggregates_of_windows_end_at_the_watermark(spark: SparkSession, tmp_path: Path) -> None:
    calls = [
        state.AggregateCall("count", None, False, "n", LongType()),
        state.AggregateCall("sum", "v", False, "s", LongType()),
        state.AggregateCall("max", "v", False, "m", IntegerType()),
        state.AggregateCall("count", "v", True, "d", LongType()),
    ]

    def transform(rows: DataFrame) -> DataFrame:
        end = F.window("ts", f"{SIZE} milliseconds").getField("end")
        windows = rows.select("k", "v", "__row_kind", end.alias("e"))
        last = windows.withColumn("last", F.col("e") - F.expr("INTERVAL '0.001' SECOND"))
        result = state.aggregate(last, ["k", "last"], calls, window_time="last")
        return result.select("k", _millis("last") + 1, "n", "s", "m", "d")

    batches = random_batches(random.Random(2), 8, 60)
    assert run(spark, tmp_path, batches, transform) == Model().aggregates_of(batches)
