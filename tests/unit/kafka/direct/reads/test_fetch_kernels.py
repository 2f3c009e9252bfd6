"""Decoding of fetched batches, compared with the records they were built from; damaged and compressed batches."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import struct
from typing import Any
from unittest import mock

import google_crc32c
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.kafka.direct.compression import CODECS, decompress
from kafka_sql.kafka.direct.reads import fetch_kernels as kernels
from kafka_sql.kafka.direct.reads import fetched_batches
from kafka_sql.kafka.direct.reads.fetched_batches import FetchedBatches, split_runs, to_records
from kafka_sql.kafka.direct.writes.batch import ProducerIdAndEpoch, small_batch
from kafka_sql.kafka.protocol.codec import MalformedResponse
from kafka_sql.kafka.records import RecordFields, Records
from tests.unit.kafka.direct.record_batches import RecordBatch, varint, with_length

ALL = RecordFields(keys=True, timestamps=True, headers=True, leader_epochs=True)
TRANSACTIONAL, CONTROL, LOG_APPEND_TIME = 0x10, 0x20, 0x08
MAX_BATCH = 1 << 20  # bytes
PAYLOADS = st.one_of(st.none(), st.binary(max_size=300))
HEADERS = st.lists(st.tuples(st.text(max_size=5).map(str.encode), st.one_of(st.none(), st.binary(max_size=9))))


def read(content: bytes, start: int, stop: int, aborted: list[tuple[int, int]] | None = None) -> tuple[Records, int]:
    """Return all records and the next offset."""
    fetched = FetchedBatches(memoryview(content))
    assert fetched.find_wrong_checksum(stop) is None
    located = fetched.locate(start, stop, aborted or [], MAX_BATCH, ALL)
    parts = [(to_records(columns, ALL), position) for columns, position in located]
    return concat([records for records, _ in parts]), parts[-1][1]


def header_rows(records: Records) -> list[list[tuple[bytes, bytes | None]]]:
    """Return the names and values of each record's headers."""
    assert records.headers is not None
    return [[(header["key"].encode(), header["value"]) for header in row] for row in records.headers.to_pylist()]


def concat(parts: list[Records]) -> Records:
    """Concatenate records."""
    columns: dict[str, Any] = {}
    for field in dataclasses.fields(Records):
        arrays = [getattr(part, field.name) for part in parts]
        if arrays[0] is not None:
            columns[field.name] = (
                np.concatenate(arrays) if isinstance(arrays[0], np.ndarray) else pa.concat_arrays(arrays)
            )
    return Records(**columns)


@st.composite
def batch_lists(draw: st.DrawFn) -> list[RecordBatch]:
    """Batches as after compaction: with gaps, and some without records."""
    base, batches = draw(st.integers(0, 2**40)), []
    for _ in range(draw(st.integers(1, 5))):
        deltas = sorted(draw(st.sets(st.integers(0, 200), max_size=20)))
        rows = [(delta, draw(st.integers(-(2**33), 2**33)), draw(PAYLOADS), draw(PAYLOADS)) for delta in deltas]
        last = (deltas[-1] if deltas else 0) + draw(st.integers(0, 3))
        attributes, producer = draw(st.sampled_from([0, TRANSACTIONAL, LOG_APPEND_TIME])), draw(PRODUCERS)
        headers = [draw(HEADERS) for _ in rows]
        batches.append(RecordBatch(base, rows, last, attributes, producer, headers=headers))
        base += last + 1 + draw(st.integers(0, 3))
    return batches


PRODUCERS = st.integers(-1, 2)


@given(batch_lists(), st.data())
def test_every_record_of_a_range(batches: list[RecordBatch], data: st.DataObject) -> None:
    first, end = batches[0].base, batches[-1].base + batches[-1].last + 1
    start = data.draw(st.integers(first, end - 1))
    stop = data.draw(st.integers(start + 1, end + 5))
    expected = [
        (batch.base + delta, key, value, 9_000 if batch.attributes == LOG_APPEND_TIME else 1_000 + time, headers)
        for batch in batches
        for (delta, time, key, value), headers in zip(batch.rows, batch.headers or (), strict=True)
        if start <= batch.base + delta < stop
    ]
    content = b"".join(batch.encode() for batch in batches)
    cut = data.draw(st.integers(0, 60))  # bytes of an incomplete last batch
    found, position = read(content + batches[0].encode()[:cut], start, stop)
    assert found.keys is not None
    assert found.timestamps is not None
    assert found.leader_epochs is not None
    columns = (found.offsets.tolist(), found.keys.to_pylist(), found.values.to_pylist(), found.timestamps.tolist())
    assert list(zip(*columns, header_rows(found), strict=True)) == expected
    assert set(found.leader_epochs.tolist()) <= {3}
    assert position == (stop if any(batch.base >= stop for batch in batches) else end)


