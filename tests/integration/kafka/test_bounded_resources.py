"""Peak resource usage of reads and writes with many partitions or a slow broker. The peaks are printed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.resources import peak, sample, watched
from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(1800)]


@contextmanager
def print_usage(what: str) -> Iterator[None]:
    """Print the duration, and the peak usage of this process and its descendants."""
    before, start = sample(os.getpid()), time.monotonic()
    with watched(os.getpid()) as watch:
        yield
    print(f"\n{what}: {time.monotonic() - start:.1f} s\n  before {before}\n  peak   {peak(watch.samples)}")


def test_a_thousand_partitions(sql: Callable[..., Any], topics: Topics, tmp_path: Path) -> None:
    topic = topics.create(1000)
    sql(
        f"CREATE TABLE t (v STRING, p INT METADATA FROM 'partition' VIRTUAL) {topics.with_options(topic, format='raw')}"
    )
    sql("SELECT count(*) FROM t WHERE v IS NULL LIMIT 0").collect()
    with print_usage("planning 1,000 empty partitions"):
        assert sql("SELECT count(*) FROM t").collect() == [(0,)]
    with print_usage("writing to 1,000 partitions"):
        keyed = {"key.format": "raw", "key.fields": "k", "value.fields-include": "EXCEPT_KEY", "format": "raw"}
        sql(f"CREATE TABLE w (k STRING, v STRING) {topics.with_options(topic, **keyed)}")
        sql("INSERT INTO w SELECT CAST(id AS STRING), CAST(id AS STRING) FROM range(100000)")
    with print_usage("reading 1,000 partitions, one task each"):
        assert sql("SELECT count(*), count(DISTINCT v), count(DISTINCT p) FROM t").collect() == [
            (100_000, 100_000, 1000)
        ]
    sql(f"CREATE TABLE few (v STRING) {topics.with_options(topic, **{'format': 'raw', 'scan.parallelism': '4'})}")
    with print_usage("reading 1,000 partitions, four tasks"):
        assert sql("SELECT count(*), count(DISTINCT v) FROM few").collect() == [(100_000, 100_000)]


def test_writing_to_a_broker_that_pauses_repeatedly(sql: Callable[..., Any]) -> None:
    """As if the broker had a slow disk: the producer's queue is full most of the time, and memory stays bounded."""
    with EmbeddedKafka() as kafka:
        topics, is_done = Topics(kafka.bootstrap_servers), threading.Event()
        topic = topics.create(2)
        (node,) = kafka.nodes

        def pause_repeatedly() -> None:
            while not is_done.wait(0.5):
                node.pause()
                is_done.wait(1.5)
                node.resume()

        small_queue = {"format": "raw", "properties.queue.buffering.max.kbytes": "8192"}
        sql(f"CREATE TABLE w (v BYTES) {topics.with_options(topic, **small_queue)}")
        pauses = threading.Thread(target=pause_repeatedly)
        with print_usage("300 MB through a queue of 8 MB, the broker running a quarter of the time"):
            pauses.start()
            try:
                sql("INSERT INTO w SELECT CAST(repeat(CAST(id AS STRING), 200) AS BINARY) FROM range(100000, 350000)")
            finally:
                is_done.set()
                pauses.join()
        rows = sql("SELECT count(*), count(DISTINCT v), sum(length(v)) FROM w").collect()
        assert rows == [(250_000, 250_000, 250_000 * 1200)]
