"""Open batches: nothing is lost while they are opened, enlarged, closed and compressed, and memory stays bounded."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.kafka.columns import column_view, null_column
from kafka_sql.kafka.direct.batch_layout import HEADER
from kafka_sql.kafka.direct.compression import CODECS, Compression, decompress
from kafka_sql.kafka.direct.writes.accumulator import RecordAccumulator
from kafka_sql.kafka.direct.writes.batch import Batch
from kafka_sql.kafka.direct.writes.produce_kernels import append_records, max_record_size
from tests.unit.kafka.direct.batch_decoder import decode_records

NOW = 1_700_000_000_000
NO_COMPRESSION = Compression(0, 0)


def append(accumulator: RecordAccumulator, values: list[bytes], indices: list[int]) -> list[Batch]:
    """Append rows. Return the batches that had to be closed because a batch or the accumulator was full."""
    array = pa.array(values, pa.binary())
    row, closed, chosen = 0, list[Batch](), np.array(indices, np.int32)
    columns = column_view(array), null_column(len(values)), None, None, NOW
    while (row := append_records(accumulator.cursors, *columns, chosen, row)) < len(values):
        size = max_record_size(0, len(values[row]))
        if not accumulator.reserve(indices[row], size):
            closed.append(accumulator.close(indices[row]))
            assert accumulator.reserve(indices[row], size)
        if accumulator.is_full():
            closed += map(accumulator.close, accumulator.indices_with_records())
    return closed


def values_of(batch: Batch) -> list[bytes | None]:
    content = batch.content[HEADER:].tobytes()
    if batch.codec:
        content = decompress(batch.codec, memoryview(content), 1 << 30)
    return [record.value for record in decode_records(content, batch.records, batch.first_timestamp)]


@given(
    st.lists(st.lists(st.tuples(st.binary(max_size=3000), st.integers(0, 4)), min_size=1, max_size=40), max_size=5),
    st.integers(100, 8_000),
    st.integers(0, 200_000),
    st.sampled_from(range(len(CODECS))),
)
def test_every_row_is_in_a_batch(
    calls: list[list[tuple[bytes, int]]], batch_size: int, max_capacity: int, codec: int
) -> None:
    accumulator = RecordAccumulator(batch_size, max_capacity, Compression(codec, 1))
    assert [accumulator.add_topic("a", 2), accumulator.add_topic("b", 3)] == [0, 2]
    written: dict[tuple[str, int], list[bytes | None]] = {}
    expected: dict[tuple[str, int], list[bytes | None]] = {}
    for rows in calls:
        closed = append(accumulator, [value for value, _ in rows], [index for _, index in rows])
        for value, index in rows:
            expected.setdefault(("a", index) if index < 2 else ("b", index - 2), []).append(value)
        for batch in closed:
            values = values_of(batch)
            written.setdefault((batch.topic, batch.partition), []).extend(values)
            assert batch.size <= max(batch_size, HEADER + max_record_size(0, len(values[0] or b"")))
    for batch in map(accumulator.close, accumulator.indices_with_records()):
        written.setdefault((batch.topic, batch.partition), []).extend(values_of(batch))
    assert written == expected
    assert accumulator.capacity == 0
    assert not accumulator.cursors.any()


def test_a_closed_batch() -> None:
    accumulator = RecordAccumulator(1000, 100_000, NO_COMPRESSION)
    accumulator.add_topic("t", 2)
    before = time.monotonic()
    assert append(accumulator, [b"a", b"b"], [1, 1]) == []
    batch = accumulator.close(1)
    assert (batch.topic, batch.partition, batch.records, batch.codec) == ("t", 1, 2, 0)
    assert (batch.first_timestamp, batch.max_timestamp, batch.sequence) == (NOW, NOW, -1)
    assert before <= batch.created <= time.monotonic()
    assert values_of(batch) == [b"a", b"b"]


@pytest.mark.parametrize("codec", range(1, len(CODECS)))
def test_records_that_do_not_become_smaller_are_not_compressed(codec: int) -> None:
    accumulator = RecordAccumulator(100_000, 1 << 20, Compression(codec, 1))
    accumulator.add_topic("t", 2)
    append(accumulator, [np.random.default_rng(7).bytes(50_000), b"a" * 50_000], [0, 1])
    random, constant = accumulator.close(0), accumulator.close(1)
    assert (random.codec, constant.codec) == (0, codec)
    assert random.size > 50_000 > 5_000 > constant.size
    assert values_of(constant) == [b"a" * 50_000]


@pytest.mark.long
def test_memory_with_ten_thousand_partitions() -> None:
    """It is in proportion to the records and bounded, and all rows are written."""
    limit, count = 32 << 20, 10_000
    accumulator = RecordAccumulator(1_000_000, limit, NO_COMPRESSION)
    accumulator.add_topic("t", count)
    values, written, peak = [b"x" * 150] * count, 0, 0
    indices = np.random.default_rng(7).permutation(count)
    assert append(accumulator, values, indices.tolist()) == []
    assert accumulator.capacity < 5_000_000 + count * 1024  # a few batches of the full size, and many small ones
    for _ in range(40):
        written += sum(batch.records for batch in append(accumulator, values, indices.tolist()))
        peak = max(peak, accumulator.capacity)
    written += sum(accumulator.close(index).records for index in accumulator.indices_with_records())
    assert written == 41 * count
    assert limit / 2 < peak <= limit


def test_a_partition_that_had_a_large_batch_gets_its_memory_at_once() -> None:
    accumulator = RecordAccumulator(1_000_000, 1_000_000, NO_COMPRESSION)
    accumulator.add_topic("t", 1)
    for first in (1024, 100_000):
        append(accumulator, [b"x" * 150], [0])
        assert first <= accumulator.capacity < first * 1.3
        values = [b"%0150d" % i for i in range(630)]
        assert append(accumulator, values, [0] * 630) == []
        assert values_of(accumulator.close(0)) == [b"x" * 150, *values]  # those from before the batch grew, too


def test_batches_by_age() -> None:
    accumulator = RecordAccumulator(1000, 100_000, NO_COMPRESSION)
    accumulator.add_topic("t", 3)
    append(accumulator, [b"a"], [2])
    between = time.monotonic()
    append(accumulator, [b"b", b"c"], [2, 0])
    assert accumulator.indices_created_before(between) == [2]
    assert sorted(accumulator.indices_created_before(time.monotonic())) == [0, 2]
    accumulator.close(2)
    assert accumulator.indices_created_before(time.monotonic()) == [0]
