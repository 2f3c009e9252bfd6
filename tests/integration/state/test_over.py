"""OVER windows against SQLite, over random histories that are cut into micro-batches."""

from __future__ import annotations

import os
import random
import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyspark import __version__ as spark_version

from kafka_sql import state
from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.catalyst import Catalyst, analyzed_plan, class_name, output
from kafka_sql.sql.jobs.changelog.over_aggregate import aggregate_over
from kafka_sql.sql.jobs.changelog.relation import Mode, Relation
from kafka_sql.table.changelog import ROW_KIND_NAME, ROW_ORDER_NAME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.integration

DELAY: Final = 4  # seconds of the watermark
_FILTER: Final = "FILTER (WHERE x > 3)" if spark_version >= "4.2" else ""  # PySpark 4.1 refuses it
# functions with their frames; {o} is ORDER BY, {r} is ORDER BY with the order of arrival
CALLS: Final = (
    "SUM(x) OVER (PARTITION BY p ORDER BY {o})",
    "COUNT(*) OVER (PARTITION BY p ORDER BY {o})",
    "AVG(x) OVER (PARTITION BY p ORDER BY {r} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
    "MAX(x) OVER (PARTITION BY p ORDER BY {r} ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
    f"COUNT(x) {_FILTER} OVER (PARTITION BY p ORDER BY {{r}} ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)",
    "FIRST_VALUE(x) OVER (PARTITION BY p ORDER BY {r} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
    "LAST_VALUE(x) OVER (PARTITION BY p ORDER BY {r} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
    "LAG(x) OVER (PARTITION BY p ORDER BY {r})",
    "LAG(x, 2, -x) OVER (PARTITION BY p ORDER BY {r})",
    "ROW_NUMBER() OVER (PARTITION BY p ORDER BY {r})",
    "RANK() OVER (PARTITION BY p ORDER BY {o})",
    "DENSE_RANK() OVER (PARTITION BY p ORDER BY {o})",
)
BY_TIME: Final = (
    "SUM(x) OVER (PARTITION BY p ORDER BY {o} RANGE BETWEEN {s} PRECEDING AND CURRENT ROW)",
    "MIN(x) OVER (PARTITION BY p ORDER BY {o} RANGE BETWEEN {s} PRECEDING AND CURRENT ROW)",
)
Row = tuple[Any, ...]


def spark_calls(calls: Sequence[str], order: str) -> str:
    texts = [call.format(o=order, r=order, s="INTERVAL '3' SECOND") for call in calls]
    return ", ".join(f"{text} AS f{i}" for i, text in enumerate(texts))


def expected(rows: Sequence[Row], names: str, calls: Sequence[str]) -> list[Row]:
    """Return rows with their results, as SQLite has them. The second column is the order."""
    second = names.split(", ")[1]
    texts = ", ".join(call.format(o=second, r=f"{second}, rowid", s="3000000") for call in calls)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE t ({names})")
        marks = ", ".join("?" for _ in names.split(","))
        connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
        return connection.execute(f"SELECT *, {texts} FROM t").fetchall()


def over(rows: DataFrame, calls: str, mode: Mode) -> DataFrame:
    """Return the rows with the results of OVER windows."""
    catalyst = Catalyst(rows.sparkSession)
    rows.createOrReplaceTempView("over_input")
    plan = analyzed_plan(rows.sparkSession.sql(f"SELECT *, {calls} FROM over_input"))
    while class_name(plan) != "Window":
        plan = plan.child()
    hidden = [c for c in output(plan.child()) if str(c.name()) in (ROW_KIND_NAME, ROW_ORDER_NAME)]
    columns = [c for c in output(plan.child()) if c not in hidden]
    relation = Relation(catalyst.project([*columns, *hidden], plan.child()), mode, *hidden)
    result, _ = aggregate_over(catalyst, plan, relation, None, lambda what, why: UnsupportedSqlError(f"{what}: {why}"))
    visible = [c for c in result.columns if not str(c.name()).startswith("_w")]  # the arguments of functions
    return catalyst.dataframe(catalyst.project([*visible, *result.hidden], result.plan))


def write(spark: SparkSession, folder: Path, schema: str, batches: Sequence[Sequence[Row]]) -> None:
    """Write each batch to a file."""
    folder.mkdir(exist_ok=True)
    first = len(list(folder.iterdir()))
    for number, rows in enumerate(batches, first):
        part = folder.parent / f"part-{number}"
        spark.createDataFrame(list(rows), schema).coalesce(1).write.parquet(str(part))
        (file,) = part.glob("*.parquet")
        file.rename(folder / f"{number:05}.parquet")
        os.utime(folder / f"{number:05}.parquet", (number, number))


def read(spark: SparkSession, folder: Path, schema: str) -> DataFrame:
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "*.parquet"))


def run(rows: DataFrame, checkpoint: Path, mode: str) -> list[list[Row]]:
    """Return what each micro-batch returns."""
    batches: list[list[Row]] = []
    writer = rows.writeStream.foreachBatch(lambda batch, _: batches.append([*map(tuple, batch.collect())]))
    with state.configure(rows.sparkSession):
        writer = writer.outputMode(mode).option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        query = writer.start()
    query.awaitTermination()
    return batches


