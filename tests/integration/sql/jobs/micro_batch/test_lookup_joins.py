"""Lookup joins and static sides of streams: each micro-batch reads the joined tables as they are at that time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.jobs.registry import records_counted
from tests.lakehouse_targets import forget_last_commit
from tests.topics import Topics

pytestmark = pytest.mark.integration

Rows = list[tuple[Any, ...]]


class Pipeline:
    """Orders as a stream, and the table of their enriched rows."""

    def __init__(self, spark: Any, streaming: Any, topics: Topics) -> None:
        self.spark, self.sql, self.topics = spark, streaming, topics
        self.orders, self.result = topics.create(2), topics.create()
        self.sql(f"CREATE TABLE orders (id INT, uid INT, proctime AS PROCTIME()) {topics.with_options(self.orders)}")
        self.sql(f"CREATE TABLE enriched (id INT, name STRING) {topics.with_options(self.result)}")
        self.count = 0

    def start(self, query: str) -> Any:
        """Start an INSERT of a query into the result."""
        (row,) = self.sql(f"INSERT INTO enriched {query}").collect()
        self.query = self.spark.streams.get(row[0])
        return self.query

    def order(self, *uids: int) -> None:
        """Write an order of each user, and wait until the query has processed them."""
        for uid in uids:
            self.count += 1
            self.topics.produce(self.orders, json.dumps({"id": self.count, "uid": uid}).encode(), partition=uid % 2)
        self.query.processAllAvailable()

    def rows(self, expected: int | None = None) -> Rows:
        """Return the rows of the result, sorted; by default, one per order."""
        messages = self.topics.consume(self.result, self.count if expected is None else expected)
        return sorted(tuple(json.loads(m.value() or b"").values()) for m in messages)


@pytest.fixture
def pipeline(spark: Any, streaming: Any, topics: Topics) -> Pipeline:
    return Pipeline(spark, streaming, topics)


def upsert_table(pipeline: Pipeline, topic: str) -> Callable[..., None]:
    """Declare the table ``users`` over an upsert topic, and return a function that writes or deletes a row."""
    topics = pipeline.topics
    pipeline.sql(
        f"""CREATE TABLE users (uid INT, name STRING, PRIMARY KEY (uid) NOT ENFORCED) WITH (
        'connector' = 'upsert-kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{topics.bootstrap}',
        'key.format' = 'json', 'value.format' = 'json')"""
    )

    def put(uid: int, name: str | None) -> None:
        value = None if name is None else json.dumps({"uid": uid, "name": name}).encode()
        topics.produce(topic, value, key=json.dumps({"uid": uid}).encode(), partition=uid % 2)

    return put


LOOKUP = """SELECT /*+ LOOKUP('table' = 'users') */ o.id, u.name FROM orders AS o
    LEFT JOIN users FOR SYSTEM_TIME AS OF o.proctime AS u ON o.uid = u.uid"""


def test_a_lookup_join_reads_the_current_rows_of_an_upsert_table(pipeline: Pipeline) -> None:
    put = upsert_table(pipeline, pipeline.topics.create(2))
    put(1, "old")
    put(2, "two")
    pipeline.start(LOOKUP)
    pipeline.order(1, 2, 3)
    put(1, "new")
    put(3, "three")
    pipeline.order(1, 2, 3)
    put(2, None)
    pipeline.order(1, 2, 3)
    pipeline.query.stop()
    pipeline.start(LOOKUP)  # the checkpoint continues
    put(2, "again")
    pipeline.order(2)
    pipeline.query.stop()
    assert pipeline.rows() == [
        (1, "old"), (2, "two"), (3, None),
        (4, "new"), (5, "two"), (6, "three"),
        (7, "new"), (8, None), (9, "three"),
        (10, "again"),
    ]  # fmt: skip


@pytest.mark.parametrize("sink", ["enriched", "names"])
def test_a_lookup_join_of_a_table_of_spark_is_a_batch(pipeline: Pipeline, sink: str) -> None:
    put = upsert_table(pipeline, pipeline.topics.create(2))
    put(1, "one")
    pipeline.sql("CREATE TABLE ids (uid INT) USING parquet")
    pipeline.sql("CREATE TABLE names (id INT, name STRING) USING parquet")
    try:
        pipeline.sql("INSERT INTO ids VALUES (1), (2)")
        times = "(SELECT uid AS id, uid, PROCTIME() AS proctime FROM ids) AS o"
        assert pipeline.sql(f"INSERT INTO {sink} {LOOKUP.replace('orders AS o', times)}").collect() == []
        rows = pipeline.rows(2) if sink == "enriched" else sorted(map(tuple, pipeline.sql("TABLE names").collect()))
        assert rows == [(1, "one"), (2, None)]
    finally:
        pipeline.sql("DROP TABLE ids")
        pipeline.sql("DROP TABLE names")


@pytest.mark.long
def test_a_repeated_micro_batch_joins_the_rows_of_its_time(pipeline: Pipeline, tmp_path: Path) -> None:
    put = upsert_table(pipeline, pipeline.topics.create(2))
    put(1, "old")
    pipeline.start(LOOKUP)
    pipeline.order(1)
    pipeline.query.stop()
    forget_last_commit(tmp_path / "insert-into_default.enriched")
    put(1, "new")
    pipeline.start(LOOKUP)
    pipeline.order(1)
    pipeline.query.stop()
    assert pipeline.rows(3) == [(1, "new"), (1, "old"), (2, "new")]


@pytest.mark.long
def test_a_lookup_join_reads_a_changelog_and_tables_of_spark(pipeline: Pipeline) -> None:
    topics, topic = pipeline.topics, pipeline.topics.create()
    pipeline.sql(f"CREATE TABLE users (uid INT, name STRING) {topics.with_options(topic, format='debezium-json')}")
    pipeline.sql("CREATE TABLE cities (uid INT, city STRING) USING parquet")
    pipeline.sql("CREATE TABLE parted (uid INT, p INT) USING parquet PARTITIONED BY (p)")

    def change(op: str, before: str | None, after: str | None) -> None:
        rows = [None if name is None else {"uid": 1, "name": name} for name in (before, after)]
        topics.produce(topic, json.dumps({"before": rows[0], "after": rows[1], "op": op}).encode())

    change("c", None, "old")
    try:
        pipeline.start(
            """SELECT o.id, concat_ws(' ', u.name, c.city, p.p) FROM orders AS o
            LEFT JOIN users FOR SYSTEM_TIME AS OF o.proctime AS u ON o.uid = u.uid
            LEFT JOIN cities FOR SYSTEM_TIME AS OF o.proctime AS c ON o.uid = c.uid
            LEFT JOIN parted FOR SYSTEM_TIME AS OF o.proctime AS p ON o.uid = p.uid"""
        )
        pipeline.order(1)
        pipeline.spark.sql("INSERT INTO cities VALUES (1, 'Rome')")
        pipeline.spark.sql("INSERT INTO parted VALUES (1, 7)")
        change("u", "old", "new")
        pipeline.order(1)
        pipeline.spark.sql("INSERT OVERWRITE cities VALUES (1, 'Oslo')")
        pipeline.spark.sql("INSERT OVERWRITE parted VALUES (1, 8)")
        change("d", "new", None)
        pipeline.order(1)
    finally:
        pipeline.query.stop()
        pipeline.spark.sql("DROP TABLE cities")
        pipeline.spark.sql("DROP TABLE parted")
    assert pipeline.rows() == [(1, "old"), (2, "new Rome 7"), (3, "Oslo 8")]


def test_static_sides_are_refreshed(pipeline: Pipeline) -> None:
    put = upsert_table(pipeline, pipeline.topics.create(2))
    pipeline.sql("SET 'execution.runtime-mode' = 'batch'")
    tags = pipeline.topics.create()
    pipeline.sql(f"CREATE TABLE tags (uid INT, tag STRING) {pipeline.topics.with_options(tags)}")
    put(1, "old")
    # also below an aggregate, and in a subquery
    pipeline.start(
        """SELECT o.id, u.name || ' ' || t.n FROM STREAM orders AS o JOIN users AS u ON o.uid = u.uid
        JOIN (SELECT uid, count(*) AS n FROM tags GROUP BY uid) AS t ON o.uid = t.uid
        WHERE o.uid IN (SELECT uid FROM users)"""
    )
    pipeline.topics.produce(tags, b'{"uid": 1, "tag": "a"}')
    pipeline.order(1)
    put(1, "new")
    pipeline.topics.produce(tags, b'{"uid": 1, "tag": "b"}', b'{"uid": 2, "tag": "b"}')
    pipeline.order(1)
    put(2, "two")
    pipeline.order(1, 2)
    pipeline.query.stop()
    assert pipeline.rows() == [(1, "old 1"), (2, "new 2"), (3, "new 2"), (4, "two 1")]


@pytest.mark.long
def test_dataframes(pipeline: Pipeline, tmp_path: Any) -> None:
    put = upsert_table(pipeline, pipeline.topics.create(2))
    put(1, "old")
    users = pipeline.spark.table("users")
    joined = pipeline.spark.readStream.table("orders").join(users, "uid").select("id", "name")
    counts: list[int] = []

    def write(rows: Any, batch: int) -> None:
        snapshot = pipeline.spark.table("users")
        counts.append(snapshot.count())
        put(10 + batch, "later")
        counts.append(snapshot.count())
        rows.write.mode("append").saveAsTable("joined")

    pipeline.query = joined.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "c")).start()
    try:
        pipeline.order(1)
        put(1, "new")
        pipeline.order(1)
        rows = pipeline.spark.table("joined").collect()
    finally:
        pipeline.query.stop()
        pipeline.spark.sql("DROP TABLE IF EXISTS joined")
    assert sorted(map(tuple, rows)) == [(1, "old"), (2, "new")]
    assert counts == [1, 1, 2, 2]


@pytest.mark.long
def test_a_window_over_a_lookup_join(pipeline: Pipeline) -> None:
    put = upsert_table(pipeline, pipeline.topics.create(2))
    put(1, "a")
    result = pipeline.topics.create()
    pipeline.sql(
        f"""CREATE TABLE counts (name STRING, n BIGINT, PRIMARY KEY (name) NOT ENFORCED) WITH (
        'connector' = 'upsert-kafka', 'topic' = '{result}', 'key.format' = 'json', 'value.format' = 'json',
        'properties.bootstrap.servers' = '{pipeline.topics.bootstrap}')"""
    )
    (row,) = pipeline.sql(f"INSERT INTO counts SELECT name, count(*) FROM ({LOOKUP}) GROUP BY name").collect()
    pipeline.query = pipeline.spark.streams.get(row[0])
    pipeline.order(1, 1)
    put(1, "b")
    pipeline.order(1)
    pipeline.query.stop()
    assert sorted(map(tuple, pipeline.spark.table("counts").collect())) == [("a", 2), ("b", 1)]


def test_a_lookup_join_in_a_batch(pipeline: Pipeline) -> None:
    put = upsert_table(pipeline, pipeline.topics.create(2))
    put(1, "one")
    put(2, "two")
    put(2, None)
    for uid in (1, 2):
        pipeline.topics.produce(pipeline.orders, json.dumps({"id": uid, "uid": uid}).encode())
    pipeline.sql("SET 'execution.runtime-mode' = 'batch'")
    assert sorted(map(tuple, pipeline.sql(LOOKUP).collect())) == [(1, "one"), (2, None)]
    pipeline.sql("CREATE OR REPLACE TEMPORARY VIEW timed AS SELECT id, uid, PROCTIME() AS pt FROM orders")
    from_view = LOOKUP.replace("orders AS o", "timed AS o").replace("o.proctime", "o.pt")
    assert sorted(map(tuple, pipeline.sql(from_view).collect())) == [(1, "one"), (2, None)]
    with pytest.raises(UnsupportedSqlError, match="CREATE VIEW: the join with 'users'"):
        pipeline.sql(f"CREATE TEMPORARY VIEW joined AS {LOOKUP}")
    pipeline.sql("DROP VIEW timed")
    with_proctime = LOOKUP.replace("orders AS o", "(SELECT id, uid, PROCTIME() AS pt FROM orders) AS o")
    rows = pipeline.sql(with_proctime.replace("o.proctime", "o.pt")).collect()
    assert sorted(map(tuple, rows)) == [(1, "one"), (2, None)]


def test_other_joins_are_rejected(pipeline: Pipeline) -> None:
    upsert_table(pipeline, pipeline.topics.create())
    with pytest.raises(UnsupportedSqlError, match="RIGHT JOIN"):
        pipeline.start(LOOKUP.replace("LEFT", "RIGHT"))
    count = "(SELECT uid, count(*) AS n, max(id) AS id, max(proctime) AS proctime FROM orders GROUP BY uid) AS o"
    pipeline.sql(
        f"""CREATE TABLE latest (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
        'connector' = 'upsert-kafka', 'topic' = '{pipeline.result}', 'key.format' = 'json', 'value.format' = 'json',
        'properties.bootstrap.servers' = '{pipeline.topics.bootstrap}')"""
    )
    query = LOOKUP.replace("orders AS o", count).replace("o.id", "o.uid").replace("LEFT", "INNER")
    with pytest.raises(UnsupportedSqlError, match="a join of a streaming aggregate with a table that may change"):
        pipeline.sql(f"INSERT INTO latest {query}")


@pytest.mark.long
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("hint", ["", "/*+ SHUFFLE_HASH(o) */"])
def test_a_large_dimension_is_read_once(pipeline: Pipeline, hint: str) -> None:
    """A dimension of 1,000,000 rows is kept current by its changes. KAFKA_SQL_TEST_ROWS sets another number of rows."""
    count, batches = int(os.environ.get("KAFKA_SQL_TEST_ROWS", "1000000")), 10
    topic = pipeline.topics.create(2)
    put = upsert_table(pipeline, topic)
    producer = Producer(
        {"bootstrap.servers": pipeline.topics.bootstrap, "linger.ms": 50, "queue.buffering.max.messages": 2_000_000}
    )
    for uid in range(count):
        producer.produce(topic, b'{"uid": %d, "name": "n%d"}' % (uid, uid), key=b'{"uid": %d}' % uid, partition=uid % 2)
        if uid % 10_000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0
    pipeline.sql("SET 'execution.checkpointing.interval' = '1 s'")
    query = pipeline.start(LOOKUP.replace("/*+ LOOKUP('table' = 'users') */", hint))
    pipeline.order(0)
    read = []
    for n in range(1, batches):
        before = records_counted(pipeline.spark, query.id)
        put(n, f"new{n}")
        pipeline.order(n, count - n)
        read.append(records_counted(pipeline.spark, query.id) - before)
    query.stop()
    pipeline.sql("RESET 'execution.checkpointing.interval'")
    seconds = [p.durationMs["triggerExecution"] / 1000 for p in query.recentProgress if p.numInputRows]
    later = sorted(seconds[1:])
    print(f"{count:,} rows, {hint or 'no hint'}: first micro-batch {seconds[0]:.2f} s, later ones {later[0]:.2f} to "
          f"{later[-1]:.2f} s, median {later[len(later) // 2]:.2f} s; records read in later ones: {read}")  # fmt: skip
    names = dict(pipeline.rows())
    assert names == {1: "n0"} | {2 * n: f"new{n}" for n in range(1, batches)} | {
        2 * n + 1: f"n{count - n}" for n in range(1, batches)
    }
