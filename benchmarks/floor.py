"""Compare this project's reader, without Spark, with confluent-kafka's consumer, which discards all messages."""

from __future__ import annotations

import time
from collections.abc import Iterator

from confluent_kafka import Consumer, TopicPartition

from benchmarks.comparison import Result, RunResult, measure_alternately
from benchmarks.orders import Topic
from benchmarks.peers.launch import OURS
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.librdkafka.client import open_client
from kafka_sql.kafka.split import Split

FLOOR = "confluent-kafka, records discarded"
_BATCH = 20_000


def measure_floor(topic: Topic, runs: int) -> Iterator[Result]:
    """Measure reading a topic with one partition."""
    split, configuration = Split(topic.name, 0, 0, topic.records), client_config(topic.bootstrap)
    peers = {OURS: lambda: read_columns(configuration, split), FLOOR: lambda: read_and_discard(configuration, split)}
    yield from measure_alternately("floor", "raw, one process, no Spark", peers, topic.records, runs)


def client_config(bootstrap: str) -> dict[str, str]:
    """Return the client configuration of a table's reader; with librdkafka's defaults, the consumer would be slower."""
    return to_librdkafka({"bootstrap.servers": bootstrap})


def read_columns(config: dict[str, str], split: Split) -> RunResult:
    """Read the split as a table does."""
    started, records, size = time.perf_counter(), 0, 0
    for batch in read_records(config, split):
        records += len(batch.values)
        size += int(batch.values.nbytes)
    assert size > records > 0
    return {"seconds": time.perf_counter() - started, "rows": records}


def read_and_discard(config: dict[str, str], split: Split) -> RunResult:
    """Consume messages in batches and discard them."""
    records, started = 0, time.perf_counter()
    settings = {**config, "group.id": "floor", "enable.auto.commit": "false", "auto.offset.reset": "error"}
    consumer, _ = open_client(Consumer, settings)
    consumer.assign([TopicPartition(split.topic, split.partition, split.start)])
    while records < split.stop:
        messages = consumer.consume(_BATCH, 0.1)
        for message in messages[:1]:
            if error := message.error():
                raise RuntimeError(error.str())
        records += len(messages)
    seconds = time.perf_counter() - started
    consumer.close()
    return {"seconds": seconds, "rows": records}