def random_changes(rng: random.Random, batches: int, length: int) -> list[list[Row]]:
    """Return inserts, also of equal rows, and deletes of rows that exist or not."""
    rows: list[Row] = []
    number, result = 0, []
    for _ in range(batches):
        changes: list[Row] = []
        for _ in range(rng.randrange(1, length)):
            number += 1
            if rows and rng.random() < 0.4:
                row = rows.pop(rng.randrange(len(rows)))
                changes.append((*row, rng.choice(["-D", "-U"]), number))
            elif rng.random() < 0.05:
                changes.append(("a", 1, 10**6, "-D", number))
            else:
                row = (rng.choice("ab"), rng.choice([None, 1, 2, 3, 4]), rng.choice([None, *range(8)]))
                rows.append(row)
                changes.append((*row, rng.choice(["+I", "+U"]), number))
        result.append(changes)
    return result


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_order_by_a_column_of_changes(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    schema = f"p STRING, v INT, x BIGINT, {ROW_KIND_NAME} STRING, {ROW_ORDER_NAME} BIGINT"
    batches = random_changes(random.Random(seed), 8, 30)
    folder = tmp_path / "input"
    rows: list[Row] = []
    content: Counter[Row] = Counter()
    for part in (batches[:5], batches[5:]):  # restarts in between
        write(spark, folder, schema, [changes[::-1] for changes in part])
        results = over(read(spark, folder, schema), spark_calls(CALLS, "v"), Mode.RETRACT)
        output = run(results, tmp_path / "checkpoint", "update")
        assert len(output) == len(part)
        for changes, returned in zip(part, output, strict=True):
            for *row, kind, _ in changes:
                if kind[0] == "+":
                    rows.append(tuple(row))
                elif tuple(row) in rows:
                    rows.remove(tuple(row))
            for *result, kind, _ in sorted(returned, key=lambda row: row[-1]):
                content[tuple(result)] += 1 if kind[0] == "+" else -1
            assert +content == Counter(expected(rows, "p, v, x", CALLS))
            assert min(content.values(), default=0) >= 0


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_event_time(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    rng, schema = random.Random(seed), "p STRING, t TIMESTAMP, x BIGINT"
    folder, now = tmp_path / "input", 1000.0
    late = kept = 0
    rows: list[Row] = []
    batches: list[list[Row]] = []
    newest = watermark = 0.0
    for _ in range(10):
        batch = []
        for _ in range(rng.randrange(1, 25)):
            now += rng.choice([0, 0, 0.25, 1])
            time = now - rng.choice([0, 0, 1, 3, 3.5, 7])
            row = (rng.choice("ab"), time, rng.choice([None, *range(8)]))
            batch.append(row)
            if time > watermark:
                rows.append((row[0], int(time * 1e6), row[2]))
                kept += 1
            else:
                late += 1
        batches.append([(p, datetime.fromtimestamp(t, timezone.utc), x) for p, t, x in batch])
        newest = max(newest, *(row[1] for row in batch))
        watermark = newest - DELAY
    assert min(late, kept) > 5
    returned: list[Row] = []
    for part in (batches[:4], batches[4:7], batches[7:]):
        write(spark, folder, schema, part)
        stream = read(spark, folder, schema).withWatermark("t", f"{DELAY} seconds")
        results = over(stream, spark_calls([*CALLS, *BY_TIME], "t"), Mode.INSERT_ONLY)
        for batch in run(results, tmp_path / "checkpoint", "append"):
            returned += batch
    result = Counter((p, int(t.timestamp() * 1e6), *others) for p, t, *others in returned)
    due = [row for row in expected(rows, "p, t, x", [*CALLS, *BY_TIME]) if row[1] <= watermark * 1e6]
    assert result == Counter(due)
    assert [row[1] for row in returned if row[0] == "a"] == sorted(row[1] for row in returned if row[0] == "a")


@pytest.mark.long
def test_processing_time(spark: SparkSession, tmp_path: Path) -> None:
    rng, schema = random.Random(3), "p STRING, x BIGINT"
    calls = [call for call in CALLS if "RANK" not in call]  # the rows of a micro-batch have the same rank
    batches = [
        [(rng.choice("ab"), rng.choice([None, *range(8)])) for _ in range(rng.randrange(1, 9))] for _ in range(6)
    ]
    folder = tmp_path / "input"
    returned: list[Row] = []
    for part in (batches[:3], batches[3:]):
        write(spark, folder, schema, part)
        rows = read(spark, folder, schema).selectExpr("p", "current_timestamp() AS t", "x")
        results = over(rows, spark_calls(calls, "t"), Mode.INSERT_ONLY)
        output = run(results, tmp_path / "checkpoint", "append")
        returned += [row for batch in output for row in batch]
    arrived = [(p, number, x) for number, (p, x) in enumerate(row for batch in batches for row in batch)]
    wanted = expected(arrived, "p, t, x", calls)
    assert Counter((p, *rest) for p, _, *rest in returned) == Counter((p, *rest) for p, _, *rest in wanted)
