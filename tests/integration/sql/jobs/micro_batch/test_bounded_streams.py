"""Continuous queries over bounded tables end; topic patterns, discovery and data loss in Spark."""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec
from pyspark.errors import StreamingQueryException

from kafka_sql.source.enumerator.stopping_offsets import end_exists
from kafka_sql.sql.jobs.registry import session_jobs
from tests.batch_read import define_table, delete_records, transaction
from tests.topics import Topics

pytestmark = pytest.mark.integration


def job(spark: Any, result: Any) -> Any:
    (row,) = result.collect()
    # not from spark.streams: Spark forgets queries that have ended
    return next(j.query for j in reversed(session_jobs(spark)) if j.id == row[0])


def numbers(topics: Topics, topic: str, expected: int) -> list[int]:
    return sorted(json.loads(m.value() or b"")["a"] for m in topics.consume(topic, expected))


def put(topics: Topics, topic: str, *values: int, **record_fields: Any) -> None:
    topics.produce(topic, *(b'{"a": %d}' % value for value in values), **record_fields)


def test_a_bounded_query_ends(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(2), topics.create()
    put(topics, source, 1, 2, 3)
    put(topics, source, 4, 5, partition=1)
    streaming(f"CREATE TABLE src (a INT) {topics.with_options(source)}")
    streaming(f"CREATE TABLE tgt (a INT) {topics.with_options(target)}")
    streaming("SET 'execution.checkpointing.interval' = '1 h'")
    into = "INSERT INTO tgt SELECT a FROM src /*+ OPTIONS('scan.bounded.mode' = '{}', {}) */"
    first = "'scan.bounded.specific-offsets' = 'partition:0,offset:2;partition:1,offset:1'"
    query = job(spark, streaming(into.format("specific-offsets", first)))
    assert query.awaitTermination(280)
    assert query.exception() is None
    assert numbers(topics, target, 3) == [1, 2, 4]
    # the same query with a later end resumes from there
    offsets_option = "'scan.bounded.specific-offsets' = 'partition:0,offset:3;partition:1,offset:2'"
    streaming("SET 'pipeline.name' = 'insert-into_default.tgt'")
    assert job(spark, streaming(into.format("specific-offsets", offsets_option))).awaitTermination(280)
    assert numbers(topics, target, 5) == [1, 2, 3, 4, 5]


def test_a_value_that_a_column_cannot_have_is_an_error_without_ansi_mode(
    spark: Any, streaming: Any, topics: Topics
) -> None:
    source, target = topics.create(), topics.create()
    put(topics, source, 300)
    streaming(f"CREATE TABLE src (a INT) {topics.with_options(source, **{'scan.bounded.mode': 'latest-offset'})}")
    streaming(f"CREATE TABLE tgt (a TINYINT) {topics.with_options(target)}")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        query = job(spark, streaming("INSERT INTO tgt SELECT a FROM src"))
        assert spark.conf.get("spark.sql.ansi.enabled") == "false"
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    with pytest.raises(StreamingQueryException, match="CAST_OVERFLOW"):
        query.awaitTermination(280)
    assert numbers(topics, target, 0) == []


@pytest.mark.long
def test_a_query_waits_for_an_end_offset_that_does_not_exist_yet(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    put(topics, source, 1)
    bounded = {"scan.bounded.mode": "specific-offsets", "scan.bounded.specific-offsets": "partition:0,offset:3"}
    streaming(f"CREATE TABLE src (a INT) {topics.with_options(source, **bounded)}")
    streaming(f"CREATE TABLE tgt (a INT) {topics.with_options(target)}")
    result = streaming("INSERT INTO tgt SELECT a FROM src")
    query = job(spark, result)
    query.processAllAvailable()
    assert numbers(topics, target, 1) == [1]
    assert query.isActive
    put(topics, source, 2, 3, 4)
    assert query.awaitTermination(280)
    assert numbers(topics, target, 3) == [1, 2, 3]
    assert [row.status for row in streaming("SHOW JOBS EXTENDED").collect() if row["job id"] == query.id] == [
        "FINISHED"
    ]


@pytest.mark.long
def test_a_partly_unbounded_query_does_not_end(spark: Any, streaming: Any, topics: Topics) -> None:
    source, target = topics.create(), topics.create()
    put(topics, source, 1)
    streaming(f"CREATE TABLE src (a INT) {topics.with_options(source)}")
    streaming(f"CREATE TABLE tgt (a INT) {topics.with_options(target)}")
    hint = "/*+ OPTIONS('scan.bounded.mode' = 'latest-offset') */"
    query = job(spark, streaming(f"INSERT INTO tgt SELECT a FROM src UNION ALL SELECT a * 10 FROM src {hint}"))
    query.processAllAvailable()
    put(topics, source, 2)
    query.processAllAvailable()
    assert query.isActive
    query.stop()
    assert numbers(topics, target, 3) == [1, 2, 10]


@pytest.mark.long
def test_read_stream_of_a_bounded_table_ends(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    topic, name = topics.create(), f"ends_{uuid.uuid4().hex}"
    put(topics, topic, 1, 2)
    bounded = {"scan.bounded.mode": "specific-offsets", "scan.bounded.specific-offsets": "partition:0,offset:3"}
    column = "ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', WATERMARK FOR ts AS ts"
    sql(f"CREATE TABLE src (a INT, {column}) {topics.with_options(topic, **bounded)}")
    writer = (
        spark.readStream.table("src").groupBy("ts").count().coalesce(1).writeStream.format("memory").queryName(name)
    )
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    query.processAllAvailable()
    assert query.isActive  # its end offset does not exist yet
    put(topics, topic, 3, 4, timestamp=(time.time_ns() // 1_000_000) + 3_600_000)
    assert query.awaitTermination(280)
    assert query.exception() is None
    # a no-data batch writes the third record's row after the watermark has advanced
    assert sum(row["count"] for row in spark.table(name).collect()) == 3


def test_end_exists(topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"a", b"b")
    for offset, expected in ((2, True), (3, False)):
        bounded = {"scan_bounded_mode": "specific-offsets"}
        definition = define_table(
            topics, topic, **bounded, scan_bounded_specific__offsets=f"partition:0,offset:{offset}"
        )
        assert end_exists(definition) is expected


def test_a_batch_reads_its_range_of_all_topics_of_a_pattern(spark: Any, sql: Any, topics: Topics) -> None:
    name = f"b{uuid.uuid4().hex}"
    for suffix in ("eu", "us", "old"):
        topics.create_named(f"{name}-{suffix}")
    put(topics, f"{name}-eu", 1, 2, 3, timestamp=1000)
    put(topics, f"{name}-us", 4, 5, timestamp=1000)
    put(topics, f"{name}-us", 6, timestamp=3000)
    put(topics, f"{name}-old", 7)
    options = topics.with_options("", **{"topic-pattern": f"{name}-(eu|us)"}).replace("'topic' = '', ", "")
    sql(f"CREATE TABLE src (a INT, topic STRING METADATA VIRTUAL) {options}")

    def rows(**hint: str) -> list[int]:
        options = ", ".join(f"'{k.replace('__', '-').replace('_', '.')}' = '{v}'" for k, v in hint.items())
        return [row.a for row in sql(f"SELECT a FROM src /*+ OPTIONS({options}) */ ORDER BY a").collect()]

    assert rows(scan_bounded_mode="latest-offset") == [1, 2, 3, 4, 5, 6]
    assert rows(scan_bounded_mode="timestamp", scan_bounded_timestamp__millis="2000") == [1, 2, 3, 4, 5]
    assert rows(scan_startup_mode="timestamp", scan_startup_timestamp__millis="1970-01-01T00:00:02Z") == [6]
    offsets = f"topic:{name}-eu,partition:0,offset:1;topic:{name}-us,partition:0,offset:2"
    assert rows(scan_startup_mode="specific-offsets", scan_startup_specific__offsets=offsets) == [2, 3, 6]
    assert rows(scan_bounded_mode="specific-offsets", scan_bounded_specific__offsets=offsets) == [1, 4, 5]


@pytest.mark.long
def test_new_topics_and_deleted_records_in_a_running_query(spark: Any, streaming: Any, topics: Topics) -> None:
    name, target = f"r{uuid.uuid4().hex}", topics.create()
    topics.create_named(f"{name}.a")
    pattern = {"topic-pattern": rf"{name}\..*", "scan.topic-partition-discovery.interval": "1 ms"}
    committed = {"properties.isolation.level": "read_committed"}
    options = topics.with_options("", **pattern, **committed).replace("'topic' = '', ", "")
    streaming(f"CREATE TABLE src (a INT) {options}")
    streaming(f"CREATE TABLE tgt (a INT) {topics.with_options(target)}")
    query = job(spark, streaming("INSERT INTO tgt SELECT a FROM src"))
    put(topics, f"{name}.a", 1)
    query.processAllAvailable()
    topics.create_named(f"{name}.b")
    transaction(topics, f"{name}.b", b'{"a": 2}', end="commit")
    transaction(topics, f"{name}.b", b'{"a": 666}', end="abort")
    put(topics, f"{name}.b", 3)
    while end_offset(topics, target) < 3:
        query.processAllAvailable()
    query.stop()
    put(topics, f"{name}.a", 4, 5, 6)
    delete_records(topics, f"{name}.a", 3)  # deletes 4 and 5
    query = job(spark, streaming("INSERT INTO tgt SELECT a FROM src"))
    with pytest.raises(StreamingQueryException, match=rf"{name}.a\[0\]@1: the earliest available.*2 offsets are lost"):
        query.processAllAvailable()
    streaming("ALTER TABLE src SET ('scan.fail-on-data-loss' = 'false')")
    query = job(spark, streaming("INSERT INTO tgt SELECT a FROM src"))
    query.processAllAvailable()
    query.stop()
    assert numbers(topics, target, 4) == [1, 2, 3, 6]


def end_offset(topics: Topics, topic: str) -> int:
    partition = TopicPartition(topic, 0)
    return topics.admin.list_offsets({partition: OffsetSpec.latest()})[partition].result(30).offset
