"""Encoding of record batches, checked with a decoder of the documented layout, and partitions by key as in Java."""

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
# from the tests of Kafka's Java client
MURMUR2 = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a VARINT and the next position."""
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at


def read_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = read_varint(data, at)
    return (None, at) if size < 0 else (data[at : at + size], at + size)


def decode(batch: Batch) -> tuple[dict[str, Any], list[Pair]]:
    """Return the header fields of a batch, and the keys and values of its records."""
    content = batch.head + batch.body
    base, length, epoch, magic, checksum = struct.unpack_from(">qiibI", content)
    assert (base, length, epoch, magic) == (0, len(content) - 12, -1, 2)
    assert checksum == google_crc32c.value(content[21:])
    names = ("attributes", "last", "first_time", "last_time", "producer", "epoch", "sequence", "count")
    header = dict(zip(names, struct.unpack_from(">hiqqqhii", content, 21), strict=True))
    assert header["last"] == header["count"] - 1
    pairs: list[Pair] = []
    at = HEADER
    for offset in range(header["count"]):
        size, at = read_varint(content, at)
        end = at + size
        assert content[at] == 0
        time, at = read_varint(content, at + 1)
        delta, at = read_varint(content, at)
        assert (time, delta) == (0, offset)
        key, at = read_bytes(content, at)
        value, at = read_bytes(content, at)
        header_count, at = read_varint(content, at)
        assert (header_count, at) == (0, end)
        pairs.append((key, value))
    assert at == len(content)
    return header, pairs


def encode(rows: list[Pair], partitions: list[int], count: int, size: int) -> list[Batch]:
    """Encode rows in batches of ``size`` bytes."""
    arrays = [pa.array(part, pa.binary()) for part in zip(*rows, strict=True)]  # must live as long as the views
    keys, values = map(column_view, arrays)
    accumulator, batches, sequences = RecordAccumulator(count, size), list[Batch](), [0] * count

    def close(partition: int) -> None:
        batches.append(accumulator.close(partition, ProducerIdAndEpoch(7, 3), sequences[partition]))
        sequences[partition] = next_sequence(sequences[partition], batches[-1].records)

    row, chosen = 0, np.array(partitions, np.int32)
    while (row := pack(accumulator.cursors, values, keys, chosen, row)) < len(rows):
        if accumulator.cursors[chosen[row]].any():
            close(partitions[row])
        accumulator.open(partitions[row], max_record_size(*(len(payload or b"") for payload in rows[row])))
    for partition in accumulator.partitions_with_records():
        close(partition)
    return batches


@given(st.lists(st.tuples(PAYLOADS, PAYLOADS, st.integers(0, 2)), min_size=1, max_size=60), st.integers(100, 30_000))
def test_every_row_is_a_record_of_its_partition(rows: list[tuple[bytes | None, bytes | None, int]], size: int) -> None:
    decoded: dict[int, list[Pair]] = {0: [], 1: [], 2: []}
    for batch in encode([row[:2] for row in rows], [row[2] for row in rows], 3, size):
        header, pairs = decode(batch)
        assert header["sequence"] == len(decoded[batch.partition])
        assert (header["producer"], header["epoch"], header["attributes"], batch.records) == (7, 3, 0, len(pairs))
        assert batch.size <= max(size, HEADER + max_record_size(*(len(payload or b"") for payload in pairs[0])))
        decoded[batch.partition] += pairs
    assert decoded == {p: [row[:2] for row in rows if row[2] == p] for p in range(3)}


def test_batches_of_a_transaction_are_marked_as_transactional() -> None:
    accumulator = RecordAccumulator(1, 1000)
    accumulator.open(0, 0)
    array = pa.array([b"a"], pa.binary())
    values = column_view(array)
    assert pack(accumulator.cursors, values, values, np.zeros(1, np.int32), 0) == 1
    assert decode(accumulator.close(0, ProducerIdAndEpoch(1, 0, "t"), 5))[0]["attributes"] == 0x10


@given(st.dictionaries(st.text(max_size=100), PAYLOADS, min_size=1, max_size=100))
def test_small_batch(by_key: dict[str, bytes | None]) -> None:
    header, pairs = decode(small_batch(0, by_key, ProducerIdAndEpoch(1, 2, "t"), 5))
    assert (header["sequence"], header["count"], header["attributes"]) == (5, len(by_key), 0x10)
    assert pairs == [(key.encode(), value) for key, value in by_key.items()]


def test_sequence_numbers_wrap_around() -> None:
    assert next_sequence(2**31 - 3, 2) == 2**31 - 1
    assert next_sequence(2**31 - 1, 3) == 2


@pytest.mark.parametrize("count", [1, 3, 10, 1000])
def test_partition_by_key_is_that_of_the_java_client(count: int) -> None:
    keys = pa.array([*MURMUR2, None], pa.binary())
    chosen = np.array([-1] * len(keys), np.int32)
    partition_by_key(chosen, column_view(keys), count)
    assert chosen.tolist() == [*((hash_ & 0x7FFFFFFF) % count for hash_ in MURMUR2.values()), -1]


def test_a_given_partition_is_not_changed() -> None:
    chosen = np.array([2, -1], np.int32)
    keys = pa.array([b"21", b"21"], pa.binary())
    partition_by_key(chosen, column_view(keys), 10)
    assert chosen.tolist() == [2, (-973932308 & 0x7FFFFFFF) % 10]
