"""Test reads with Spark: tasks, micro-batch limits, checkpoints, offset commits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

from tests.topics import Topics

pytestmark = pytest.mark.integration


def fill(topics: Topics, *counts: int) -> str:
    """Create a topic with the given number of records per partition."""
    topic = topics.create(len(counts))
    for partition, count in enumerate(counts):
        topics.produce(topic, *(b'{"a": %d}' % (1000 * partition + i) for i in range(count)), partition=partition)
    return topic


def declare(sql: Any, topics: Topics, topic: str, **options: str) -> None:
    sql(
        f"""CREATE TABLE t (a INT, `partition` INT METADATA VIRTUAL, `offset` BIGINT METADATA VIRTUAL)
        {topics.with_options(topic, **options)}"""
    )


def committed_offsets(topics: Topics, group: str, topic: str, partitions: int) -> dict[int, int]:
    request = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, p) for p in range(partitions)])
    response = topics.admin.list_consumer_group_offsets([request])[group].result()
    return {tp.partition: tp.offset for tp in response.topic_partitions if tp.offset >= 0}


def sources(query: Any) -> list[dict[str, Any]]:
    """Return the source's progress for each batch with rows, with parsed offsets."""
    reports = [json.loads(p.json)["sources"][0] for p in query.recentProgress if p.numInputRows]
    return [
        {k: json.loads(v) if isinstance(v, str) and v.startswith("{") else v for k, v in s.items()} for s in reports
    ]


def drain(spark: Any, folder: Path, **trigger: Any) -> Any:
    query = (
        spark.readStream.table("t")
        .writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(**trigger)
        .start()
    )
    query.awaitTermination()
    return query


def read(spark: Any, folder: Path) -> list[tuple[int, int]]:
    return sorted((r.partition, r.offset) for r in spark.read.parquet(str(folder / "out")).collect())


@pytest.mark.parametrize(("parallelism", "tasks"), [(None, 3), (2, 2), (5, 5)])
def test_tasks(spark: Any, sql: Any, topics: Topics, parallelism: int | None, tasks: int) -> None:
    topic = fill(topics, 10, 2, 4)
    declare(sql, topics, topic, **({} if parallelism is None else {"scan.parallelism": str(parallelism)}))
    frame = sql("SELECT * FROM t")
    assert frame.rdd.getNumPartitions() == tasks
    rows = sorted((r.partition, r.offset, r.a) for r in frame.collect())
    assert rows == [(p, i, 1000 * p + i) for p, n in enumerate((10, 2, 4)) for i in range(n)]


