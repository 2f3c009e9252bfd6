"""A limited backfill keeps the rows that an unlimited one keeps: partitions are read in the order of event time."""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.spark_versions import needs_limits
from tests.topics import Topics
from tests.waiting import wait_until

pytestmark = pytest.mark.integration
START = datetime(2026, 3, 2, 8, tzinfo=timezone.utc)
COUNT = 100  # records of each partition
LIMIT = {"scan.max-offsets-per-trigger": "20", "scan.bounded.mode": "latest-offset", "scan.parallelism": "1"}
WINDOW = 10  # seconds
OFF = "'scan.watermark.alignment.enabled' = 'false'"

# columns with the event time ts, and the options of their format
RECORD_TIME = "a INT, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'", {}
COMPUTED = "a INT, e ROW<ms BIGINT>, ts AS TO_TIMESTAMP_LTZ(e.ms, 3)", {}
CSV = "a INT, ts TIMESTAMP(3)", {"format": "csv"}


def time_of(partition: int, i: int) -> datetime:
    """Return the event time of a record. Partition 1 starts when a third of partition 0 has been written."""
    return START + timedelta(seconds=3 * i if partition == 0 else 100 + 2 * i)


@pytest.fixture(scope="module")
def skewed(kafka: Any) -> dict[str, str]:
    """Return a topic per format, with two partitions that cover different times."""
    topics = Topics(kafka.bootstrap_servers)
    names = {"json": topics.create(2), "csv": topics.create(2)}
    for partition in (0, 1):
        for i in range(COUNT):
            time = time_of(partition, i)
            text, millis = f"{time:%Y-%m-%d %H:%M:%S}", int(time.timestamp() * 1000)
            value = json.dumps({"a": i, "ts": text, "e": {"ms": millis}}).encode()
            topics.produce(names["json"], value, partition=partition, timestamp=millis)
            topics.produce(names["csv"], f"{i},{text}".encode(), partition=partition)
    return names


