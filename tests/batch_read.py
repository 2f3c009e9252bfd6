"""Read tables without Spark: batches, and streams batch by batch."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from kafka_sql.definition import Definition, validate_table
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.split import Split
from kafka_sql.kafka.topic_partition import Offsets
from kafka_sql.source.data_loss import data_loss_handler
from kafka_sql.source.enumerator.partitions import list_partitions
from kafka_sql.source.enumerator.splits import plan_batch, resolve_batch_range
from kafka_sql.source.stream.micro_batch import MicroBatchStream
from kafka_sql.source.stream.stream_offset import from_json, to_json
from kafka_sql.table.table import Column, Table
from tests.topics import Topics
from tests.waiting import wait_until

RecordLocation = tuple[str, int, int]  # topic, partition, offset


def define_table(topics: Topics, topic: str | None, **options: str) -> Definition:
    """Define a raw table that starts at the earliest offset. In option names, ``_`` is ``.`` and ``__`` is ``-``."""
    table_options = {
        "connector": "kafka",
        "properties.bootstrap.servers": topics.bootstrap,
        "format": "raw",
        **({} if topic is None else {"topic": topic}),
        **{key.replace("__", "-").replace("_", "."): value for key, value in options.items()},
    }
    if "scan.startup.offsets-initializer" not in table_options:
        table_options = {"scan.startup.mode": "earliest-offset", **table_options}
    return validate_table(Table(("t",), (Column("v", "BINARY", "BYTES"),), table_options))


def planned_ranges(definition: Definition) -> dict[str, tuple[int, int]]:
    """Return the offset ranges of a batch read by ``topic[partition]``, including empty ones."""
    cluster = Cluster(definition.client_config)
    starts, stops = resolve_batch_range(definition, cluster, list_partitions(definition, cluster))
    return {f"{t}[{p}]": (starts[t, p], stops[t, p]) for t, p in sorted(stops)}


def read(definition: Definition) -> list[tuple[RecordLocation, bytes | None]]:
    """Return the records of a batch read, with their locations."""
    return records(definition, plan_batch(definition))


def offsets(definition: Definition) -> list[int]:
    """Return the offsets of the records of a batch read."""
    return [location[2] for location, _ in read(definition)]


def commit(topics: Topics, group: str, offsets: Offsets) -> None:
    """Commit offsets for a group as soon as its coordinator has started."""
    consumer = Consumer({"bootstrap.servers": topics.bootstrap, "group.id": group, "log_level": 0})
    partitions = [TopicPartition(t, p, offset) for (t, p), offset in offsets.items()]

    def is_committed() -> bool:
        try:
            consumer.commit(offsets=partitions, asynchronous=False)
        except KafkaException as e:
            if e.args[0].code() != KafkaError.COORDINATOR_LOAD_IN_PROGRESS:
                raise
            return False
        return True

    wait_until(is_committed, "the group's coordinator accepts the commit")
    consumer.close()


def transaction(topics: Topics, topic: str, *values: bytes, end: str = "commit", partition: int = 0) -> Producer:
    """Write records in one transaction; ``end`` is 'commit', 'abort' or 'open'."""
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
    end = TopicPartition(topic, partition, before)
    topics.admin.delete_records([end])[end].result(30)


class StreamingRead:
    """Runs the batches of a stream without Spark, with restarts from the JSON of its checkpoint."""

    def __init__(self, definition: Definition, checkpoint: dict[str, Any] | None = None) -> None:
        """Start a stream, or resume it from a checkpoint."""
        self.definition = definition
        self.stream = MicroBatchStream(definition)
        self.checkpoint = checkpoint

    def batch(self) -> list[tuple[RecordLocation, bytes | None]]:
        """Return the records of the next batch; empty if there is nothing to read."""
        start = self.stream.initial_offset() if self.checkpoint is None else from_json(self.checkpoint)
        end = self.stream.latest_offset(start, is_limited=True)
        if end == start:
            return []
        splits = self.stream.plan_splits(start, end)
        self.checkpoint = json.loads(json.dumps(to_json(end)))
        return records(self.definition, splits)

    def values(self) -> list[bytes | None]:
        """Return the values of the next batch."""
        return [value for _, value in self.batch()]

    def restart(self, **changes: str) -> StreamingRead:
        """Restart the stream, optionally with other table options."""
        table = self.definition.table
        changed = {key.replace("__", "-").replace("_", "."): value for key, value in changes.items()}
        table_options = {key: value for key, value in {**table.options, **changed}.items() if value}
        return StreamingRead(validate_table(replace(table, options=table_options)), self.checkpoint)


def records(definition: Definition, splits: Iterable[Split]) -> list[tuple[RecordLocation, bytes | None]]:
    """Read splits concurrently, and return their records with their locations."""

    def read_split(split: Split) -> list[tuple[RecordLocation, bytes | None]]:
        return [
            ((split.topic, split.partition, offset), value)
            for batch in read_records(definition.client_config, split, on_data_loss=data_loss_handler(definition))
            for offset, value in zip(batch.offsets.tolist(), batch.values.to_pylist(), strict=True)
        ]

    with ThreadPoolExecutor(8) as pool:
        return sorted(chain.from_iterable(pool.map(read_split, splits)))