def test_available_now_within_limits(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    topic = fill(topics, 60, 20)
    group = f"group-{topic}"
    declare(sql, topics, topic, **{"scan.max-offsets-per-trigger": "40", "properties.group.id": group})
    query = drain(spark, tmp_path, availableNow=True)
    progress = sources(query)
    assert [s["numInputRows"] for s in progress] == [40, 40]
    ids = progress[0]["endOffset"]["ids"]
    assert list(ids) == [topic]
    assert progress[0]["endOffset"] == {
        "version": 2,
        "ids": ids,
        "offsets": {topic: {"0": 30, "1": 10}},
        "starts": {topic: {"0": 0, "1": 0}},
    }
    assert progress[1]["endOffset"] == {"version": 2, "offsets": {topic: {"0": 60, "1": 20}}, "ids": ids}
    assert progress[1]["latestOffset"]["offsets"] == {topic: {"0": 60, "1": 20}}
    assert progress[1]["latestOffset"]["commitsFailed"] == 0
    assert committed_offsets(topics, group, topic, 2) == {0: 60, 1: 20}
    topics.produce(topic, b'{"a": 60}')
    drain(spark, tmp_path, availableNow=True)
    assert read(spark, tmp_path) == [(p, i) for p, n in enumerate((61, 20)) for i in range(n)]
    assert committed_offsets(topics, group, topic, 2) == {0: 61, 1: 20}


def test_streams_wait_for_min_offsets_with_a_maximum_delay(
    spark: Any, sql: Any, topics: Topics, tmp_path: Path
) -> None:
    topic = fill(topics, 1)
    declare(sql, topics, topic, **{"scan.min-offsets-per-trigger": "3", "scan.max-trigger-delay": "1 h"})
    query = (
        spark.readStream.table("t").writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
    )
    query.processAllAvailable()
    topics.produce(topic, b'{"a": 1}', b'{"a": 2}')
    query.processAllAvailable()  # two offsets are too few
    assert [s["numInputRows"] for s in sources(query)] == [1]
    topics.produce(topic, b'{"a": 3}')
    query.processAllAvailable()
    query.stop()
    assert [s["numInputRows"] for s in sources(query)] == [1, 3]


def test_max_bytes_per_trigger(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    topic = topics.create(1)
    topics.produce(topic, *(b'{"a": %d, "b": "%s"}' % (i, b"x" * 1000) for i in range(100)))
    declare(sql, topics, topic, **{"scan.max-bytes-per-trigger": "26 kb"})
    query = drain(spark, tmp_path, availableNow=True)
    assert [s["numInputRows"] for s in sources(query)] == [26, 26, 26, 22]


def test_checkpoints_of_version_1_are_resumed(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    topic = fill(topics, 3, 2)
    declare(sql, topics, topic)
    drain(spark, tmp_path, availableNow=True)
    log = tmp_path / "checkpoint" / "offsets" / "0"
    lines = log.read_text().splitlines()
    assert json.loads(lines[-1])["version"] == 2
    log.write_text("\n".join([*lines[:-1], json.dumps({topic: {"0": 3, "1": 2}})]))
    log.with_name(".0.crc").unlink()
    topics.produce(topic, b'{"a": 3}')
    drain(spark, tmp_path, availableNow=True)
    assert read(spark, tmp_path) == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)]


def test_a_repeated_first_batch_starts_at_the_same_offsets(
    spark: Any, sql: Any, topics: Topics, tmp_path: Path
) -> None:
    topic = fill(topics, 3)
    declare(sql, topics, topic, **{"scan.startup.mode": "latest-offset"})
    query = (
        spark.readStream.table("t")
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
    )
    running = query.start()
    running.processAllAvailable()
    topics.produce(topic, b'{"a": 3}', b'{"a": 4}')
    running.processAllAvailable()
    running.stop()
    # simulate a crash in a first batch with both records
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
    drain(spark, tmp_path, availableNow=True)
    assert read(spark, tmp_path) == [(0, 3), (0, 4), (0, 5)]


def test_checkpoints_of_other_queries_are_rejected(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    declare(sql, topics, fill(topics, 1))
    rate = spark.readStream.format("rate").load().writeStream.format("noop")
    query = rate.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    while not query.recentProgress:
        query.processAllAvailable()
    query.stop()
    with pytest.raises(Exception, match=r"CHECKPOINT.*is not an offset of a Kafka table"):
        drain(spark, tmp_path, availableNow=True)


@pytest.mark.parametrize("prefix", ["", "properties."])
def test_offset_commits_can_be_disabled(spark: Any, sql: Any, topics: Topics, tmp_path: Path, prefix: str) -> None:
    topic = fill(topics, 1)
    group = f"group-{topic}"
    declare(sql, topics, topic, **{"properties.group.id": group, f"{prefix}commit.offsets.on.checkpoint": "false"})
    drain(spark, tmp_path, availableNow=True)
    assert committed_offsets(topics, group, topic, 1) == {}


def test_failed_commits_do_not_stop_the_query(spark: Any, sql: Any, topics: Topics, tmp_path: Path) -> None:
    """Commits from outside of a group fail while a consumer has joined it."""
    from confluent_kafka import Consumer

    topic = fill(topics, 3)
    group = f"group-{topic}"
    member = Consumer({"bootstrap.servers": topics.bootstrap, "group.id": group, "log_level": 0})
    member.subscribe([topic])
    while not member.assignment():
        member.poll(1)
    declare(sql, topics, topic, **{"properties.group.id": group, "scan.max-offsets-per-trigger": "1"})
    query = drain(spark, tmp_path, availableNow=True)
    member.close()
    assert read(spark, tmp_path) == [(0, 0), (0, 1), (0, 2)]
    last = sources(query)[-1]["latestOffset"]
    assert (last["commitsSucceeded"], last["commitsFailed"]) == (0, 1)
    assert last["committedOffsets"] == {}
