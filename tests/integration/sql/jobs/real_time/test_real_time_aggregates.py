"""Aggregates, deduplication and Top-N in real-time mode: each change of a group is written at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Message
from pyspark import __version__ as spark_version

from kafka_sql.errors import KafkaSqlError
from tests.topics import Topics
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(spark_version < "4.3", reason="real-time mode needs PySpark 4.3"),
]


@pytest.fixture
def one_partition(real_time: Any) -> Iterator[Any]:
    """Return ``sql`` in real-time mode; an aggregate has one task, so that the session has enough cores."""
    real_time("SET 'parallelism.default' = '1'")
    yield real_time
    real_time("RESET 'parallelism.default'")
    real_time("SET spark.sql.shuffle.partitions = 2")


def create_tables(sql: Any, topics: Topics) -> tuple[str, str]:
    """Create src, and the upsert table tgt; return their topics."""
    source, target = topics.create(), topics.create()
    sql(f"CREATE TABLE src (k STRING, v INT) {topics.with_options(source)}")
    sql(f"CREATE TABLE tgt (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) {topics.with_upsert_options(target)}")
    return source, target


def row(key: str, value: int) -> bytes:
    return json.dumps({"k": key, "v": value}).encode()


def changes(messages: list[Message]) -> list[tuple[str, int | None]]:
    """Return keys and numbers; None for tombstones."""
    return [
        (json.loads(m.key() or b"")["k"], None if m.value() is None else json.loads(m.value() or b"")["n"])
        for m in messages
    ]


@pytest.mark.long
def test_a_group_that_no_longer_passes_is_deleted(spark: Any, one_partition: Any, topics: Topics) -> None:
    source, target = create_tables(one_partition, topics)
    insert = "INSERT INTO tgt SELECT k, SUM(v) FROM src GROUP BY k HAVING SUM(v) < 10"
    query = spark.streams.get(one_partition(insert).collect()[0][0])
    topics.produce(source, row("a", 1), row("b", 2), row("a", 3), row("a", 9), row("a", -9))
    expected = [("a", 1), ("b", 2), ("a", 4), ("a", None), ("a", 4)]
    assert changes(topics.consume(target, 5)) == expected
    wait_until(lambda: sum(p.numInputRows for p in query.recentProgress) == 5, "the end of the batch with the records")
    query.stop()
    query = spark.streams.get(one_partition(insert).collect()[0][0])
    topics.produce(source, row("b", 5))
    assert changes(topics.consume(target, 6))[5:] == [("b", 7)]
    query.stop()


@pytest.mark.long
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM src) WHERE n = 1",
            [("a", 1), ("a", 5), ("b", 2), ("a", 5)],  # an unchanged row may be written again
        ),
        ("SELECT DISTINCT k, 0 FROM src", [("a", 0), ("b", 0)]),
    ],
)
def test_deduplication(
    spark: Any, one_partition: Any, topics: Topics, query: str, expected: list[tuple[str, int | None]]
) -> None:
    source, target = create_tables(one_partition, topics)
    started = spark.streams.get(one_partition(f"INSERT INTO tgt {query}").collect()[0][0])
    topics.produce(source, row("a", 1), row("a", 5), row("b", 2), row("a", 3), row("last", 0))
    assert changes(topics.consume(target, len(expected) + 1)) == [*expected, ("last", 0)]
    started.stop()


def test_top_n(spark: Any, one_partition: Any, topics: Topics) -> None:
    source, _ = create_tables(one_partition, topics)
    target = topics.create()
    columns = "k STRING, n BIGINT, v INT, PRIMARY KEY (k, n) NOT ENFORCED"
    one_partition(f"CREATE TABLE best ({columns}) {topics.with_upsert_options(target)}")
    query = """INSERT INTO best SELECT k, n, v
        FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM src) WHERE n <= 2"""
    started = spark.streams.get(one_partition(query).collect()[0][0])
    topics.produce(source, row("a", 1), row("a", 5), row("a", 3))
    messages = topics.consume(target, 5)
    started.stop()
    rows = [json.loads(m.value() or b"") for m in messages]
    assert [(r["n"], r["v"]) for r in rows] == [(1, 1), (1, 5), (2, 1), (1, 5), (2, 3)]


def test_an_aggregate_of_rows_joined_with_a_table(spark: Any, one_partition: Any, topics: Topics) -> None:
    source, target = create_tables(one_partition, topics)
    insert = """INSERT INTO tgt SELECT name, COUNT(*) FROM src JOIN VALUES ('a', 'one'), ('b', 'one') AS t(id, name)
        ON k = id GROUP BY name"""
    query = spark.streams.get(one_partition(insert).collect()[0][0])
    topics.produce(source, row("a", 1), row("c", 1), row("b", 1))
    assert changes(topics.consume(target, 2)) == [("one", 1), ("one", 2)]
    query.stop()


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT k, COUNT(DISTINCT v) FROM src GROUP BY k", "an aggregate function with DISTINCT"),
        ("SELECT 'x', COUNT(*) FROM src GROUP BY k", "whose old rows are kept"),
        ("SELECT k, COUNT(*) FROM (SELECT k, COUNT(*) FROM src GROUP BY k) GROUP BY k", "another aggregate"),
        ("SELECT k, COUNT(*) FROM src GROUP BY k, window(CURRENT_TIMESTAMP, '1 minute')", "over windows"),
        ("SELECT l.k, COUNT(*) FROM src AS l JOIN src AS r ON l.k = r.k GROUP BY l.k", "a join of two streams"),
        ("SELECT k, n FROM tgt", "is a changelog, which cannot be read"),
        ("SELECT k, v FROM src /* sink.buffer-flush */", "each change of a row is written at once"),
    ],
)
def test_what_is_not_supported_is_rejected(
    spark: Any, one_partition: Any, topics: Topics, query: str, expected: str
) -> None:
    create_tables(one_partition, topics)
    flush = "'sink.buffer-flush.max-rows' = '10', 'sink.buffer-flush.interval' = '1 s'"
    hint = f"/*+ OPTIONS({flush}) */" if "buffer-flush" in query else ""
    with pytest.raises(KafkaSqlError, match=expected):
        one_partition(f"INSERT INTO tgt {hint} {query}")
    assert spark.streams.active == []


def test_an_aggregate_needs_cores(spark: Any, real_time: Any, topics: Topics) -> None:
    create_tables(real_time, topics)
    expected = "each of the 2 partitions of an aggregate .* needs a core, and the session has 2"
    with pytest.raises(KafkaSqlError, match=expected):
        real_time("INSERT INTO tgt SELECT k, COUNT(*) FROM src GROUP BY k")
    assert spark.streams.active == []
