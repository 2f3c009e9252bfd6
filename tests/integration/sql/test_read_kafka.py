"""The table function read_kafka(...) in batch queries, streams, INSERT, CTAS and views."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from kafka_sql.errors import (
    DecodeError,
    MissingOptionError,
    SchemaError,
    TopicNotFoundError,
    UnknownOptionError,
    UnsupportedSqlError,
)
from tests.topics import Topics

pytestmark = pytest.mark.integration

SECRET = "read-kafka-hunter2"


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def test_columns_of_databricks_without_a_format(spark: Any, sql: Any, topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b"\x00v", None, key=b"k", timestamp=1_577_836_800_123, headers=[("h", b"1"), ("h", None)])
    call = f"read_kafka(bootstrapServers => '{topics.bootstrap}', subscribe => '{topic}', includeHeaders => %s)"
    frame = sql("SELECT * FROM " + call % "false")
    assert frame.dtypes == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
    ]
    at = datetime(2020, 1, 1, 0, 0, 0, 123_000)
    assert rows(frame) == [(b"k", b"\x00v", topic, 0, 0, at, 0), (b"k", None, topic, 0, 1, at, 0)]
    assert rows(sql(f"SELECT r.headers, count(*) FROM {call % 'true'} AS r GROUP BY ALL")) == [
        ([("h", b"1"), ("h", None)], 2)
    ]
    assert rows(sql(f"SELECT l.offset FROM {call % 'false'} l JOIN {call % 'true'} r ON l.offset = r.offset + 1")) == [
        (1,)
    ]
    assert rows(sql(f"SELECT value FROM {call % 'false'} WHERE offset = :n", args={"n": 1})) == [(None,)]
    shown = [row.tableName for row in sql("SHOW TABLES").collect()]
    assert not any("read_kafka" in name for name in shown)


def test_a_format_in_batch_statements(spark: Any, sql: Any, topics: Topics) -> None:
    topic, target = topics.create(), topics.create()
    call = f"""read_kafka(`kafka.bootstrap.servers` => '{topics.bootstrap}', topic => '{topic}', format => 'json',
        `properties.ssl.key.password` => '{SECRET}')"""
    with pytest.raises(SchemaError, match=f"'{topic}' has no records"):
        sql(f"SELECT * FROM {call}")
    topics.produce(topic, b'{"id": 1}')
    first = sql(f"SELECT * FROM {call}")
    assert (first.columns, rows(first)) == (["id"], [(1,)])
    sql(f"CREATE TEMPORARY VIEW seen AS SELECT id FROM {call} WHERE id > 1")
    topics.produce(topic, b'{"id": 2, "name": "b"}')
    assert rows(sql(f"SELECT name, id FROM {call} ORDER BY id")) == [(None, 1), ("b", 2)]  # inferred again
    assert rows(spark.table("seen")) == [(2,)]
    sql(f"CREATE TABLE target (id BIGINT) {topics.with_options(target)}")
    sql(f"INSERT INTO target WITH t AS (SELECT id FROM {call}) SELECT id + 10 FROM t")
    assert rows(sql("SELECT * FROM target ORDER BY id")) == [(11,), (12,)]
    sql(f"CREATE TABLE files USING parquet AS SELECT * FROM {call}")
    assert rows(sql("SELECT * FROM files ORDER BY id")) == [(1, None), (2, "b")]
    plan = "\n".join(row[0] for row in sql(f"EXPLAIN EXTENDED SELECT * FROM {call}").collect())
    assert "read_kafka_" in plan
    assert SECRET not in plan
    assert rows(sql(f"SELECT * FROM {call[:-1]}, startingOffsets => 'latest')")) == []


@pytest.mark.long
def test_a_continuous_insert_resumes_under_another_name(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    source, target = topics.create(), topics.create()
    topics.produce(source, b'{"id": 1}')
    sql(f"CREATE TABLE target (id BIGINT) {topics.with_options(target)}")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    sql("SET 'pipeline.name' = 'copy'")
    call = f"STREAM read_kafka(bootstrapServers => '{topics.bootstrap}', subscribe => '{source}', format => 'json'"

    def run(arguments: str) -> None:
        (job,) = sql(f"INSERT INTO target SELECT id FROM {call}{arguments})").first()
        query = spark.streams.get(job)
        query.processAllAvailable()
        query.stop()

    run(", startingOffsets => 'earliest'")
    topics.produce(source, b'{"id": 2}')
    run(", maxOffsetsPerTrigger => 1")  # other arguments are another table
    assert rows(sql("SELECT * FROM target ORDER BY id")) == [(1,), (2,)]
    sql("SET 'execution.runtime-mode' = 'streaming'")
    frame = sql(f"SELECT value FROM {call.removeprefix('STREAM ').partition(', format')[0]})")
    assert frame.isStreaming
    assert rows(spark.range(1)) == [(0,)]


def test_errors(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, b'{"id": 1', b"{}")
    at = f"bootstrapServers => '{topics.bootstrap}'"
    secret = f"`kafka.ssl.key.password` => '{SECRET}'"
    errors = []
    for query, error, message in (
        (f"SELECT * FROM read_kafka({at})", MissingOptionError, "'topic'"),
        (f"SELECT * FROM read_kafka(subscribe => '{topic}')", MissingOptionError, "'properties.bootstrap.servers'"),
        (f"SELECT * FROM read_kafka({at}, subscribes => '{topic}')", UnknownOptionError, "'subscribes'"),
        (f"SELECT * FROM read_kafka({at}, subscribe => 'none')", TopicNotFoundError, "Topic 'none' does not exist"),
        (f"SELECT * FROM read_kafka({at}, subscribe => '{topic}', format => 'json')", DecodeError, rf"{topic}\[0\]@0"),
        (f"SELECT * FROM STREAM(read_kafka({at}, {secret}))", UnsupportedSqlError, "only supported in FROM and JOIN"),
        (f"SELECT * FROM read_kafka({at}, {secret} || 'x')", UnsupportedSqlError, "'kafka.ssl.key.password' must be"),
        (f"SELECT * FROM read_kafka({at}, {secret}, topic => 't') WHERE (", AnalysisException, "PARSE_SYNTAX_ERROR"),
        (f"SELECT x FROM read_kafka({at}, topic => '{topic}')", AnalysisException, "UNRESOLVED_COLUMN"),
        (
            f"CREATE VIEW v AS SELECT * FROM read_kafka({at}, topic => '{topic}')",
            UnsupportedSqlError,
            "CREATE VIEW v: read_kafka.* is only supported in a temporary view",
        ),
        (
            f"CREATE TEMPORARY FUNCTION f() RETURN SELECT count(*) FROM read_kafka({at}, topic => '{topic}')",
            UnsupportedSqlError,
            "CREATE FUNCTION: read_kafka.* is not supported in a function",
        ),
        (
            f"SELECT * FROM read_kafka({at}, topic => '{topic}', format => 'json', includeHeaders => true)",
            UnsupportedSqlError,
            "'includeHeaders' is not supported with a format",
        ),
    ):
        with pytest.raises(error, match=message) as caught:
            sql(query).collect()
        errors.append(str(caught.value))
    assert not any(SECRET in error for error in errors)
