"""Encoding of rows as records, checked with a decoder of the documented layout, and partitions by key as in Java."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.kafka.columns import column_view, flatten_headers, null_column
from kafka_sql.kafka.direct.writes.produce_kernels import append_records, max_record_size, partition_by_key
from tests.unit.kafka.direct.batch_decoder import Record, decode_records

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

NOW = 1_700_000_000_000
TIMESTAMPS = st.one_of(st.none(), st.just(0), st.integers(NOW - 200, NOW + 200), st.integers(0, 2**62))
HEADERS = st.lists(st.tuples(st.one_of(st.none(), st.text(max_size=20)), PAYLOADS), max_size=4)
# a row's timestamp is None for now; headers without a name are omitted
ROWS = st.builds(Record, PAYLOADS, PAYLOADS, TIMESTAMPS, HEADERS)


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


@pytest.mark.parametrize("count", [1, 3, 10, 1000])
def test_partition_by_key_is_that_of_the_java_client(count: int) -> None:
    keys = pa.array([*MURMUR2, None], pa.binary())
    chosen = np.array([-1] * len(keys), np.int32)
    partition_by_key(chosen, column_view(keys), np.full(len(keys), count, np.int32))
    assert chosen.tolist() == [*((hash_ & 0x7FFFFFFF) % count for hash_ in MURMUR2.values()), -1]


def test_a_given_partition_is_not_changed_and_each_row_has_its_number_of_partitions() -> None:
    chosen = np.array([2, -1], np.int32)
    keys = pa.array([b"21", b"21"], pa.binary())
    partition_by_key(chosen, column_view(keys), np.array([10, 7], np.int32))
    assert chosen.tolist() == [2, (-973932308 & 0x7FFFFFFF) % 7]