def test_aborted_transactions_are_skipped() -> None:
    def data(base: int, producer: int, attributes: int = TRANSACTIONAL) -> RecordBatch:
        return RecordBatch(base, [(0, 0, None, b"%d" % base)], 0, attributes, producer)

    def marker(base: int, producer: int, committed: bool) -> RecordBatch:
        key = struct.pack(">hh", 0, committed)
        return RecordBatch(base, [(0, 0, key, b"\0\0\0\0\0\0")], 0, TRANSACTIONAL | CONTROL, producer)

    batches = [
        data(0, 1),  # in a committed transaction before the aborted one
        marker(1, 1, committed=True),
        data(2, 1),
        data(3, 2),
        data(4, 1, attributes=0),  # not transactional
        marker(5, 1, committed=False),
        data(6, 1),  # in the next transaction
        data(7, 2),
        marker(8, 2, committed=False),
        marker(9, 1, committed=True),
    ]
    content = b"".join(batch.encode() for batch in batches)
    found, position = read(content, 0, 100, [(1, 2), (2, 3)])
    assert (found.values.to_pylist(), position) == ([b"0", b"4", b"6"], 10)
    assert read(content, 0, 100)[0].values.to_pylist() == [b"0", b"2", b"3", b"4", b"6", b"7"]


def compressed(batch: RecordBatch, codec: int) -> bytes:
    """Encode a batch with compressed records."""
    plain = batch._replace(attributes=batch.attributes | codec).encode()
    records = compress(codec, plain[61:])
    checked = plain[21:61] + records
    return plain[:8] + struct.pack(">iibI", len(checked) + 9, 3, 2, google_crc32c.value(checked)) + checked


def compress(codec: int, content: bytes) -> bytes:
    name = CODECS[codec]
    if name == "gzip":
        return gzip.compress(content)
    if name != "snappy":
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, name) as stream:
            stream.write(content)
        return sink.getvalue().to_pybytes()
    snappy = pa.Codec("snappy")
    halves = [content[: len(content) // 2], content[len(content) // 2 :]]
    blocks = [snappy.compress(half, asbytes=True) for half in halves if half]
    framed = b"".join(struct.pack(">i", len(block)) + block for block in blocks)
    return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + framed


@given(batch_lists(), st.integers(1, 4), st.integers(0, 2_000))
def test_compressed_batches(batches: list[RecordBatch], codec: int, at_once: int) -> None:
    with mock.patch.object(fetched_batches, "_MAX_DECOMPRESSED", at_once):
        check_compressed(batches, codec)


def check_compressed(batches: list[RecordBatch], codec: int) -> None:
    plain = read(b"".join(batch.encode() for batch in batches), 0, 2**62)
    mixed = [compressed(batch, codec) if i % 3 else batch.encode() for i, batch in enumerate(batches, 1)]
    found = read(b"".join(mixed), 0, 2**62)
    assert (found[0].values, found[1]) == (plain[0].values, plain[1])
    assert found[0].offsets.tolist() == plain[0].offsets.tolist()


def test_header_names_that_are_not_utf8() -> None:
    headers = [[(b"a\xff", b"1"), (b"b", None), (b"b", b"")], []]
    found, _ = read(RecordBatch(0, [(0, 0, None, None), (1, 0, None, b"")], 1, headers=headers).encode(), 0, 2)
    assert header_rows(found) == [[("a\ufffd".encode(), b"1"), (b"b", None), (b"b", b"")], []]


@pytest.mark.parametrize(
    "headers",
    [
        varint(-1),
        varint(1),
        varint(2) + with_length(b"name") + with_length(b"value"),
        varint(1) + with_length(None) + with_length(b"value"),
        varint(1) + with_length(b"name") + varint(6) + b"value",
        varint(0) + b"rest",
    ],
)
def test_damaged_headers(headers: bytes) -> None:
    content = bytearray(RecordBatch(0, [(0, 0, None, None)], 0, headers=[[(b"", b"0" * 60)]]).encode())
    record = b"\0\0\0" + varint(-1) * 2 + headers
    content[61:] = with_length(record)
    content[8:12] = struct.pack(">i", len(content) - 12)
    fetched = FetchedBatches(memoryview(content))
    ((columns, _),) = fetched.locate(0, 1, [], MAX_BATCH, ALL)
    with pytest.raises(MalformedResponse, match="damaged"):
        to_records(columns, ALL)


def test_batches_after_the_stop_are_not_decompressed() -> None:
    needed, other = (compressed(RecordBatch(base, [(0, 0, None, b"a")], 0), 4) for base in (5, 9))
    content = needed + other[:61] + b"\0" * (len(other) - 61)
    for stop in (6, 7, 9):
        fetched = FetchedBatches(memoryview(content))
        parts = list(fetched.locate(5, stop, [], MAX_BATCH))
        assert [columns[0].tolist() for columns, _ in parts] == [[5], []]
        assert parts[-1][1] == stop
    with pytest.raises(MalformedResponse, match="decompressed"):
        list(FetchedBatches(memoryview(content)).locate(5, 10, [], MAX_BATCH))


def test_snappy_without_a_frame() -> None:
    content = b"abc" * 100
    assert decompress(2, memoryview(pa.Codec("snappy").compress(content, asbytes=True)), 300) == content


@pytest.mark.parametrize("codec", range(1, 5))
def test_decompressed_size_is_limited(codec: int) -> None:
    content = compress(codec, b"\0" * 10_000)
    assert decompress(codec, memoryview(content), 10_000) == b"\0" * 10_000
    with pytest.raises(MalformedResponse, match="decompressed"):
        decompress(codec, memoryview(content), 4_000)


@given(st.integers(1, 4), st.binary(min_size=1, max_size=200), st.data())
def test_damaged_compressed_data(codec: int, content: bytes, data: st.DataObject) -> None:
    damaged = bytearray(compress(codec, content))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(MalformedResponse):
        assert len(decompress(codec, memoryview(damaged), 1_000)) <= 1_000


def test_batches_in_an_older_format_are_not_supported() -> None:
    plain, older = RecordBatch(5, [(0, 0, None, b"a")], 0), bytearray(RecordBatch(6, [(0, 0, None, b"b")], 0).encode())
    older[16] = 1
    found = FetchedBatches(memoryview(plain.encode() + older + plain.encode()))
    assert (found.is_supported, found.next_offset) == (False, 6)
    assert [position for _, position in found.locate(0, 10, [], MAX_BATCH)] == [6]
    assert FetchedBatches(memoryview(older)).next_offset == -1


def test_wrong_checksum() -> None:
    first, second = (bytearray(RecordBatch(offset, [(0, 0, None, b"a")], 0).encode()) for offset in (5, 6))
    second[-8] ^= 1
    fetched = FetchedBatches(memoryview(first + second))
    assert fetched.find_wrong_checksum(7) == 6
    assert fetched.find_wrong_checksum(6) is None  # the second batch is not needed


@given(batch_lists(), st.data())
def test_addresses_in_damaged_batches_stay_inside(batches: list[RecordBatch], data: st.DataObject) -> None:
    content = bytearray(b"".join(batch.encode() for batch in batches))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]))
    found = FetchedBatches(memoryview(content))
    try:
        inside = [_inside(found, columns) for columns, _ in found.locate(0, 2**62, [(1, 0)], MAX_BATCH, ALL)]
    except MalformedResponse:
        return
    assert all(inside)


