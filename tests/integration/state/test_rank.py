"""Top-N of rows and of changes against SQLite, over random histories with restarts."""

from __future__ import annotations

import os
import random
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from kafka_sql import state
from kafka_sql.table.changelog import ROW_KIND_NAME, ROW_ORDER_NAME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.integration

SCHEMA: Final = f"k INT, v INT, w STRING, n INT, {ROW_KIND_NAME} STRING, {ROW_ORDER_NAME} BIGINT"
ORDER: Final = state.RankOrder(["v", "w"], [True, False], [False, True])
Event = tuple[Any, ...]  # of SCHEMA


def random_batches(rng: random.Random, sizes: Sequence[int], keys: int, has_changes: bool) -> list[list[Event]]:
    """Return changes: inserts, with ties and equal rows, and deletes of rows that exist or not."""
    rows: list[tuple[Any, ...]] = []
    batches, order = [], 0
    for size in sizes:
        events: list[Event] = []
        for _ in range(size):
            order += 1
            row = (rng.randrange(keys), rng.choice([None, *range(5)]), rng.choice(["a", "b", None]), rng.randrange(3))
            if has_changes and rows and rng.random() < 0.45:
                row = rows.pop(rng.randrange(len(rows))) if rng.random() < 0.9 else row
                events.append((*row, rng.choice(["-D", "-U"]), order))
            else:
                rows.append(row)
                events.append((*row, rng.choice(["+I", "+U"]) if has_changes else "+I", order))
        batches.append(events)
    return batches


def content(events: Sequence[Event], ranks: range, has_rank: bool) -> Counter[Any]:
    """Return the result after changes, as SQLite has it. The first one of equal rows is deleted."""
    number = "row_number() OVER (PARTITION BY k ORDER BY v DESC, w, rowid)"
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (k INT, v INT, w TEXT, n INT)")
        for *row, kind, _ in events:
            if kind.startswith("+"):
                connection.execute("INSERT INTO t VALUES (?, ?, ?, ?)", row)
            else:
                one = "SELECT min(rowid) FROM t WHERE k IS ? AND v IS ? AND w IS ? AND n IS ?"
                connection.execute(f"DELETE FROM t WHERE rowid = ({one})", row)
        query = f"SELECT v, w, n, k, r FROM (SELECT *, {number} AS r FROM t) WHERE r BETWEEN ? AND ?"
        found = connection.execute(query, (ranks.start, ranks.stop - 1)).fetchall()
    return Counter(found if has_rank else [row[:-1] for row in found])


def write(spark: SparkSession, folder: Path, batches: Sequence[Sequence[Event]], first: int, is_sorted: bool) -> None:
    """Write each batch to a file."""
    for number, events in enumerate(batches, first):
        part = folder / f"part-{number}"
        spark.createDataFrame(events if is_sorted else events[::-1], SCHEMA).coalesce(1).write.parquet(str(part))
        (file,) = part.glob("*.parquet")
        file.rename(folder / f"{number:05}.parquet")
        os.utime(folder / f"{number:05}.parquet", (number, number))


def run(spark: SparkSession, folder: Path, rows: DataFrame) -> list[list[Any]]:
    """Process the files that are not processed yet, and return the output of each micro-batch."""
    output: list[list[Any]] = []
    writer = rows.writeStream.foreachBatch(lambda rows, _: output.append([*map(tuple, rows.collect())]))
    with state.configure(spark):
        checkpoint = writer.outputMode("update").option("checkpointLocation", str(folder / "checkpoint"))
        query = checkpoint.trigger(availableNow=True).start()
    query.awaitTermination()
    return output


@pytest.mark.sample(1)
@pytest.mark.parametrize("has_changes", [True, False])
@pytest.mark.parametrize(
    ("ranks", "has_rank"),
    [(range(1, 4), True), (range(1, 4), False), (range(2, 4), True), (range(1, 2), False)],
    ids=["rank", "set", "offset", "first"],
)
def test_random_histories(spark: SparkSession, tmp_path: Path, ranks: range, has_rank: bool, has_changes: bool) -> None:
    # the larger batches retract more rows than the operator keeps in order
    batches = random_batches(random.Random(7), [40, 1, 900, 30, 900, 25], 3, has_changes)
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "*.parquet"))
    arrival = ROW_ORDER_NAME if has_changes else None
    kept = ["v", "w", "n", "k"]
    rows = state.rank(source, ["k"], kept, ORDER, ranks, arrival=arrival, has_changes=has_changes, has_rank=has_rank)
    output: list[list[Any]] = []
    for part in (batches[:3], batches[3:]):  # with a restart
        write(spark, tmp_path, part, len(output), is_sorted=not has_changes)
        output += run(spark, tmp_path, rows)
    assert len(output) == len(batches)
    before: Counter[Any] = Counter()
    for number, changes in enumerate(output):
        now = content([event for batch in batches[: number + 1] for event in batch], ranks, has_rank)
        columns = -1 if has_rank else -2
        added = Counter(row[:columns] for row in changes if row[-1] in ("+I", "+U"))
        removed = Counter(row[:columns] for row in changes if row[-1] in ("-D", "-U"))
        assert (added, removed) == (now - before, before - now), number
        before = now
