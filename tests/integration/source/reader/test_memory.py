"""Test that options bound the memory of a reading task, whatever the backlog."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.integration.workers import peak_megabytes, reset_peaks
from tests.topics import Topics

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(sys.platform != "linux", reason="peak memory is only available on Linux"),
]

BOUNDED = {
    "properties.queued.max.messages.kbytes": "16384",
    "properties.max.partition.fetch.bytes": "1048576",
    "scan.batch.max-bytes": "8 mb",
}


def read(spark: Any, sql: Any, topics: Topics, topic: str, query: str, **options: str) -> tuple[Any, float]:
    """Return the query's row, and the peak memory of the worker."""
    sql(f"CREATE TABLE t (v BYTES) {topics.with_options(topic, format='raw', **options)}")
    sql("SELECT count(*) FROM t WHERE v IS NULL LIMIT 0").collect()  # starts the workers
    reset_peaks()
    (row,) = sql(query).collect()
    peak = peak_megabytes()
    print(f"peak resident memory of a Python worker: {peak:.0f} MB")
    return row, peak


def test_records_of_10_megabytes(spark: Any, sql: Any, topics: Topics) -> None:
    topic = topics.create(max_message_bytes="12000000")
    record = os.urandom(10_000_000)
    producer = Producer({"bootstrap.servers": topics.bootstrap, "log_level": 0, "message.max.bytes": 12_000_000})
    for _ in range(40):
        producer.produce(topic, record)
    assert producer.flush(60) == 0
    row, peak = read(spark, sql, topics, topic, "SELECT count(*), sum(length(v)) FROM t", **BOUNDED)
    assert tuple(row) == (40, 400_000_000)
    assert peak < 350


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("options", [BOUNDED, {}], ids=["bounded", "defaults"])
def test_a_backlog_of_20_million_small_records(spark: Any, sql: Any, topics: Topics, options: dict[str, str]) -> None:
    topic = topics.create()
    sql(f"CREATE TABLE w (v BYTES) {topics.with_options(topic, format='raw')}")
    sql("INSERT INTO w SELECT CAST(CAST(id AS STRING) AS BINARY) FROM range(20000000)")
    row, peak = read(spark, sql, topics, topic, "SELECT count(*), sum(length(v)) FROM t", **options)
    assert tuple(row) == (20_000_000, sum(9 * 10 ** (d - 1) * d for d in range(1, 8)) + 1 + 8 * 10_000_000)
    assert peak < (400 if options else 900)