def _inside(found: FetchedBatches, columns: npt.NDArray[np.int64]) -> bool:
    """Return whether all addresses are inside of the batches."""
    places = [(at, at + size) for at, size, *_ in found._batches.tolist()]
    locations = [columns[[kernels.KEY, kernels.KEY_SIZE]], columns[[kernels.VALUE, kernels.VALUE_SIZE]]]
    starts, ends = columns[kernels.HEADERS], columns[kernels.END]
    lists = np.empty(len(starts) + 1, np.int32)
    if kernels.count_headers(starts, ends, lists) == kernels.DONE:
        headers = np.empty((4, lists[-1]), np.int64)
        kernels.locate_headers(starts, ends, lists, headers)
        locations += [headers[:2], headers[2:]]
    return len(columns[0]) * 7 <= sum(end - start for start, end in places) and all(
        any(start <= address and address + length <= end for start, end in places) if address else length == -1
        for location in locations
        for address, length in location.T.tolist()
    )


@given(st.lists(st.tuples(st.integers(-1, 50), st.integers(-1, 50))), st.integers(1, 10), st.integers(1, 100))
def test_runs_have_the_maximum_size(sizes: list[tuple[int, int]], rows: int, size: int) -> None:
    columns = np.zeros((8, len(sizes)), np.int64)
    columns[2], columns[4] = np.array(sizes, np.int64).reshape(-1, 2).T
    totals = [sum(max(size_, 0) for size_ in pair) for pair in sizes]
    runs = list(split_runs(columns, rows, size))
    assert [i for start, end in runs for i in range(start, end)] == list(range(len(sizes)))
    for start, end in runs:
        assert end - start == 1 or (end - start <= rows and sum(totals[start:end]) <= size)
        assert end == len(totals) or end - start == rows or sum(totals[start : end + 1]) > size


def test_round_trip() -> None:
    batch = small_batch("t", 0, {"a": b"1", "b": None})
    batch.write_header(ProducerIdAndEpoch(7, 0), 0)
    found, position = read(batch.head + bytes(batch.body), 0, 10)
    assert found.keys is not None
    assert (found.keys.to_pylist(), found.values.to_pylist(), position) == ([b"a", b"b"], [b"1", None], 2)
    assert found.values.type == pa.binary()
