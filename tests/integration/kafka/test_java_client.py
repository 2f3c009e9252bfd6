"""Java's client reads what librdkafka's producer writes: bytes, headers, timestamps, and partitions of keys."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.embedded.jars import kafka_jars
from kafka_sql.embedded.java import find_java
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.librdkafka.producer_clients import open_producer
from tests.topics import Topics
from tools.quick_java import FAST

pytestmark = pytest.mark.integration
SOURCE = Path(__file__).parents[1] / "java" / "ReadAndSendOn.java"


class Record(NamedTuple):
    """A record as Java's consumer reads it."""

    partition: int
    timestamp: int
    timestamp_type: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    java_partition: int  # to which Java's producer sends it


def read_by_java(topics: Topics, topic: str, partitions: int) -> list[Record]:
    """Return all records of a topic, ordered by partition and offset."""
    java = find_java()
    jars = os.pathsep.join(map(str, kafka_jars(java)))
    onward = topics.create(partitions)
    command = [java, *FAST, "-cp", jars, str(SOURCE), topics.bootstrap, topic, onward]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return sorted(map(parse_record, done.stdout.splitlines()), key=lambda r: r.partition)


def parse_record(line: str) -> Record:
    partition, _, timestamp, timestamp_type, key, value, headers, java_partition = line.split("\t")
    pairs = [tuple(h.split("=")) for h in headers.split(",") if h]
    return Record(
        int(partition),
        int(timestamp),
        timestamp_type,
        parse_bytes(key),
        parse_bytes(value),
        [(n, parse_bytes(v)) for n, v in pairs],
        int(java_partition),
    )


def parse_bytes(text: str) -> bytes | None:
    return None if text == "null" else bytes.fromhex(text.removeprefix("x"))


def test_bytes_timestamps_headers_and_partitions(topics: Topics) -> None:
    """Covers both code paths: one call for a batch, and one per record if there are timestamps or headers."""
    random = Random(7)
    keys = [b"", b"\x00", b"a", "ключ".encode(), *(random.randbytes(n) for n in range(3, 62))]
    values = [b"", *(random.randbytes(n) for n in range(61)), None]
    times = [1_700_000_000_000 + n for n in range(63)]
    headers: list[Any] = [[("n", b"%d" % n), ("n", None), ("ü", b"")] if n % 3 else None for n in range(63)]
    map_type = pa.map_(pa.string(), pa.binary())
    topic = topics.create(7)
    with open_producer(to_librdkafka({"bootstrap.servers": topics.bootstrap}), topic) as producer:
        pairs = pa.array(values, pa.binary()), pa.array(keys, pa.binary())
        producer.produce(*pairs)
        producer.produce(*pairs, np.array(times, np.int64), pa.array(headers, map_type))
        producer.flush()
    records = read_by_java(topics, topic, 7)
    assert len(records) == 126
    assert all(r.partition == r.java_partition for r in records)
    assert len({r.partition for r in records}) == 7
    assert {r.timestamp_type for r in records} == {"CreateTime"}
    timed = {r.timestamp: (r.key, r.value, r.headers) for r in records if r.timestamp in times}
    assert timed == {t: (k, v, h or []) for t, k, v, h in zip(times, keys, values, headers, strict=True)}
    others = {r.key: (r.value, r.headers) for r in records if r.timestamp not in times}
    assert others == {k: (v, []) for k, v in zip(keys, values, strict=True)}
