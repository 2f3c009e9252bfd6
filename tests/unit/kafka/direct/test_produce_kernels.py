"""Rows as record batches, read back by the layout in Kafka's documentation, and keys' partitions beside Java's."""

from __future__ import annotations

import struct
from typing import Any

import google_crc32c
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.kafka.binary_columns import column_view
from kafka_sql.kafka.direct.accumulator import RecordAccumulator
from kafka_sql.kafka.direct.batch import HEADER, Batch, ProducerIdAndEpoch, next_sequence, small_batch
from kafka_sql.kafka.direct.produce_kernels import max_record_size, pack, partition_by_key

Pair = tuple[bytes | None, bytes | None]
PAYLOADS = st.one_of(st.none(), st.binary(max_size=200), st.integers(0, 20_000).map(lambda size: b"x" * size))
# of Kafka's Java client's own tests
MURMUR2 = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


def number(data: bytes, at: int) -> tuple[int, int]:
    """A VARINT and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at


def field(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = number(data, at)
    return (None, at) if size < 0 else (data[at : at + size], at + size)


def records(batch: Batch) -> tuple[dict[str, Any], list[Pair]]:
    """What is said of all of a batch's records, and their keys and values."""
    content = batch.head + batch.body
    base, length, epoch, magic, checksum = struct.unpack_from(">qiibI", content)
    assert (base, length, epoch, magic) == (0, len(content) - 12, -1, 2)
    assert checksum == google_crc32c.value(content[21:])
    names = ("attributes", "last", "first_time", "last_time", "producer", "epoch", "sequence", "count")
    said = dict(zip(names, struct.unpack_from(">hiqqqhii", content, 21), strict=True))
    assert said["last"] == said["count"] - 1
    found: list[Pair] = []
    at = HEADER
    for offset in range(said["count"]):
        size, at = number(content, at)
        end = at + size
        assert content[at] == 0
        time, at = number(content, at + 1)
        place, at = number(content, at)
        assert (time, place) == (0, offset)
        key, at = field(content, at)
        value, at = field(content, at)
        headers, at = number(content, at)
        assert (headers, at) == (0, end)
        found.append((key, value))
    assert at == len(content)
    return said, found


def packed(rows: list[Pair], partitions: list[int], count: int, size: int) -> list[Batch]:
    """All rows, in batches of ``size`` bytes."""
    arrays = [pa.array(part, pa.binary()) for part in zip(*rows, strict=True)]  # alive as long as their columns
    keys, values = map(column_view, arrays)
    batches, closed, sequences = RecordAccumulator(count, size), [], [0] * count

    def close(partition: int) -> None:
        closed.append(batches.close(partition, ProducerIdAndEpoch(7, 3), sequences[partition]))
        sequences[partition] = next_sequence(sequences[partition], closed[-1].records)

    row, places = 0, np.array(partitions, np.int32)
    while (row := pack(batches.cursors, values, keys, places, row)) < len(rows):
        if batches.cursors[places[row]].any():
            close(partitions[row])
        batches.open(partitions[row], max_record_size(*(len(payload or b"") for payload in rows[row])))
    for partition in batches.partitions_with_records():
        close(partition)
    return closed


@given(st.lists(st.tuples(PAYLOADS, PAYLOADS, st.integers(0, 2)), min_size=1, max_size=60), st.integers(100, 30_000))
def test_every_row_is_a_record_of_its_partition(rows: list[tuple[bytes | None, bytes | None, int]], size: int) -> None:
    found: dict[int, list[Pair]] = {0: [], 1: [], 2: []}
    for batch in packed([row[:2] for row in rows], [row[2] for row in rows], 3, size):
        said, own = records(batch)
        assert said["sequence"] == len(found[batch.partition])
        assert (said["producer"], said["epoch"], said["attributes"], batch.records) == (7, 3, 0, len(own))
        assert batch.size <= max(size, HEADER + max_record_size(*(len(payload or b"") for payload in own[0])))
        found[batch.partition] += own
    assert found == {p: [row[:2] for row in rows if row[2] == p] for p in range(3)}


def test_a_transactions_batches_say_so() -> None:
    batches = RecordAccumulator(1, 1000)
    batches.open(0, 0)
    array = pa.array([b"a"], pa.binary())
    values = column_view(array)
    assert pack(batches.cursors, values, values, np.zeros(1, np.int32), 0) == 1
    assert records(batches.close(0, ProducerIdAndEpoch(1, 0, "t"), 5))[0]["attributes"] == 0x10


@given(st.dictionaries(st.text(max_size=100), PAYLOADS, min_size=1, max_size=100))
def test_a_small_batch(given_: dict[str, bytes | None]) -> None:
    said, found = records(small_batch(0, given_, ProducerIdAndEpoch(1, 2, "t"), 5))
    assert (said["sequence"], said["count"], said["attributes"]) == (5, len(given_), 0x10)
    assert found == [(key.encode(), value) for key, value in given_.items()]


def test_sequences_begin_again() -> None:
    assert next_sequence(2**31 - 3, 2) == 2**31 - 1
    assert next_sequence(2**31 - 1, 3) == 2


@pytest.mark.parametrize("count", [1, 3, 10, 1000])
def test_keys_go_where_javas_client_puts_them(count: int) -> None:
    keys = pa.array([*MURMUR2, None], pa.binary())
    chosen = np.array([-1] * len(keys), np.int32)
    partition_by_key(chosen, column_view(keys), count)
    assert chosen.tolist() == [*((found & 0x7FFFFFFF) % count for found in MURMUR2.values()), -1]


def test_a_partition_that_is_given_stays() -> None:
    chosen = np.array([2, -1], np.int32)
    keys = pa.array([b"21", b"21"], pa.binary())
    partition_by_key(chosen, column_view(keys), 10)
    assert chosen.tolist() == [2, (-973932308 & 0x7FFFFFFF) % 10]
