"""Test reads with Spark: number of tasks, micro-batch limits, checkpoints, offset commits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition

from tests.spark_versions import needs_limits
from tests.topics import Topics

pytestmark = pytest.mark.integration


def create_topic(topics: Topics, *counts: int) -> str:
    """Create a topic with one partition per count, which is its number of records."""
    topic = topics.create(len(counts))
    for partition, count in enumerate(counts):
        topics.produce(topic, *(b'{"a": %d}' % (1000 * partition + i) for i in range(count)), partition=partition)
    return topic


def declare_table(sql: Any, topics: Topics, topic: str, **options: str) -> None:
    sql(
        f"""CREATE TABLE t (a INT, `partition` INT METADATA VIRTUAL, `offset` BIGINT METADATA VIRTUAL)
        {topics.with_options(topic, **options)}"""
    )


def committed_offsets(topics: Topics, group: str, topic: str, partitions: int) -> dict[int, int]:
    request = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, p) for p in range(partitions)])
    response = topics.admin.list_consumer_group_offsets([request])[group].result()
    return {tp.partition: tp.offset for tp in response.topic_partitions if tp.offset >= 0}


def source_progress(query: Any) -> list[dict[str, Any]]:
    """Return the source's progress in each batch with rows; its offsets are parsed."""
    batches = [json.loads(p.json)["sources"][0] for p in query.recentProgress if p.numInputRows]
    return [
        {k: json.loads(v) if isinstance(v, str) and v.startswith("{") else v for k, v in batch.items()}
        for batch in batches
    ]


