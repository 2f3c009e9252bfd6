"""Joins of changes against SQLite, over random histories."""

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
from kafka_sql.spark.catalyst import analyzed_plan
from kafka_sql.table.changelog import ROW_KIND_NAME, ROW_ORDER_NAME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.integration

SCHEMA: Final = f"side STRING, k INT, v INT, {ROW_KIND_NAME} STRING, {ROW_ORDER_NAME} BIGINT"
Event = tuple[str, int | None, int, str, int]  # of SCHEMA
JOINS: Final = {
    "INNER": "SELECT l.k, l.v, r.k, r.v FROM l JOIN r ON {}",
    "LEFT": "SELECT l.k, l.v, r.k, r.v FROM l LEFT JOIN r ON {}",
    "RIGHT": "SELECT l.k, l.v, r.k, r.v FROM l RIGHT JOIN r ON {}",
    "FULL": "SELECT l.k, l.v, r.k, r.v FROM l FULL JOIN r ON {}",
    "SEMI": "SELECT l.k, l.v FROM l WHERE EXISTS (SELECT 1 FROM r WHERE {})",
    "ANTI": "SELECT l.k, l.v FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE {})",
    "EXISTENCE": "SELECT l.k, l.v, nullif(EXISTS (SELECT 1 FROM r WHERE {}), 0) FROM l",
}


def random_batches(rng: random.Random, batches: int, length: int, keys: int) -> list[list[Event]]:
    """Return changes of both sides: inserts, also of equal rows, and deletes of rows that exist or not."""
    rows: dict[str, list[tuple[int | None, int]]] = {"l": [], "r": []}
    numbers = iter(range(10**9))
    result = []
    for _ in range(batches):
        events: list[Event] = []
        for _ in range(rng.randrange(length)):
            side = rng.choice("lr")
            if rows[side] and rng.random() < 0.45:
                row = rows[side].pop(rng.randrange(len(rows[side])))
                events.append((side, *row, rng.choice(["-D", "-U"]), next(numbers)))
            else:
                row = (None if rng.random() < 0.1 else rng.randrange(keys), rng.randrange(4))
                rows[side].append(row)
                events.append((side, *row, rng.choice(["+I", "+U"]), next(numbers)))
        result.append(events)
    return result


def content(events: Sequence[Event], query: str) -> Counter[Any]:
    """Return the rows of a query after changes, as SQLite has them."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for table in ("l", "r"):
            connection.execute(f"CREATE TABLE {table} (k INT, v INT)")
        for side, key, value, kind, _ in events:
            if kind.startswith("+"):
                connection.execute(f"INSERT INTO {side} VALUES (?, ?)", (key, value))
            else:
                one = f"SELECT rowid FROM {side} WHERE k IS ? AND v = ? LIMIT 1"
                connection.execute(f"DELETE FROM {side} WHERE rowid = ({one})", (key, value))
        return Counter(connection.execute(query).fetchall())


def join(spark: SparkSession, folder: Path, join_type: str, condition: str) -> DataFrame:
    """Return the join of the changes in the files of a folder."""
    from pyspark.sql import functions as F

    def read(side: str) -> DataFrame:
        stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "*.parquet"))
        columns = (F.col("k").alias("key"), F.col("k").alias(f"{side}k"), F.col("v").alias(f"{side}v"))
        can_match = F.col("k").isNotNull().alias("can_match")
        return stream.where(f"side = '{side}'").select(*columns, can_match, ROW_KIND_NAME, ROW_ORDER_NAME)

    left, right = read("l"), read("r")
    conditions = [analyzed_plan(left.crossJoin(right).where(condition)).condition()] if condition else []
    return state.join(left, right, ["key"], "can_match", join_type, conditions)


def write(spark: SparkSession, folder: Path, batches: Sequence[Sequence[Event]]) -> None:
    """Write each batch to a file, not in the order of the changes."""
    for number, events in enumerate(batches):
        part = folder / f"part-{number}"
        spark.createDataFrame(list(events)[::-1], SCHEMA).coalesce(1).write.parquet(str(part))
        (file,) = part.glob("*.parquet")
        file.rename(folder / f"{number:05}.parquet")
        os.utime(folder / f"{number:05}.parquet", (number, number))


@pytest.mark.sample(2)
@pytest.mark.parametrize("condition", ["", "lv < rv"])
@pytest.mark.parametrize("join_type", JOINS)
def test_random_histories(spark: SparkSession, tmp_path: Path, join_type: str, condition: str) -> None:
    batches = random_batches(random.Random(5), 8, 60, 6)
    write(spark, tmp_path, batches)
    output: list[list[Any]] = []
    writer = join(spark, tmp_path, join_type, condition).writeStream.foreachBatch(
        lambda rows, _: output.append([*map(tuple, rows.collect())])
    )
    with state.configure(spark):
        checkpoint = writer.outputMode("update").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = checkpoint.trigger(availableNow=True).start()
    query.awaitTermination()
    on = "l.k = r.k" + (" AND l.v < r.v" if condition else "")
    before: Counter[Any] = Counter()
    columns = {"SEMI": 2, "ANTI": 2, "EXISTENCE": 3}.get(join_type, 4)
    for number, changes in enumerate(output):
        now = content([event for batch in batches[: number + 1] for event in batch], JOINS[join_type].format(on))
        added = Counter(row[:columns] for row in changes if row[-1] == "+I")
        removed = Counter(row[:columns] for row in changes if row[-1] == "-D")
        assert (added, removed) == (now - before, before - now), number
        before = now
    assert len(output) == len(batches)
    assert any(row[-1] == "-D" for changes in output for row in changes)
