"""What is written, as Java's own client reads it: bytes, headers and times, and keys where it would put them."""

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

pytestmark = pytest.mark.integration
SOURCE = Path(__file__).parents[1] / "java" / "ReadAndSendOn.java"


class Record(NamedTuple):
    """A record as Java's consumer sees it."""

    partition: int
    timestamp: int
    timestamp_type: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    chosen: int  # the partition that Java's producer sends it to


def read_by_java(topics: Topics, topic: str, partitions: int) -> list[Record]:
    """All records of a topic, in their order by partition."""
    java = find_java()
    jars = os.pathsep.join(map(str, kafka_jars(java)))
    onward = topics.create(partitions)
    command = [java, "-cp", jars, str(SOURCE), topics.bootstrap, topic, onward]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return sorted(map(record, done.stdout.splitlines()), key=lambda r: r.partition)


def record(line: str) -> Record:
    partition, _, timestamp, kind, key, value, headers, chosen = line.split("\t")
    pairs = [tuple(h.split("=")) for h in headers.split(",") if h]
    return Record(
        int(partition), int(timestamp), kind, data(key), data(value), [(n, data(v)) for n, v in pairs], int(chosen)
    )


def data(text: str) -> bytes | None:
    return None if text == "null" else bytes.fromhex(text.removeprefix("x"))


def test_bytes_times_headers_and_partitions(topics: Topics) -> None:
    """By both ways out: a call for many records, and one for each where they have times or headers."""
    random = Random(7)
    keys = [b"", b"\x00", b"a", "ключ".encode(), *(random.randbytes(n) for n in range(3, 62))]
    values = [b"", *(random.randbytes(n) for n in range(61)), None]
    times = [1_700_000_000_000 + n for n in range(63)]
    headers: list[Any] = [[("n", b"%d" % n), ("n", None), ("ü", b"")] if n % 3 else None for n in range(63)]
    kind = pa.map_(pa.string(), pa.binary())
    topic = topics.create(7)
    with open_producer(to_librdkafka({"bootstrap.servers": topics.bootstrap}), topic) as producer:
        pairs = pa.array(values, pa.binary()), pa.array(keys, pa.binary())
        producer.produce(*pairs)
        producer.produce(*pairs, np.array(times, np.int64), pa.array(headers, kind))
        producer.flush()
    found = read_by_java(topics, topic, 7)
    assert len(found) == 126
    assert all(r.partition == r.chosen for r in found)
    assert len({r.partition for r in found}) == 7
    assert {r.timestamp_type for r in found} == {"CreateTime"}
    timed = {r.timestamp: (r.key, r.value, r.headers) for r in found if r.timestamp in times}
    assert timed == {t: (k, v, h or []) for t, k, v, h in zip(times, keys, values, headers, strict=True)}
    others = {r.key: (r.value, r.headers) for r in found if r.timestamp not in times}
    assert others == {k: (v, []) for k, v in zip(keys, values, strict=True)}
