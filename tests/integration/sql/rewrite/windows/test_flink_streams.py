"""Session windows, deduplication and Top-N of streams: the final content equals that of a real Flink's streams."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks.peers import launch
from tests.spark_versions import needs_limits
from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.long]  # Flink's libraries are 312 MB

START, COUNT, KEYS = datetime(2026, 3, 2, 8), 2000, 20
LIMIT = {"scan.max-offsets-per-trigger": "300"}  # several micro-batches
WATERMARK = "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
RANKED = "SELECT *, ROW_NUMBER() OVER (PARTITION BY {} ORDER BY {}) AS rn FROM {}"
WINDOW = "TABLE(TUMBLE(TABLE src, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"
ROW, ROW_KEY = "k INT, id INT, price INT", "PRIMARY KEY (k) NOT ENFORCED"
QUERIES = {  # columns of the sink, query
    "sessions": (
        "k INT, s TIMESTAMP(3), e TIMESTAMP(3), n BIGINT, price INT, PRIMARY KEY (k, s, e) NOT ENFORCED",
        "SELECT k, window_start, window_end, count(*), max(price) FROM TABLE(SESSION(TABLE src PARTITION BY k, "
        "DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end",
    ),
    "first_row": (f"{ROW}, {ROW_KEY}", f"SELECT k, id, price FROM ({RANKED.format('k', 'ts', 'src')}) WHERE rn = 1"),
    "last_row": (
        f"{ROW}, {ROW_KEY}",
        f"SELECT k, id, price FROM ({RANKED.format('k', 'ts DESC', 'src')}) WHERE rn = 1",
    ),
    "first_arrived": (
        f"{ROW}, {ROW_KEY}",
        f"SELECT k, id, price FROM ({RANKED.format('k', 'proctime', 'src')}) WHERE rn = 1",
    ),
    "last_arrived": (
        f"{ROW}, {ROW_KEY}",
        f"SELECT k, id, price FROM ({RANKED.format('k', 'proctime DESC', 'src')}) WHERE rn = 1",
    ),
    "top": (
        f"{ROW}, rn BIGINT, PRIMARY KEY (k, rn) NOT ENFORCED",
        f"SELECT k, id, price, rn FROM ({RANKED.format('k', 'price DESC', 'src')}) WHERE rn <= 3",
    ),
    "window_top": (
        f"{ROW}, s TIMESTAMP(3), rn BIGINT, PRIMARY KEY (s, rn) NOT ENFORCED",
        "SELECT k, id, price, window_start, rn FROM "
        f"({RANKED.format('window_start, window_end', 'price DESC', WINDOW)}) WHERE rn <= 2",
    ),
}


def records(seed: int) -> list[bytes]:
    """Return rows that are at most four seconds out of order, with different prices, and a last one far later.

    The last row makes Spark close the windows of the others: at the end of a bounded stream, Flink closes all windows,
    and Spark those before the watermark.
    """
    rng = random.Random(seed)
    prices = rng.sample(range(10 * COUNT), COUNT)
    rows = []
    for i, price in enumerate(prices):
        time = START + timedelta(seconds=i / 2 - rng.random() * 4, microseconds=-i)
        rows.append({"id": i, "k": rng.randrange(KEYS), "price": price, "ts": f"{time:%Y-%m-%d %H:%M:%S.%f}"[:-3]})
    rows.append({"id": COUNT, "k": -1, "price": 0, "ts": "2026-03-03 08:00:00.000"})
    return [json.dumps(row).encode() for row in rows]


@pytest.mark.timeout(1800)
@needs_limits
def test_streams_of_windows_and_ranks(spark: Any, streaming: Any, topics: Topics, tmp_path: Path) -> None:
    topic = topics.create()  # one partition, so that both engines read the same order
    topics.produce(topic, *records(7))
    source = f"CREATE TABLE src (id INT, k INT, price INT, ts TIMESTAMP(3), proctime AS PROCTIME(), {WATERMARK}) "
    bounded = {"scan.bounded.mode": "latest-offset"}
    theirs = {name: topics.create() for name in QUERIES}
    with launch.start_flink(tmp_path, 1, "streaming") as flink:
        flink.request("sql", text=source + topics.with_options(topic, **bounded))
        for name, (columns, query) in QUERIES.items():
            flink.request("sql", text=f"CREATE TABLE {name} ({columns}) {topics.with_upsert_options(theirs[name])}")
            flink.request("sql", text=f"INSERT INTO {name} {query}")
    streaming(source + topics.with_options(topic, **bounded, **LIMIT))
    for name, (columns, query) in QUERIES.items():
        streaming(f"CREATE TABLE {name} ({columns}) {topics.with_upsert_options(topics.create(2))}")
        (job,) = streaming(f"INSERT INTO {name} {query}").collect()
        spark.streams.get(job[0]).awaitTermination()
    streaming("SET 'execution.runtime-mode' = 'batch'")
    differences = {}
    for name, (columns, _) in QUERIES.items():
        streaming(f"CREATE TABLE flink_{name} ({columns}) {topics.with_upsert_options(theirs[name])}")
        mine, flinks = (
            {tuple(row) for row in streaming(f"SELECT * FROM {table} WHERE k >= 0").collect()}
            for table in (name, f"flink_{name}")
        )
        print(f"{name}: {len(mine)} rows, Flink {len(flinks)}")
        if mine != flinks or len(mine) < KEYS:
            differences[name] = sorted(mine - flinks)[:5], sorted(flinks - mine)[:5]
    assert differences == {}
