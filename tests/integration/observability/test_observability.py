"""Test the metrics of a running query: from the listener, Prometheus and SHOW JOBS."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pyspark.sql.streaming.listener import StreamingQueryListener

from kafka_sql.observability.listener import observe
from kafka_sql.observability.metrics import job_metrics
from kafka_sql.observability.prometheus import serve_metrics
from kafka_sql.source.reader.record_counters import BadRecordCounts
from tests.spark_versions import needs_source_metrics
from tests.topics import Topics

pytestmark = pytest.mark.integration


def scrape(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as response:
        text = response.read().decode()
    return {m[1]: float(m[2]) for m in re.finditer(r"^(kafka_sql_.*) (\S+)$", text, re.MULTILINE)}


class EndListener(StreamingQueryListener):
    """Signals the end of a query."""

    def __init__(self) -> None:
        self.event = Event()

    def onQueryStarted(self, event: Any) -> None: ...

    def onQueryProgress(self, event: Any) -> None: ...

    def onQueryIdle(self, event: Any) -> None: ...

    def onQueryTerminated(self, event: Any) -> None:
        self.event.set()


@needs_source_metrics
def test_query_metrics(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    source, target = topics.create(2), topics.create()
    topics.produce(source, *(b'{"a": %d}' % i for i in range(7)), b"no JSON")
    topics.produce(source, b'{"a": 7}', partition=1)
    options = {
        "properties.group.id": f"g-{source}",
        "scan.max-offsets-per-trigger": "5",
        "error-handling.mode": "ignore",
    }
    sql(
        f"""CREATE TABLE src (a INT, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
        WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) {topics.with_options(source, **options)}"""
    )
    sql(f"CREATE TABLE tgt (a INT) {topics.with_options(target)}")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    sql("SET 'pipeline.name' = 'observed'")
    sql("SET 'metrics.reporter.prom.port' = '0'")
    spark.conf.set("spark.sql.streaming.noDataProgressEventInterval", "100")  # the last commit is reported while idle
    (row,) = sql("INSERT INTO tgt SELECT a FROM STREAM src").collect()
    query = spark.streams.get(row[0])
    query.processAllAvailable()
    observer = observe(spark)
    # the listener is notified asynchronously, and the last commit is confirmed later
    while not (job := observer.jobs()[query.id]).sources or job.sources[0].committed != job.sources[0].latest:
        query.awaitTermination(0.1)
    (table,) = job.sources
    assert (table.table, table.pending_records) == ("default.src", 0)
    assert table.current == {(source, 0): 8, (source, 1): 1}
    assert table.committed == table.current
    assert (job.num_records_in, job.records_without_row, table.commits_failed) == (8, 1, 0)
    assert job.bad_records == BadRecordCounts(skipped=1, dead_lettered=0)
    assert table.commits_succeeded >= 1
    assert job.bytes_per_second  # the last batch is Spark's last execution until the next batch
    assert job.num_bytes_in
    spark.conf.unset("spark.sql.streaming.noDataProgressEventInterval")
    assert job.event_time_lag is not None
    assert 0 < job.event_time_lag < 600_000
    port = serve_metrics(observer, 0)
    labels = f'job_id="{query.id}",job_name="observed"'
    partition = f'{labels},partition="0",table="default.src",topic="{source}"'
    values = scrape(port)
    assert values[f"kafka_sql_committedOffset{{{partition}}}"] == 8
    assert values[f"kafka_sql_numRecordsIn{{{labels}}}"] == 8
    assert values[f"kafka_sql_numRecordsWithoutRow{{{labels}}}"] == 1
    assert (
        values[f"kafka_sql_numRecordsInErrors{{{labels}}}"] == values[f"kafka_sql_numRecordsSkipped{{{labels}}}"] == 1
    )
    assert values[f"kafka_sql_numDeadLetters{{{labels}}}"] == 0
    assert values[f"kafka_sql_numBytesIn{{{labels}}}"] == job.num_bytes_in
    assert values[f"kafka_sql_numBytesInPerSecond{{{labels}}}"] > 0
    assert values[f"kafka_sql_currentEmitEventTimeLag{{{labels}}}"] == job.event_time_lag
    assert values[f'kafka_sql_pendingRecords{{{labels},table="default.src"}}'] == 0
    assert values[f"kafka_sql_currentOffset{{{partition}}}"] == 8
    assert values[f"kafka_sql_records_lag{{{partition}}}"] == 0
    assert values[f"kafka_sql_numRecordsOut{{{labels}}}"] == 8
    for direction, table_name, count in (("In", "default.src", 9), ("Out", "default.tgt", 8)):
        by_client = f'{{client="direct",{labels},table="{table_name}"}}'
        assert values[f"kafka_sql_numRecords{direction}ByClient{by_client}"] == count
    assert values[f"kafka_sql_numBytesOut{{{labels}}}"] == 8 * len('{"a":0}')
    assert values[f"kafka_sql_numRecordsOutErrors{{{labels}}}"] == 0
    assert values[f"kafka_sql_openTransactions{{{labels}}}"] == 0
    assert values[f"kafka_sql_currentSendTime{{{labels}}}"] >= 0
    assert {re.sub(r"\{.*", "", name) for name in values} >= {
        f"kafka_sql_{name}" for name in ("commitsSucceeded", "commitsFailed", "sourceIdleTime", "watermarkLag")
    }
    (job_row,) = [r for r in sql("SHOW JOBS EXTENDED").collect() if r["job id"] == query.id]
    assert (job_row["pending records"], job_row["commits failed"]) == (0, 0)
    assert job_row["commits succeeded"] == table.commits_succeeded
    assert job_row["bytes per second"] > 0
    assert job_row["event time lag ms"] == job.event_time_lag
    assert 0 <= job_row["idle ms"] < 600_000
    ended = EndListener()
    spark.streams.addListener(ended)
    query.stop()
    assert ended.event.wait(60)  # notified after the observer
    spark.streams.removeListener(ended)
    assert not [name for name in scrape(port) if query.id in name]


def test_dead_letters_are_counted_once_per_start(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    source, dead = topics.create(2), topics.create()
    for partition in range(2):
        topics.produce(source, b"no JSON", b'{"a": 1}', b"[", partition=partition)
    options = {"error-handling.mode": "log", "error-handling.log.target": dead}
    sql(f"CREATE TABLE src (a INT) {topics.with_options(source, **options)}")
    observer = observe(spark)

    def run_query(rows: int) -> BadRecordCounts | None:
        """Run the query until it has read the given number of rows, and return its counts since its start."""
        writer = spark.readStream.table("src").writeStream.format("noop")
        query = writer.option("checkpointLocation", str(tmp_path)).start()
        while (job := observer.jobs().get(query.id)) is None or job.num_records_in < rows:
            assert not query.awaitTermination(0.05)
        query.stop()
        return job.bad_records

    assert run_query(2) == BadRecordCounts(skipped=0, dead_lettered=4)
    topics.produce(source, b"]", b'{"a": 2}', partition=1)
    assert run_query(1) == BadRecordCounts(skipped=0, dead_lettered=1)


@needs_source_metrics
def test_event_time_lag_without_a_watermark(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    topic, hour = topics.create(2), 3_600_000
    now = time.time_ns() // 1_000_000
    topics.produce(topic, b'{"a": 1}', timestamp=now - 5 * hour)
    topics.produce(topic, b'{"a": 2}', b'{"a": 3}', partition=1, timestamp=now - 3 * hour)
    lags_of: dict[str, list[int | None]] = {}
    for name, options in (("all", {}), ("some", {"scan.max-offsets-per-trigger": "1"})):
        sql(f"CREATE TEMPORARY TABLE {name} (a INT) {topics.with_options(topic, **options)}")
        stream = spark.readStream.table(name)
        query = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / name)).start()
        query.processAllAvailable()
        progress = [json.loads(report.json) for report in query.recentProgress if report.numInputRows]
        lags_of[name] = [job_metrics([report]).event_time_lag for report in progress]
        query.stop()
    ((lag,), lags) = lags_of["all"], lags_of["some"]
    assert lag is not None
    assert 3 * hour <= lag < 4 * hour  # the age of the newest record
    # one batch did not read any partition to its end
    assert sorted(lag is None for lag in lags) == [
        False,
        False,
        True,
    ]
    assert all(3 * hour <= lag < 6 * hour for lag in lags if lag is not None)
