"""Rows behind the watermark: they are in the results of queries that need no watermark, as in Flink."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafka_sql.sql.jobs.registry import session_jobs
from tests.topics import Topics

pytestmark = pytest.mark.integration

COLUMNS = "id INT, k STRING, ts {}, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
JOIN = "SELECT a.id, a.ts, b.id FROM a JOIN b ON a.k = b.k"
UPSERTS = "PRIMARY KEY (ts) NOT ENFORCED"


def produce(topics: Topics, topic: str, *rows: tuple[int, str, str]) -> None:
    values = ({"id": id, "k": k, "ts": f"2024-01-01 {ts}"} for id, k, ts in rows)
    topics.produce(topic, *(json.dumps(value).encode() for value in values))


def run(spark: Any, jobs: Any) -> None:
    """Wait until a bounded query has ended."""
    ((id,),) = jobs.collect()
    query = next(job.query for job in session_jobs(spark) if job.id == id)  # Spark forgets queries that have ended
    assert query.awaitTermination(100)
    assert query.exception() is None


def values(topics: Topics, topic: str, expected: int) -> list[tuple[Any, ...]]:
    return sorted(tuple(json.loads(m.value()).values()) for m in topics.consume(topic, expected))


@pytest.mark.sample(1)
@pytest.mark.parametrize("type", ["TIMESTAMP(3)", "TIMESTAMP_LTZ(3)"])
def test_a_regular_join_and_a_group_by_of_a_time_keep_late_rows(
    spark: Any, streaming: Any, topics: Topics, type: str
) -> None:
    left, right, joined, grouped = (topics.create() for _ in range(4))
    bounded = {"scan.bounded.mode": "latest-offset"}
    for name, topic in (("a", left), ("b", right)):
        streaming(f"CREATE TABLE {name} ({COLUMNS.format(type)}) {topics.with_options(topic, **bounded)}")
    streaming(f"CREATE TABLE joined (id INT, ts {type}, other INT) {topics.with_options(joined)}")
    streaming(f"CREATE TABLE grouped (ts {type}, n BIGINT, {UPSERTS}) {topics.with_upsert_options(grouped)}")
    zulu = "Z" if "LTZ" in type else ""
    time = "2024-01-01 {}:00:00" + zulu
    produce(topics, left, (1, "x", f"14:00:00{zulu}"), (2, "y", f"13:00:00{zulu}"))
    produce(topics, right, (7, "x", f"14:00:00{zulu}"))
    for part in range(2):
        run(spark, streaming(f"INSERT INTO joined {JOIN}"))
        run(spark, streaming("INSERT INTO grouped SELECT ts, count(*) FROM a GROUP BY ts"))
        if part == 0:  # two hours behind the watermark
            produce(topics, left, (3, "x", f"12:00:00{zulu}"))
            produce(topics, right, (8, "x", f"12:00:00{zulu}"))
    expected = [(1, "14", 7), (1, "14", 8), (3, "12", 7), (3, "12", 8)]
    assert values(topics, joined, 4) == [(id, time.format(hour), other) for id, hour, other in expected]
    assert values(topics, grouped, 3) == [(time.format(hour), 1) for hour in ("12", "13", "14")]


@pytest.mark.long
def test_other_queries_keep_their_watermarks(streaming: Any, topics: Topics) -> None:
    for name in ("a", "b"):
        streaming(f"CREATE TABLE {name} ({COLUMNS.format('TIMESTAMP_LTZ(3)')}) {topics.with_options(topics.create())}")
    topic = topics.create()
    streaming(f"CREATE TABLE tgt (ts TIMESTAMP_LTZ(3), n BIGINT) {topics.with_options(topic)}")
    streaming(f"CREATE TABLE upserts (ts TIMESTAMP_LTZ(3), n BIGINT, {UPSERTS}) {topics.with_upsert_options(topic)}")

    def has_watermark(insert: str) -> bool:
        return "WatermarkAssigner" in streaming(f"EXPLAIN INSERT INTO {insert}").collect()[0][0]

    interval = "a.ts BETWEEN b.ts - INTERVAL '1' HOUR AND b.ts"
    window = "SELECT window_start, count(*) FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '1' HOUR))"
    assert has_watermark(f"tgt SELECT a.ts, b.id FROM a JOIN b ON a.k = b.k AND {interval}")
    assert has_watermark(f"tgt SELECT a.ts, b.id FROM a, b WHERE a.k = b.k AND {interval}")
    assert has_watermark(f"tgt SELECT a.ts, b.id FROM a LEFT JOIN b ON a.k = b.k AND {interval}")
    assert has_watermark("tgt SELECT ts, count(*) FROM a GROUP BY ts")  # final rows
    assert has_watermark(f"upserts {window} GROUP BY window_start, window_end")
    assert not has_watermark("upserts SELECT ts, count(*) FROM a GROUP BY ts")
    assert not has_watermark(f"tgt {JOIN.replace('b.id', '1').replace('a.id, ', '')}")
