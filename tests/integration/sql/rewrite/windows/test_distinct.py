"""DISTINCT in the windows of streams, against Spark's batch queries over the same rows."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from tests.topics import Topics

pytestmark = pytest.mark.integration

COLUMNS: Final = "ts TIMESTAMP(3), k STRING, x INT, y INT, s STRING, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
START: Final = datetime(2026, 1, 2, 8)
WINDOW: Final = "window_start, window_end"
TIMES: Final = "CAST(window_start AS STRING) AS w, CAST(window_end AS STRING) AS e"
TUMBLE: Final = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
QUERIES: Final = {
    "several functions": f"SELECT {TIMES}, k, count(DISTINCT y) AS a, count(DISTINCT x) AS b, sum(x) AS c, "
    "sum(DISTINCT x) AS d, avg(DISTINCT y) FILTER (WHERE x > 1 OR k IS NULL) AS f, count(*) AS g, max(s) AS h, "
    "count(DISTINCT x, s) AS i, min(DISTINCT s) AS j, count(y) FILTER (WHERE s = 'b') AS l, "
    f"count(DISTINCT s) FILTER (WHERE x > 9) AS m FROM {TUMBLE} GROUP BY {WINDOW}, k",
    "hop": f"SELECT {TIMES}, count(DISTINCT x) AS n FROM "
    f"TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)) GROUP BY {WINDOW}",
    "cumulate": f"SELECT {TIMES}, upper(k) AS u, 10 * count(DISTINCT x) + min(y) AS n FROM TABLE(CUMULATE(TABLE t, "
    f"DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND)) GROUP BY {WINDOW}, upper(k)",
    "group window": "SELECT CAST(TUMBLE_START(ts, INTERVAL '10' SECOND) AS STRING) AS w, s, sum(DISTINCT x) AS n "
    "FROM t GROUP BY TUMBLE(ts, INTERVAL '10' SECOND), s HAVING count(DISTINCT k) > 1",
    "windows of windows": f"WITH one AS (SELECT window_time AS rowtime, count(DISTINCT x) AS n FROM {TUMBLE} "
    f"GROUP BY {WINDOW}, window_time) SELECT {TIMES}, count(DISTINCT n) AS m, sum(n) AS o FROM "
    f"TABLE(TUMBLE(TABLE one, DESCRIPTOR(rowtime), INTERVAL '20' SECOND)) GROUP BY {WINDOW}",
    "spark's window": "SELECT CAST(window.end AS STRING) AS w, x % 2 AS o, count(DISTINCT s, y) AS n FROM t "
    "GROUP BY window(ts, '10 seconds'), x % 2",
}


def make_row(rng: random.Random, second: float) -> dict[str, Any]:
    x, y = (rng.choice([None, 1, 2, 3]) for _ in range(2))
    k, s = (rng.choice([None, "a", "b", "c"]) for _ in range(2))
    return {"ts": f"{START + timedelta(seconds=second)}", "k": k, "x": x, "y": y, "s": s}


def content(spark: Any, query: str) -> list[str]:
    """Return the rows of a query in batch mode."""
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    rows = sorted(map(str, spark.sql(query).collect()))
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    return rows


def run(spark: Any, streaming: Any, insert: str, batches: list[list[dict[str, Any]]], send: Any) -> int:
    """Run a continuous query until it has read these micro-batches. Return the number of late rows."""
    query = spark.streams.get(streaming(insert).collect()[0][0])
    for batch in batches:
        send(batch)
        query.processAllAvailable()
    jobs = spark.sql("SHOW JOBS EXTENDED").collect()
    (late,) = [row["late records dropped"] for row in jobs if (row["job id"], row["status"]) == (query.id, "RUNNING")]
    query.stop()
    return int(late)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", QUERIES)
def test_windows_are_those_of_a_batch(spark: Any, streaming: Any, topics: Topics, name: str) -> None:
    rng, select = random.Random(3), QUERIES[name]
    source, punctual, target = (topics.create() for _ in range(3))
    streaming(f"CREATE TABLE u ({COLUMNS}) {topics.with_options(punctual)}")
    streaming(f"CREATE TABLE t ({COLUMNS}) {topics.with_options(source)}")
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in spark.sql(select).schema)
    spark.sql("SET 'execution.runtime-mode' = 'streaming'")
    streaming(f"CREATE TABLE tgt ({columns}) {topics.with_options(target)}")
    insert = f"INSERT INTO tgt {select}"

    def send(rows: list[dict[str, Any]]) -> None:
        topics.produce_all(source, [(b"", json.dumps(row).encode()) for row in rows])

    # rows of 72 seconds, at most 4 seconds out of order
    batches = [[make_row(rng, 18 * i + j - rng.random() * 4) for j in range(4, 22)] for i in range(4)]
    late = [make_row(rng, 1 + i) for i in range(3)]
    topics.produce_all(punctual, [(b"", json.dumps(row).encode()) for batch in batches for row in batch])
    assert run(spark, streaming, insert, batches[:2], send) == 0
    assert run(spark, streaming, insert, [*batches[2:], late, [make_row(rng, 600)]], send) >= len(late)
    written = content(spark, "SELECT * FROM tgt WHERE w < '2026-01-02 08:05'")
    assert written == content(spark, select.replace("TABLE t,", "TABLE u,").replace("FROM t ", "FROM u "))
