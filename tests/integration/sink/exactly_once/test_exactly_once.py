"""Exactly-once with Spark: what a reader of committed records sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.errors import CheckpointError, InvalidOptionError
from tests.topics import Topics

pytestmark = pytest.mark.integration
COMMITTED = {"isolation.level": "read_committed"}


def exactly_once(topics: Topics, topic: str, prefix: str, **overrides: str) -> str:
    delivery = {"sink.delivery-guarantee": "exactly-once", "sink.transactional-id-prefix": prefix}
    return topics.with_options(topic, **delivery, **overrides)


def committed(topics: Topics, topic: str, expected: int, partitions: int = 1) -> list[int]:
    return sorted(json.loads(m.value() or b"")["a"] for m in topics.consume(topic, expected, partitions, **COMMITTED))


@pytest.mark.parametrize("naming", ["INCREMENTING", "POOLING"])
def test_an_insert(sql: Any, topics: Topics, naming: str) -> None:
    topic = topics.create(2)
    options = exactly_once(topics, topic, f"insert-{naming}", **{"sink.transaction-naming-strategy": naming})
    sql(f"CREATE TABLE t (a INT) {options}")
    sql("INSERT INTO t VALUES (1), (2), (3)")
    sql("INSERT INTO t SELECT id FROM range(4, 1000)")
    assert committed(topics, topic, 999, 2) == list(range(1, 1000))


@pytest.mark.sample(1)
@pytest.mark.parametrize("naming", ["INCREMENTING", "POOLING"])
def test_a_stream_over_restarts(spark: Any, sql: Any, topics: Topics, tmp_path: Path, naming: str) -> None:
    source, target = topics.create(3), topics.create(2)
    sql(f"CREATE TABLE src (a INT) {topics.with_options(source)}")
    options = exactly_once(topics, target, f"stream-{naming}", **{"sink.transaction-naming-strategy": naming})
    sql(f"CREATE TABLE tgt (a INT) {options}")
    sql("SET 'execution.runtime-mode' = 'streaming'")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    for start in (0, 100):
        (row,) = sql("INSERT INTO tgt SELECT a FROM src").collect()
        query = spark.streams.get(row[0])
        for batch in range(2):
            for p in range(3):
                first = start + batch * 30 + p * 10
                topics.produce(source, *(b'{"a": %d}' % n for n in range(first, first + 10)), partition=p)
            query.processAllAvailable()
        query.stop()
    assert committed(topics, target, 120, 2) == [*range(60), *range(100, 160)]


@pytest.mark.long
def test_several_sinks_in_one_statement_set(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    source, *targets = topics.create(2), topics.create(2), topics.create()
    sql(f"CREATE TABLE src (a INT) {topics.with_options(source)}")
    for i, target in enumerate(targets):
        sql(f"CREATE TABLE tgt{i} (a INT) {exactly_once(topics, target, f'several-{i}')}")
    both = """EXECUTE STATEMENT SET BEGIN
        INSERT INTO tgt0 SELECT a FROM src WHERE a < 3; INSERT INTO tgt1 SELECT a + 10 FROM src; END"""
    topics.produce(source, b'{"a": 1}', b'{"a": 2}', b'{"a": 3}')
    sql(both)
    spark.table("src").selectExpr("a + 20").write.insertInto("tgt1")
    assert committed(topics, targets[0], 2, 2) == [1, 2]
    assert committed(topics, targets[1], 6) == [11, 12, 13, 21, 22, 23]
    sql("SET 'execution.runtime-mode' = 'streaming'")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    for _ in range(2):  # the second time from the checkpoints
        queries = [spark.streams.get(row[0]) for row in sql(both).collect()]
        for query in queries:
            query.processAllAvailable()
            query.stop()
    assert committed(topics, targets[0], 4, 2) == [1, 1, 2, 2]
    assert committed(topics, targets[1], 9) == [11, 11, 12, 12, 13, 13, 21, 22, 23]


def test_a_failed_insert_writes_nothing(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    sql(f"CREATE TABLE t (a INT NOT NULL, b DOUBLE) {exactly_once(topics, topic, 'failing')}")
    with pytest.raises(Exception, match=r"DIVIDE_BY_ZERO"):
        sql("INSERT INTO t SELECT id, 1 / (id - 900) FROM range(0, 1000, 1, 2)")
    assert topics.consume(topic, 0, **COMMITTED) == []
    sql("INSERT INTO t VALUES (1, 1)")
    assert committed(topics, topic, 1) == [1]


def test_foreach_batch_writes_each_batch_once_despite_replays(
    spark: Any, sql: Any, topics: Topics, tmp_path: Path
) -> None:
    source, target = topics.create(2), topics.create()
    sql(f"CREATE TABLE src (a INT) {topics.with_options(source)}")
    sql(f"CREATE TABLE tgt (a INT) {exactly_once(topics, target, 'foreach')}")
    topics.produce(source, b'{"a": 1}', b'{"a": 2}')

    def start(function: Any) -> Any:
        stream = spark.readStream.table("src").writeStream.foreachBatch(function)
        return stream.option("checkpointLocation", str(tmp_path)).start()

    def write_and_fail(frame: Any, _: int) -> None:
        frame.write.insertInto("tgt")
        raise ValueError("after the write")

    with pytest.raises(Exception, match="after the write"):
        start(write_and_fail).processAllAvailable()
    query = start(lambda frame, _: frame.repartition(3).write.insertInto("tgt"))
    query.processAllAvailable()
    topics.produce(source, b'{"a": 3}', partition=1)
    query.processAllAvailable()
    query.stop()
    assert committed(topics, target, 3) == [1, 2, 3]

    def write_twice(frame: Any, _: int) -> None:
        frame.write.insertInto("tgt")
        frame.write.insertInto("tgt")

    topics.produce(source, b'{"a": 4}')
    with pytest.raises(Exception, match=r"is written a second time in batch 2 of query .*Write a union of both"):
        start(write_twice).processAllAvailable()
    assert committed(topics, target, 4) == [1, 2, 3, 4]


@pytest.mark.long
def test_a_new_checkpoint_under_a_known_prefix(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    source, target = topics.create(), topics.create()
    sql(f"CREATE TABLE src (a INT) {topics.with_options(source)}")
    sql(f"CREATE TABLE tgt (a INT) {exactly_once(topics, target, f'known-{target}')}")
    topics.produce(source, b'{"a": 1}', b'{"a": 2}')

    def run(folder: str, hint: str = "") -> None:
        sql("SET 'execution.runtime-mode' = 'streaming'")
        sql(f"SET 'execution.checkpointing.dir' = '{tmp_path / folder}'")
        query = spark.streams.get(sql(f"INSERT INTO tgt {hint} SELECT a FROM src").collect()[0][0])
        query.processAllAvailable()
        query.stop()
        sql("SET 'execution.runtime-mode' = 'batch'")

    run("first")
    topics.produce(source, b'{"a": 3}')
    (tmp_path / "first").rename(tmp_path / "moved")
    run("moved")
    sql("INSERT INTO tgt VALUES (4)")
    message = f"the checkpoint is new, but topic '{target}' was already written .*'sink.allow-new-checkpoint' = 'true'"
    with pytest.raises(CheckpointError, match=message):
        run("new")
    sql("SET 'execution.runtime-mode' = 'batch'")
    writer = spark.readStream.table("src").writeStream.option("checkpointLocation", str(tmp_path / "dataframe"))
    with pytest.raises(CheckpointError, match=message):
        writer.format("kafka.tgt").start().processAllAvailable()
    assert committed(topics, target, 4) == [1, 2, 3, 4]
    run("new", "/*+ OPTIONS('sink.allow-new-checkpoint' = 'true') */")
    topics.produce(source, b'{"a": 5}')
    run("new")  # it has written rows now
    assert committed(topics, target, 8) == [1, 1, 2, 2, 3, 3, 4, 5]


def test_a_second_query_with_the_prefix_is_rejected(sql: Any, topics: Topics, tmp_path: Path) -> None:
    source, target = topics.create(), topics.create()
    sql(f"CREATE TABLE src (a INT) {topics.with_options(source)}")
    sql(f"CREATE TABLE tgt (a INT) {exactly_once(topics, target, 'shared')}")
    sql("SET 'execution.runtime-mode' = 'streaming'")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    with pytest.raises(InvalidOptionError, match=r"already writes with 'sink.transactional-id-prefix' = 'shared'"):
        sql("EXECUTE STATEMENT SET BEGIN INSERT INTO tgt SELECT a FROM src; INSERT INTO tgt SELECT a + 1 FROM src; END")


@pytest.mark.parametrize(
    ("options", "interval", "message"),
    [
        (
            {"properties.transaction.timeout.ms": "900001"},
            None,
            "'properties.transaction.timeout.ms' = '900001' exceeds the brokers' .* = '900000'",
        ),
        (
            {"properties.transaction.timeout.ms": "5000"},
            "10 s",
            "is less than 'execution.checkpointing.interval' = '10000 ms'",
        ),
        (
            {"properties.security.protocol": "SSL", "properties.ssl.curves.list": "X25519"},
            None,
            "'properties.ssl.curves.list' is not supported with 'sink.delivery-guarantee' = 'exactly-once'",
        ),
    ],
)
def test_invalid_settings_are_rejected_at_the_start(
    sql: Any, topics: Topics, tmp_path: Path, options: dict[str, str], interval: str | None, message: str
) -> None:
    source, target = topics.create(), topics.create()
    sql(f"CREATE TABLE src (a INT) {topics.with_options(source)}")
    sql(f"CREATE TABLE tgt (a INT) {exactly_once(topics, target, 'refused', **options)}")
    if interval is None:
        with pytest.raises(Exception, match=message):
            sql("INSERT INTO tgt VALUES (1)")
        return
    sql("SET 'execution.runtime-mode' = 'streaming'")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")
    sql(f"SET 'execution.checkpointing.interval' = '{interval}'")
    with pytest.raises(InvalidOptionError, match=message):
        sql("INSERT INTO tgt SELECT a FROM src")
