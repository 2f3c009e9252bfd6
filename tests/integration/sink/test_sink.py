"""INSERT: partitioning, parallelism and upsert tables."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

from kafka_sql.errors import (
    EncodeError,
    InvalidOptionError,
    RecordRejectedError,
    RecordTooLargeError,
    TopicNotFoundError,
    UnsupportedSqlError,
)
from tests.topics import Topics

pytestmark = pytest.mark.integration

Sql = Callable[..., Any]


def upsert(topics: Topics, topic: str, **overrides: str) -> str:
    """Return the WITH clause of an upsert table with JSON."""
    options = {
        "connector": "upsert-kafka",
        "topic": topic,
        "properties.bootstrap.servers": topics.bootstrap,
        "key.format": "json",
        "value.format": "json",
    }
    return "WITH (" + ", ".join(f"'{k}' = '{v}'" for k, v in {**options, **overrides}.items()) + ")"


def values_by_partition(topics: Topics, topic: str, count: int, partitions: int) -> dict[int, list[int]]:
    """Return the values of field ``a`` by partition."""
    values: dict[int, list[int]] = {}
    for message in topics.consume(topic, count, partitions):
        values.setdefault(message.partition() or 0, []).append(json.loads(message.value() or b"")["a"])
    return values


@pytest.mark.long
def test_fixed_writes_one_partition_per_task(sql: Sql, topics: Topics) -> None:
    topic = topics.create(2)
    overrides = {"sink.partitioner": "fixed", "sink.parallelism": "3"}
    sql(f"CREATE TABLE t (a BIGINT) {topics.with_options(topic, **overrides)}")
    sql("INSERT INTO t SELECT id FROM range(300)")
    written = values_by_partition(topics, topic, 300, 2)
    assert {p: len(values) for p, values in written.items()} == {0: 200, 1: 100}  # tasks 0 and 2; task 1


def test_a_user_defined_partitioner(sql: Sql, spark: Any, topics: Topics, tmp_path: Path) -> None:
    module = tmp_path / "user_partitioner.py"
    module.write_text(
        "import pyarrow.compute as pc\n"
        "class ByCountry:\n"
        "    def open(self, task): assert task == 0\n"
        "    def partition(self, rows, keys, values, topic, partitions):\n"
        "        assert keys is None and len(values) == rows.num_rows and topic.startswith('topic-')\n"
        "        return pc.if_else(pc.fill_null(pc.equal(rows['country'], 'DE'), False), partitions - 1, 0)\n"
    )
    spark.addArtifact(str(module), pyfile=True)
    topic = topics.create(4)
    overrides = {"sink.partitioner": "user_partitioner:ByCountry"}
    sql(f"CREATE TABLE t (a INT, country STRING) {topics.with_options(topic, **overrides)}")
    sql("INSERT INTO t SELECT * FROM VALUES (1, 'DE'), (2, 'FR'), (3, NULL), (4, 'DE') ORDER BY 1")
    assert values_by_partition(topics, topic, 4, 4) == {0: [2, 3], 3: [1, 4]}


def test_a_missing_partitioner_fails_before_writing(sql: Sql, topics: Topics) -> None:
    overrides = {"sink.partitioner": "missing_module:Partitioner"}
    topic = topics.create()
    sql(f"CREATE TABLE t (a INT) {topics.with_options(topic, **overrides)}")
    with pytest.raises(InvalidOptionError, match="must be importable on the driver and on every executor"):
        sql("INSERT INTO t VALUES (1)")
    topics.consume(topic, 0)


def test_parallelism_keeps_the_rows_of_a_key_together(sql: Sql, topics: Topics) -> None:
    """INSERT by position, by name and with a column list. 'fixed' shows the tasks as partitions."""
    topic = topics.create(4)
    overrides = {"sink.partitioner": "fixed", "sink.parallelism": "4", "key.format": "json", "key.fields": "k"}
    sql(f"CREATE TABLE t (a BIGINT, k BIGINT) {topics.with_options(topic, **overrides)}")
    sql("INSERT INTO t SELECT id AS x, id % 7 FROM range(70)")
    sql("INSERT INTO t BY NAME SELECT id % 7 AS k, id + 70 AS a FROM range(70)")
    sql("INSERT INTO t (k, a) WITH n AS (SELECT * FROM range(70)) SELECT id % 7, id + 140 FROM n -- the end")
    written = values_by_partition(topics, topic, 210, 4)
    assert sorted(chain.from_iterable(written.values())) == list(range(210))
    keys = [{a % 70 % 7 for a in values} for values in written.values()]
    assert len(keys) > 1
    assert sum(map(len, keys)) == 7


def test_more_tasks_than_sink_parallelism(sql: Sql, spark: Any, topics: Topics) -> None:
    sql(f"CREATE TABLE t (a BIGINT) {topics.with_options(topics.create(), **{'sink.parallelism': '1'})}")
    with pytest.raises(PySparkException, match=r"more write tasks .* df.repartition\(1\)"):
        spark.range(10, numPartitions=2).toDF("a").writeTo("t").append()
    spark.range(10, numPartitions=2).toDF("a").repartition(1).writeTo("t").append()
    assert sql("SELECT count(*) FROM t").collect()[0][0] >= 10


def test_deletes_are_tombstones(sql: Sql, topics: Topics) -> None:
    topic = topics.create()
    columns = "id INT, name STRING NOT NULL, kind STRING METADATA FROM 'row-kind', PRIMARY KEY (id) NOT ENFORCED"
    sql(f"CREATE TABLE t ({columns}) {upsert(topics, topic, **{'sink.parallelism': '1'})}")
    sql("INSERT INTO t VALUES (1, 'a', '+I'), (2, 'b', NULL)")
    sql("INSERT INTO t (id, name) VALUES (3, 'c')")
    sql("INSERT INTO t VALUES (1, '', '-D')")
    records = [(m.key(), m.value()) for m in topics.consume(topic, 4)]
    assert sorted(records[:2]) == [(b'{"id":1}', b'{"id":1,"name":"a"}'), (b'{"id":2}', b'{"id":2,"name":"b"}')]
    assert records[2:] == [(b'{"id":3}', b'{"id":3,"name":"c"}'), (b'{"id":1}', None)]
    changes = sorted(map(tuple, sql("SELECT id, kind, name FROM t").collect()))
    assert changes == [(1, "+U", "a"), (1, "-D", None), (2, "+U", "b"), (3, "+U", "c")]
    with pytest.raises(EncodeError, match="Invalid row kind 'delete'"):
        sql("INSERT INTO t VALUES (2, '', 'delete')")


def test_only_the_last_row_per_key_in_a_flush(sql: Sql, topics: Topics) -> None:
    topic = topics.create()
    flush = {"sink.buffer-flush.max-rows": "1000", "sink.buffer-flush.interval": "1 h", "sink.parallelism": "1"}
    sql(f"CREATE TABLE t (k BIGINT, v BIGINT, PRIMARY KEY (k) NOT ENFORCED) {upsert(topics, topic, **flush)}")
    sql("INSERT INTO t SELECT /*+ COALESCE(1) */ id % 10, id FROM range(0, 500, 1, 1)")
    records = {(m.key(), m.value()) for m in topics.consume(topic, 10)}
    assert records == {(b'{"k":%d}' % k, b'{"k":%d,"v":%d}' % (k, 490 + k)) for k in range(10)}


def test_a_streaming_aggregate_writes_changed_rows(sql: Sql, spark: Any, topics: Topics, tmp_path: Path) -> None:
    source, target = topics.create(), topics.create(2)
    sql("SET 'execution.runtime-mode' = 'streaming'")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    sql(f"CREATE TABLE src (word STRING) {topics.with_options(source)}")
    delivery = {"sink.delivery-guarantee": "exactly-once", "sink.transactional-id-prefix": "words"}
    options = upsert(topics, target, **delivery)
    sql(f"CREATE TABLE t (word STRING, n BIGINT, PRIMARY KEY (word) NOT ENFORCED) {options}")
    insert = "INSERT INTO t SELECT word, count(*) FROM src GROUP BY word"
    topics.produce(source, b'{"word": "a"}', b'{"word": "b"}', b'{"word": "a"}')
    query = spark.streams.get(sql(insert).collect()[0][0])
    query.processAllAvailable()
    topics.produce(source, b'{"word": "b"}')
    query.processAllAvailable()
    query.stop()
    topics.produce(source, b'{"word": "a"}', b'{"word": "c"}')
    query = spark.streams.get(sql(insert).collect()[0][0])  # from the checkpoint
    query.processAllAvailable()
    query.stop()
    written: dict[str, list[int]] = {}
    for message in topics.consume(target, 5, 2, **{"isolation.level": "read_committed"}):
        row = json.loads(message.value() or b"")
        assert json.loads(message.key() or b"") == {"word": row["word"]}
        written.setdefault(row["word"], []).append(row["n"])
    assert written == {"a": [2, 3], "b": [1, 2], "c": [1]}  # unchanged rows are not written again
    sql("SET 'execution.runtime-mode' = 'batch'")
    assert sorted(map(tuple, sql("SELECT * FROM t").collect())) == [("a", 3), ("b", 2), ("c", 1)]


def test_an_aggregate_into_an_append_only_table_is_rejected(sql: Sql, topics: Topics, tmp_path: Path) -> None:
    sql("SET 'execution.runtime-mode' = 'streaming'")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    sql(f"CREATE TABLE src (word STRING) {topics.with_options(topics.create())}")
    sql(f"CREATE TABLE t (word STRING, n BIGINT) {topics.with_options(topics.create())}")
    with pytest.raises(UnsupportedSqlError, match="doesn't support consuming update changes"):
        sql("INSERT INTO t SELECT word, count(*) FROM src GROUP BY word")


def test_a_record_that_is_too_large(sql: Sql, topics: Topics) -> None:
    overrides = {"properties.max.request.size": "10000"}
    sql(f"CREATE TABLE t (a STRING) {topics.with_options(topics.create(), **overrides)}")
    with pytest.raises(RecordTooLargeError, match=r"Table 'default.t': topic .*'properties.max.request.size'"):
        sql("INSERT INTO t VALUES (repeat('x', 20000))")
    topic = topics.create(max_message_bytes="5000")
    sql(f"CREATE TABLE u (a STRING) {topics.with_options(topic)}")
    with pytest.raises(RecordTooLargeError, match=rf"Table 'default.u': {topic}\[0\].*'max.message.bytes'"):
        sql("INSERT INTO u VALUES (repeat('x', 20000))")


def test_a_compacted_topic_rejects_records_without_a_key(sql: Sql, topics: Topics) -> None:
    sql(f"CREATE TABLE t (a INT) {topics.with_options(topics.create(cleanup_policy='compact'))}")
    with pytest.raises(RecordRejectedError, match=r"'cleanup.policy' = 'compact'.*'key.fields'"):
        sql("INSERT INTO t VALUES (1)")


@pytest.mark.long
def test_topic_pattern(sql: Sql, topics: Topics) -> None:
    """Each row has its topic, which must match the pattern completely and exist."""
    first, second = topics.create(), topics.create()
    options = topics.with_options("x", **{"topic-pattern": "topic-[0-9]+"}).replace("'topic' = 'x', ", "")
    sql(f"CREATE TABLE t (a INT, destination STRING METADATA FROM 'topic') {options}")
    sql(f"INSERT INTO t VALUES (1, '{first}'), (2, '{second}'), (3, '{first}')")
    assert sorted(m.value() or b"" for m in topics.consume(first, 2)) == [b'{"a":1}', b'{"a":3}']
    assert [m.value() for m in topics.consume(second, 1)] == [b'{"a":2}']
    expected = re.escape("Expected topic to match: topic-[0-9]+ but was: xtopic-1.")
    with pytest.raises(EncodeError, match=expected):
        sql("INSERT INTO t VALUES (1, 'xtopic-1')")
    with pytest.raises(TopicNotFoundError, match=r"'topic-99999'.*'sink.topic.create'"):
        sql("INSERT INTO t VALUES (1, 'topic-99999')")
    assert "topic-99999" not in topics.admin.list_topics(timeout=30).topics
