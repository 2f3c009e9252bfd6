"""Measure reading without Spark: this project's reader, compared with librdkafka's consumer discarding all messages."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from benchmarks.comparison import Result, RunResult, measure_alternately
from benchmarks.orders import Topic
from benchmarks.peers.launch import OURS
from kafka_sql.kafka import bindings
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.librdkafka import fetch_kernels
from kafka_sql.kafka.librdkafka.client import open_handle
from kafka_sql.kafka.types import Split

FLOOR = "librdkafka, records discarded"
_BATCH = 20_000


def measure_floor(topic: Topic, runs: int) -> Iterator[Result]:
    """Read one partition with all records."""
    split, configuration = Split(topic.name, 0, 0, topic.records), client_config(topic.bootstrap)
    peers = {OURS: lambda: read_columns(configuration, split), FLOOR: lambda: read_and_discard(configuration, split)}
    yield from measure_alternately("floor", "raw, one process, no Spark", peers, topic.records, runs)


def client_config(bootstrap: str) -> dict[str, str]:
    """Return the configuration of a table's reader, with which the client does not pause while its queue is short."""
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
    messages, destroy, records = np.zeros(_BATCH, np.int64), bindings.address(bindings.message_destroy), 0
    started = time.perf_counter()
    configuration = {**config, "group.id": "floor", "enable.auto.commit": "false", "auto.offset.reset": "error"}
    with open_handle(bindings.CONSUMER, configuration) as handle:
        bindings.poll_set_consumer(handle.pointer)
        queue = bindings.consumer_queue(handle.pointer)
        partitions = bindings.partitions_new(1)
        bindings.partitions_add(partitions, split.topic.encode(), split.partition)
        bindings.partitions_set_offset(partitions, split.topic.encode(), split.partition, split.start)
        bindings.assign(handle.pointer, partitions)
        bindings.partitions_destroy(partitions)
        while records < split.stop:
            count = bindings.consume_batch(queue, 100, messages.ctypes.data, len(messages))
            for message in messages[:1] if count > 0 else ():
                code = bindings.Message.from_address(int(message)).err
                if code:
                    raise RuntimeError(bindings.reason(code))
            fetch_kernels.release(messages, 0, max(count, 0), destroy)
            records += max(count, 0)
        seconds = time.perf_counter() - started
        bindings.queue_destroy(queue)
        bindings.consumer_close(handle.pointer)
    return {"seconds": seconds, "rows": records}
