"""``format("kafka_sql")``: options and schema instead of DDL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.topics import Topics

pytestmark = pytest.mark.integration


def options(topics: Topics, topic: str) -> dict[str, str]:
    return {
        "topic": topic,
        "properties.bootstrap.servers": topics.bootstrap,
        "scan.startup.mode": "earliest-offset",
        "format": "json",
    }


def test_write_and_read(spark: Any, topics: Topics) -> None:
    topic = topics.create()
    frame = spark.sql("SELECT 1 AS a, 'x' AS b")
    frame.write.format("kafka_sql").options(**options(topics, topic)).mode("append").save()
    read = spark.read.format("kafka_sql").options(**options(topics, topic)).schema("a INT, b STRING")
    assert read.load().collect() == [(1, "x")]


def test_stream_to_stream(spark: Any, topics: Topics, tmp_path: Path) -> None:
    source, target = topics.create(), topics.create()
    topics.produce(source, b'{"a": 1}')
    frame = spark.readStream.format("kafka_sql").options(**options(topics, source)).schema("a INT").load()
    writer = frame.writeStream.format("kafka_sql").options(**options(topics, target))
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    query.processAllAvailable()
    query.stop()
    assert [m.value() for m in topics.consume(target, 1)] == [b'{"a":1}']


def test_a_missing_schema_is_an_error_with_an_example(spark: Any, topics: Topics) -> None:
    with pytest.raises(Exception, match=r"needs a schema\. Add, for example, \.schema"):
        spark.read.format("kafka_sql").options(**options(topics, "x")).load()


def test_unknown_option(spark: Any, topics: Topics) -> None:
    read = spark.read.format("kafka_sql").options(**options(topics, "x"), fromat="json").schema("a INT").load()
    with pytest.raises(Exception, match=r"'fromat'.*did you mean 'format'"):
        read.collect()
