"""Columns of type TIME: Spark has the type if spark.sql.timeType.enabled is set."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_sql.errors import SchemaError
from tests.spark_versions import needs_common_time_types
from tests.topics import Topics

pytestmark = pytest.mark.integration

_ENABLED = "spark.sql.timeType.enabled"


@pytest.fixture
def time_sql(sql: Any, spark: SparkSession) -> Iterator[Any]:
    spark.conf.set(_ENABLED, "true")
    yield sql
    spark.conf.unset(_ENABLED)


@needs_common_time_types
def test_literals_and_functions_of_any_precision(time_sql: Any, topics: Topics) -> None:
    topic = topics.create()
    time_sql(f"CREATE TABLE t (a TIME, b TIME(3), c ROW<d TIME>) {topics.with_options(topic)}")
    time_sql(
        "INSERT INTO t SELECT TIME'12:00:00.9', TIME'12:00:00.123456', named_struct('d', TIME'01:02:03')"
        " UNION ALL SELECT CAST('13:00' AS TIME(0)), CAST('13:00:00.5' AS TIME(3)), NULL"
    )
    time_sql("INSERT INTO t (a) VALUES (current_time())")
    assert {m.value() for m in topics.consume(topic, 3)} > {
        b'{"a":"12:00:00","b":"12:00:00.123","c":{"d":"01:02:03"}}',
        b'{"a":"13:00:00","b":"13:00:00.5","c":null}',
    }
    assert time_sql("SELECT * FROM t WHERE b IS NOT NULL ORDER BY b").collect() == [
        (time(12), time(12, 0, 0, 123_000), (time(1, 2, 3),)),
        (time(13), time(13, 0, 0, 500_000), None),
    ]


def test_streams_and_data_frames(time_sql: Any, spark: SparkSession, topics: Topics, tmp_path: Path) -> None:
    source, target = topics.create(), topics.create()
    time_sql(f"CREATE TABLE src (a TIME(3)) {topics.with_options(source)}")
    time_sql(f"CREATE TABLE tgt (a TIME) {topics.with_options(target)}")
    time_sql("SELECT CAST('12:00:00.5' AS TIME(1)) AS a").write.format("kafka.src").mode("append").save()
    time_sql("SET 'execution.runtime-mode' = 'streaming'")
    time_sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    time_sql("INSERT INTO tgt SELECT a FROM src")
    (query,) = spark.streams.active
    query.processAllAvailable()
    assert [m.value() for m in topics.consume(target, 1)] == [b'{"a":"12:00:00"}']


def test_the_setting_is_named(sql: Any, topics: Topics) -> None:
    for columns in ("a INT, b TIME", "a INT, b ROW<c ARRAY<TIME(3)>>"):
        with pytest.raises(SchemaError, match=r"Column 'b': .* SET spark\.sql\.timeType\.enabled = true"):
            sql(f"CREATE TABLE t ({columns}) {topics.with_options('t')}")