def read_available(spark: Any, folder: Path) -> Any:
    """Copy the available records of the table to ``folder``, as a query with a checkpoint; return the query."""
    query = (
        spark.readStream.table("t")
        .writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query


def copied_offsets(spark: Any, folder: Path) -> list[tuple[int, int]]:
    """Return partition and offset of the records that ``read_available`` has copied."""
    return sorted((r.partition, r.offset) for r in spark.read.parquet(str(folder / "out")).collect())


@pytest.mark.sample(1)
@pytest.mark.parametrize(("parallelism", "tasks"), [(None, 3), (2, 2), (5, 5)])
def test_number_of_tasks(spark: Any, sql: Any, topics: Topics, parallelism: int | None, tasks: int) -> None:
    topic = create_topic(topics, 10, 2, 4)
    declare_table(sql, topics, topic, **({} if parallelism is None else {"scan.parallelism": str(parallelism)}))
    frame = sql("SELECT * FROM t")
    assert frame.rdd.getNumPartitions() == tasks
    rows = sorted((r.partition, r.offset, r.a) for r in frame.collect())
    assert rows == [(p, i, 1000 * p + i) for p, n in enumerate((10, 2, 4)) for i in range(n)]


@needs_limits
def test_available_now_within_limits(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    topic = create_topic(topics, 60, 20)
    group = f"group-{topic}"
    declare_table(sql, topics, topic, **{"scan.max-offsets-per-trigger": "40", "properties.group.id": group})
    query = read_available(spark, tmp_path)
    progress = source_progress(query)
    assert [s["numInputRows"] for s in progress] == [40, 40]
    ids = progress[0]["endOffset"]["ids"]
    assert list(ids) == [topic]
    assert progress[0]["endOffset"] == {
        "version": 1,
        "ids": ids,
        "offsets": {topic: {"0": 30, "1": 10}},
        "starts": {topic: {"0": 0, "1": 0}},
    }
    assert progress[1]["endOffset"] == {"version": 1, "offsets": {topic: {"0": 60, "1": 20}}, "ids": ids}
    assert progress[1]["latestOffset"]["offsets"] == {topic: {"0": 60, "1": 20}}
    assert progress[1]["latestOffset"]["commitsFailed"] == 0
    assert committed_offsets(topics, group, topic, 2) == {0: 60, 1: 20}
    topics.produce(topic, b'{"a": 60}')
    read_available(spark, tmp_path)
    assert copied_offsets(spark, tmp_path) == [(p, i) for p, n in enumerate((61, 20)) for i in range(n)]
    assert committed_offsets(topics, group, topic, 2) == {0: 61, 1: 20}


@needs_limits
def test_streams_wait_for_min_offsets(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    topic = create_topic(topics, 1)
    declare_table(sql, topics, topic, **{"scan.min-offsets-per-trigger": "3", "scan.max-trigger-delay": "1 h"})
    query = (
        spark.readStream.table("t").writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
    )
    query.processAllAvailable()
    topics.produce(topic, b'{"a": 1}', b'{"a": 2}')
    query.processAllAvailable()  # two offsets are too few
    assert [s["numInputRows"] for s in source_progress(query)] == [1]
    topics.produce(topic, b'{"a": 3}')
    query.processAllAvailable()
    query.stop()
    assert [s["numInputRows"] for s in source_progress(query)] == [1, 3]


@pytest.mark.long
@needs_limits
def test_max_bytes_per_trigger(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    topic = topics.create(1)
    topics.produce(topic, *(b'{"a": %d, "b": "%s"}' % (i, b"x" * 1000) for i in range(100)))
    declare_table(sql, topics, topic, **{"scan.max-bytes-per-trigger": "26 kb"})
    query = read_available(spark, tmp_path)
    assert [s["numInputRows"] for s in source_progress(query)] == [26, 26, 26, 22]


@pytest.mark.long
def test_a_repeated_first_batch_starts_at_the_same_offsets(
    spark: Any, sql: Any, topics: Topics, tmp_path: Path
) -> None:
    topic = create_topic(topics, 3)
    declare_table(sql, topics, topic, **{"scan.startup.mode": "latest-offset"})
    writer = spark.readStream.table("t").writeStream.format("noop")
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.processAllAvailable()
    topics.produce(topic, b'{"a": 3}', b'{"a": 4}')
    query.processAllAvailable()
    query.stop()
    # make the checkpoint that of a query that crashed in its first batch, which had both records
    for name in ("offsets/1", "offsets/.1.crc", "commits/0", "commits/.0.crc", "commits/1", "commits/.1.crc"):
        (tmp_path / "checkpoint" / name).unlink()
    log = tmp_path / "checkpoint" / "offsets" / "0"
    text = log.read_text().replace(
        json.dumps({"offsets": {topic: {"0": 3}}})[1:-1], json.dumps({"offsets": {topic: {"0": 5}}})[1:-1]
    )
    assert f'"starts": {{"{topic}": {{"0": 3}}}}' in text
    log.write_text(text)
    log.with_name(".0.crc").unlink()
    topics.produce(topic, b'{"a": 5}')
    read_available(spark, tmp_path)
    assert copied_offsets(spark, tmp_path) == [(0, 3), (0, 4), (0, 5)]


def test_checkpoints_of_other_queries_are_rejected(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    declare_table(sql, topics, create_topic(topics, 1))
    writer = spark.readStream.format("rate").load().writeStream.format("noop")
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    while not query.recentProgress:
        query.processAllAvailable()
    query.stop()
    with pytest.raises(Exception, match=r"CHECKPOINT.*is not an offset of a Kafka table"):
        read_available(spark, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("prefix", ["", "properties."])
def test_offset_commits_can_be_disabled(spark: Any, sql: Any, topics: Topics, tmp_path: Path, prefix: str) -> None:
    topic = create_topic(topics, 1)
    group = f"group-{topic}"
    declare_table(
        sql, topics, topic, **{"properties.group.id": group, f"{prefix}commit.offsets.on.checkpoint": "false"}
    )
    read_available(spark, tmp_path)
    assert committed_offsets(topics, group, topic, 1) == {}


@pytest.mark.long
@needs_limits
def test_failed_commits_do_not_stop_the_query(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    """Kafka rejects the commits of a client outside the group while a consumer is a member of it."""
    topic = create_topic(topics, 3)
    group = f"group-{topic}"
    member = Consumer({"bootstrap.servers": topics.bootstrap, "group.id": group, "log_level": 0})
    member.subscribe([topic])
    while not member.assignment():
        member.poll(1)
    declare_table(sql, topics, topic, **{"properties.group.id": group, "scan.max-offsets-per-trigger": "1"})
    query = read_available(spark, tmp_path)
    member.close()
    assert copied_offsets(spark, tmp_path) == [(0, 0), (0, 1), (0, 2)]
    last = source_progress(query)[-1]["latestOffset"]
    assert (last["commitsSucceeded"], last["commitsFailed"]) == (0, 1)
    assert last["committedOffsets"] == {}
