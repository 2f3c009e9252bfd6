"""Encoding of record batches, checked with a decoder of the documented layout, and partitions by key as in Java."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import google_crc32c
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.kafka.binary_columns import column_view, null_column
from kafka_sql.kafka.direct.accumulator import RecordAccumulator
from kafka_sql.kafka.direct.batch import HEADER, Batch, ProducerIdAndEpoch, next_sequence, small_batch
from kafka_sql.kafka.direct.produce_kernels import append_records, max_record_size, pack, partition_by_key
from kafka_sql.kafka.headers import flatten_headers

Pair = tuple[bytes | None, bytes | None]
PAYLOADS = st.one_of(st.none(), st.binary(max_size=200), st.integers(0, 20_000).map(lambda size: b"x" * size))
HEADERS_TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
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


class Record(NamedTuple):
    """A record, or a row: then its timestamp is None for now, and headers without a name are omitted."""

    key: bytes | None
    value: bytes | None
    timestamp: int | None
    headers: list[tuple[str | None, bytes | None]]


NOW = 1_700_000_000_000
TIMESTAMPS = st.one_of(st.none(), st.just(0), st.integers(NOW - 200, NOW + 200), st.integers(0, 2**62))
HEADERS = st.lists(st.tuples(st.one_of(st.none(), st.text(max_size=20)), PAYLOADS), max_size=4)
ROWS = st.builds(Record, PAYLOADS, PAYLOADS, TIMESTAMPS, HEADERS)


def decode_records(content: bytes, count: int, first_timestamp: int) -> list[Record]:
    records, at = [], 0
    for offset in range(count):
        size, at = read_varint(content, at)
        end = at + size
        assert content[at] == 0  # attributes
        delta, at = read_varint(content, at + 1)
        offset_delta, at = read_varint(content, at)
        assert offset_delta == offset
        key, at = read_bytes(content, at)
        value, at = read_bytes(content, at)
        header_count, at = read_varint(content, at)
        headers: list[tuple[str | None, bytes | None]] = []
        for _ in range(header_count):
            name, at = read_bytes(content, at)
            assert name is not None
            header, at = read_bytes(content, at)
            headers.append((name.decode(), header))
        assert at == end
        records.append(Record(key, value, first_timestamp + delta, headers))
    assert at == len(content)
    return records


def append(rows: list[Record], indices: list[int], capacity: int, **columns: bool) -> dict[int, list[list[Record]]]:
    """Append rows to batches of ``capacity`` bytes, or of the size of their first record; return them by index.

    Args:
        columns: whether to pass ``timestamps`` and ``headers``.
    """
    keys, values = (pa.array([row[i] for row in rows], pa.binary()) for i in range(2))
    timestamps = np.array([NOW if row.timestamp is None else row.timestamp for row in rows], np.int64)
    lists, names, header_values = flatten_headers(pa.array([row.headers for row in rows], HEADERS_TYPE), len(rows))
    headers = lists, column_view(names), column_view(header_values)
    batches, closed = np.zeros((3, 5), np.int64), dict[int, list[list[Record]]]()
    memory: list[Any] = [None] * 3

    def close(index: int) -> None:
        at, _, count, first, highest = batches[index].tolist()
        if count:
            records = decode_records(memory[index][: at - memory[index].ctypes.data].tobytes(), count, first)
            assert (records[0].timestamp, max(record.timestamp or 0 for record in records)) == (first, highest)
            closed.setdefault(index, []).append(records)

    row, chosen = 0, np.array(indices, np.int32)
    optional = timestamps if columns["timestamps"] else None, headers if columns["headers"] else None
    while (row := append_records(batches, column_view(values), column_view(keys), *optional, NOW, chosen, row)) < len(
        rows
    ):
        index, first = indices[row], rows[row]
        close(index)
        header_bytes = sum(len((name or "").encode()) + len(value or b"") for name, value in first.headers)
        sizes = len(first.key or b""), len(first.value or b""), header_bytes, len(first.headers)
        memory[index] = np.full(max(capacity, max_record_size(*sizes)) + 1, 77, np.uint8)
        start = memory[index].ctypes.data
        batches[index] = start, start + len(memory[index]) - 1, 0, 0, 0
    for index in range(3):
        close(index)
        assert memory[index] is None or memory[index][-1] == 77
    return closed


@given(
    st.lists(st.tuples(ROWS, st.integers(0, 2)), min_size=1, max_size=60),
    st.integers(0, 30_000),
    st.booleans(),
    st.booleans(),
)
def test_records(rows: list[tuple[Record, int]], capacity: int, timestamps: bool, headers: bool) -> None:
    appended = append(
        [row for row, _ in rows], [index for _, index in rows], capacity, timestamps=timestamps, headers=headers
    )
    expected = dict[int, list[Record]]()
    for row, index in rows:
        timestamp = row.timestamp if timestamps and row.timestamp is not None else NOW
        named = [header for header in row.headers if header[0] is not None] if headers else []
        expected.setdefault(index, []).append(row._replace(timestamp=timestamp, headers=named))
    assert {index: [record for batch in closed for record in batch] for index, closed in appended.items()} == expected


def test_a_batch_is_filled() -> None:
    """Rows of 100 bytes take 109 as records, until offsets have two bytes."""
    row = Record(None, b"v" * 100, None, [])
    for capacity, expected in ((109 * 3, 3), (109 * 3 - 1, 2), (109 * 64, 64), (109 * 64 + 110, 65)):
        batches = append([row] * 66, [0] * 66, capacity, timestamps=False, headers=False)[0]
        assert len(batches[0]) == expected


def test_timestamps_of_several_calls() -> None:
    values = pa.array([b"a", b"b"], pa.binary())
    memory = np.zeros(1000, np.uint8)
    start = memory.ctypes.data
    batches = np.array([[start, start + 1000, 0, 0, 0]], np.int64)
    for now in (NOW, NOW + 70_000, NOW - 5):
        view = column_view(values)
        assert append_records(batches, view, null_column(2), None, None, now, np.zeros(2, np.int32), 0) == 2
    at, _, count, first, highest = batches[0].tolist()
    assert (count, first, highest) == (6, NOW, NOW + 70_000)
    records = decode_records(memory[: at - start].tobytes(), 6, first)
    assert [(r.value, r.timestamp) for r in records] == [
        (value, now) for now in (NOW, NOW + 70_000, NOW - 5) for value in (b"a", b"b")
    ]


def test_headers_of_a_slice() -> None:
    """Arrow's offsets of a slice do not begin with 0."""
    rows = [Record(None, b"v", NOW, [(f"n{i}", b"%d" % i)] * i) for i in range(6)]
    column = pa.array([row.headers for row in rows], HEADERS_TYPE)[2:5]
    lists, names, values = flatten_headers(column, 3)
    memory = np.zeros(1000, np.uint8)
    start = memory.ctypes.data
    batches = np.array([[start, start + 1000, 0, 0, 0]], np.int64)
    array = pa.array([b"v"] * 3, pa.binary())
    headers = lists, column_view(names), column_view(values)
    assert (
        append_records(batches, column_view(array), null_column(3), None, headers, NOW, np.zeros(3, np.int32), 0) == 3
    )
    assert decode_records(memory[: batches[0, 0] - start].tobytes(), 3, NOW) == rows[2:5]