def expected_windows() -> Counter[int]:
    """Return the number of rows of each window that is closed at the end, by the seconds of its start."""
    seconds = [int((time_of(p, i) - START).total_seconds()) for p in (0, 1) for i in range(COUNT)]
    counts = Counter(s // WINDOW * WINDOW for s in seconds)
    return Counter({start: n for start, n in counts.items() if start + WINDOW <= max(seconds) - 5})


def start(
    spark: Any,
    streaming: Any,
    topics: Topics,
    source: str,
    table: tuple[str, dict[str, str]],
    hint: str = "",
    window: str = f"{WINDOW} seconds",
) -> tuple[Any, str]:
    """Start a limited backfill that counts the rows of each window; return the query and the topic of its windows."""
    columns, options = table
    streaming(
        f"CREATE OR REPLACE TABLE src ({columns}, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) "
        + topics.with_options(source, **LIMIT, **options)
    )
    target = topics.create()
    streaming(f"CREATE OR REPLACE TABLE tgt (w STRING, n BIGINT) {topics.with_options(target)}")
    (row,) = streaming(
        f"INSERT INTO tgt SELECT date_format(window.start, 'yyyy-MM-dd HH:mm:ss'), count(*) FROM src {hint} "
        f"GROUP BY window(ts, '{window}')"
    ).collect()
    return spark.streams.get(row[0]), target


def windows(topics: Topics, target: str, expected: int) -> Counter[int]:
    """Return the number of rows of each window that was written, by the seconds of its start."""
    counts = Counter[int]()
    for message in topics.consume(target, expected):
        window = json.loads(message.value() or b"")
        start = datetime.fromisoformat(window["w"]).replace(tzinfo=timezone.utc)
        counts[int((start - START).total_seconds())] += window["n"]
    return counts


@pytest.mark.long
@pytest.mark.parametrize(
    "table",
    [RECORD_TIME, pytest.param(COMPUTED, marks=pytest.mark.long), pytest.param(CSV, marks=pytest.mark.long)],
    ids=["metadata", "computed", "csv"],
)
@needs_limits
def test_a_limited_backfill_of_skewed_partitions_keeps_all_rows(
    spark: Any, streaming: Any, topics: Topics, skewed: dict[str, str], table: tuple[str, dict[str, str]]
) -> None:
    limit = 40 if table is RECORD_TIME else 50
    hint = f"/*+ OPTIONS('scan.max-offsets-per-trigger' = '{limit}') */"
    query, target = start(spark, streaming, topics, skewed[table[1].get("format", "json")], table, hint)
    query.awaitTermination()
    batches = [p.numInputRows for p in query.recentProgress if p.numInputRows]
    assert batches == [limit] * (2 * COUNT // limit)
    assert windows(topics, target, len(expected_windows())) == expected_windows()


@needs_limits
def test_rows_that_are_late_are_counted(
    spark: Any, streaming: Any, topics: Topics, skewed: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    hint = f"/*+ OPTIONS({OFF}, 'scan.bounded.mode' = 'unbounded') */"
    query, target = start(spark, streaming, topics, skewed["json"], RECORD_TIME, hint)
    query.processAllAvailable()
    written = windows(topics, target, sum(o.numRowsRemoved for p in query.recentProgress for o in p.stateOperators))
    dropped = sum((expected_windows() - written).values())
    assert dropped > sum(o.numRowsDroppedByWatermark for p in query.recentProgress for o in p.stateOperators) > 0
    wait_until(lambda: "late rows" in caplog.text, "the warning is logged")
    assert f"query '{query.name}': batch" in caplog.text
    assert caplog.text.count("late rows: their event time is behind the watermark, 2026-03-02T08:0") == 1
    (job,) = [row for row in spark.sql("SHOW JOBS EXTENDED").collect() if row["job id"] == query.id]
    assert job["late records dropped"] == dropped
    query.stop()


@pytest.mark.long
@pytest.mark.timeout(1500)
@needs_limits
def test_a_backfill_of_a_hundred_partitions_keeps_all_rows(spark: Any, streaming: Any, topics: Topics) -> None:
    """1,000,000 records in 100 partitions, each of which starts later than the one before; batches of 1 %.

    Reading in the order of event time may cost a fifth of what the same batches cost in proportion to the backlogs. The
    time of one batch without a limit is printed, too. KAFKA_SQL_TEST_RECORDS sets another number of records.
    """
    partitions, count = 100, int(os.environ.get("KAFKA_SQL_TEST_RECORDS", "1000000")) // 100
    source = topics.create(partitions)
    producer = Producer(
        {
            "bootstrap.servers": topics.bootstrap,
            "enable.idempotence": True,  # requests that a new topic's leader rejects are repeated in their order
            "linger.ms": 50,
            "queue.buffering.max.messages": 2_000_000,
        }
    )
    seconds = Counter[int]()
    for i in range(count):
        for partition in range(partitions):
            millis = 60_000 * partition + 100 * i  # each partition covers 1000 seconds
            seconds[millis // 60_000 * 60] += 1
            value = b'{"a": %d, "e": {"ms": %d}}' % (i, int(START.timestamp()) * 1000 + millis)
            producer.produce(source, value, partition=partition)
        producer.poll(0)
    assert producer.flush(120) == 0
    latest = 60 * (partitions - 1) + count / 10
    closed = Counter({start: n for start, n in seconds.items() if start + 60 <= latest - 5})
    costs = {}
    step = "'scan.client' = 'auto'"
    for name, options, limit in (
        ("unlimited", OFF, 2 * count * partitions),
        ("in proportion", OFF, count),
        ("in step", step, count),
    ):
        streaming(f"SET 'pipeline.name' = '{name}'")
        hint = f"/*+ OPTIONS('scan.max-offsets-per-trigger' = '{limit}', 'scan.parallelism' = '2', {options}) */"
        query, target = start(spark, streaming, topics, source, COMPUTED, hint, "60 seconds")
        query.awaitTermination()
        reports = [p for p in query.recentProgress if p.numInputRows]
        costs[name] = sum(p.durationMs["triggerExecution"] for p in reports) / 1000
        ordering = sum(p.durationMs["latestOffset"] for p in reports) / 1000
        dropped = sum(o.numRowsDroppedByWatermark for p in query.recentProgress for o in p.stateOperators)
        print(f"{name}: {len(reports)} batches, {costs[name]:.1f} s, latestOffset {ordering:.1f} s; {dropped} late")
        if name == "in step":
            assert dropped == 0
            assert windows(topics, target, len(closed)) == closed
            assert ordering < 0.2 * costs[name]
