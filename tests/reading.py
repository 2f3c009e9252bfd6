"""Reading without Spark: a table's definition, and the records that its batch reads."""

from __future__ import annotations

import uuid

from confluent_kafka import Consumer, Producer, TopicPartition

from kafka_sql.definition import Definition, define
from kafka_sql.kafka.cluster import Cluster, Offsets
from kafka_sql.kafka.consumer import fetch
from kafka_sql.source.enumerate import batch_range, snapshot
from kafka_sql.source.partitions import partitions
from kafka_sql.table import Column, Table
from tests.support import Topics

Place = tuple[str, int, int]  # topic, partition, offset


def declared(topics: Topics, topic: str | None, **options: str) -> Definition:
    """A raw table that reads from the start; ``_`` stands for ``.`` and ``__`` for ``-`` in the options' names."""
    given = {
        "connector": "kafka",
        "properties.bootstrap.servers": topics.bootstrap,
        "format": "raw",
        **({} if topic is None else {"topic": topic}),
        **{key.replace("__", "-").replace("_", "."): value for key, value in options.items()},
    }
    if "scan.startup.offsets-initializer" not in given:
        given = {"scan.startup.mode": "earliest-offset", **given}
    return define(Table(("t",), (Column("v", "BINARY", "BYTES"),), given))


def planned(definition: Definition) -> dict[str, tuple[int, int]]:
    """The ranges of a batch by ``topic[partition]``, empty ones included."""
    cluster = Cluster(definition.client)
    starts, stops = batch_range(definition, cluster, partitions(definition, cluster))
    return {f"{t}[{p}]": (starts[t, p], stops[t, p]) for t, p in sorted(stops)}


def read(definition: Definition) -> list[tuple[Place, bytes | None]]:
    """The records of a batch read, by place."""
    return sorted(
        ((split.topic, split.partition, offset), value)
        for split in snapshot(definition)
        for records in fetch(definition.client, split)
        for offset, value in zip(records.offsets.tolist(), records.values.to_pylist(), strict=True)
    )


def offsets(definition: Definition) -> list[int]:
    """The offsets of the records of a batch read."""
    return [place[2] for place, _ in read(definition)]


def commit(topics: Topics, group: str, offsets: Offsets) -> None:
    """Let a group commit."""
    consumer = Consumer({"bootstrap.servers": topics.bootstrap, "group.id": group, "log_level": 0})
    consumer.commit(offsets=[TopicPartition(t, p, at) for (t, p), at in offsets.items()], asynchronous=False)
    consumer.close()


def transaction(topics: Topics, topic: str, *values: bytes, end: str = "commit", partition: int = 0) -> Producer:
    """Records of one transaction; ``end`` is 'commit', 'abort' or 'open'."""
    producer = Producer(
        {"bootstrap.servers": topics.bootstrap, "transactional.id": f"{topic}-{uuid.uuid4()}", "log_level": 0}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=partition)
    producer.flush(30)
    if end == "commit":
        producer.commit_transaction(30)
    elif end == "abort":
        producer.abort_transaction(30)
    return producer


def delete_records(topics: Topics, topic: str, before: int, partition: int = 0) -> None:
    """Remove the records before an offset, as retention would."""
    place = TopicPartition(topic, partition, before)
    topics.admin.delete_records([place])[place].result(30)
