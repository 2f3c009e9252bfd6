"""Locate the records of fetched batches, and copy them into columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import google_crc32c
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.kafka.columns import copy_binary, header_lists
from kafka_sql.kafka.direct.batch_layout import CHECKED, HEADER
from kafka_sql.kafka.direct.compression import decompress
from kafka_sql.kafka.direct.reads import fetch_kernels as kernels
from kafka_sql.kafka.protocol.codec import MalformedResponse
from kafka_sql.kafka.records import VALUES_ONLY, RecordFields, Records

_CHECKSUM: Final = np.arange(17, 21)  # its bytes in a batch
_BASE_OFFSET: Final = np.arange(8)
_MAX_DECOMPRESSED: Final = 8 << 20  # bytes held at once, plus one batch
_DAMAGED: Final = "a record batch is damaged"


class FetchedBatches:
    """The record batches of one response.

    Attributes:
        next_offset: the offset after the last complete batch; -1 without one.
        is_supported: whether all batches have a supported format. The first other one and all after it are ignored.
        is_damaged: whether the header of a batch is damaged. It and all after it are ignored.
    """

    def __init__(self, records: memoryview) -> None:
        self._bytes = np.frombuffer(records, np.uint8)
        self._bytes.setflags(write=False)
        start = self._bytes.ctypes.data
        batches = np.empty((len(records) // HEADER, 4), np.int64)
        count, status = kernels.find_batches(start, start + len(records), batches)
        self._batches = batches[:count]
        self.is_supported, self.is_damaged = status != kernels.UNSUPPORTED, status == kernels.MALFORMED
        self.next_offset = kernels.next_offset(int(batches[count - 1, kernels.ADDRESS])) if count else -1

    def find_wrong_checksum(self, stop: int) -> int | None:
        """Verify the checksums of the batches that begin before an offset.

        Returns:
            the first offset of the first batch whose checksum is wrong; None if all are right.
        """
        batches = self._batches[: self._count_before(stop)]
        starts = batches[:, kernels.ADDRESS] - self._bytes.ctypes.data
        stored = self._bytes[starts[:, np.newaxis] + _CHECKSUM].view(">u4")[:, 0]
        ends = starts + batches[:, kernels.SIZE]
        # Python lists: a batch may contain a single record, so this loop is hot
        for start, end, checksum in zip(starts.tolist(), ends.tolist(), stored.tolist(), strict=True):
            if google_crc32c.value(self._bytes[start + CHECKED : end]) != checksum:
                return int(self._bytes[start + _BASE_OFFSET].view(">i8")[0])
        return None

    def locate(
        self, start: int, stop: int, aborted: list[tuple[int, int]], max_batch: int, fields: RecordFields = VALUES_ONLY
    ) -> Iterator[tuple[npt.NDArray[np.int64], int]]:
        """Yield the records from offset ``start`` to ``stop`` in parts: columns of addresses, and the next offset.

        The addresses are valid until the next part is requested.

        Args:
            max_batch: maximum bytes of a decompressed batch.

        Raises:
            MalformedResponse: a batch is damaged. The records before it were yielded.
        """
        column_count = kernels.COLUMNS_WITH_HEADERS if fields.headers else kernels.COLUMNS
        transactions = np.array(aborted, np.int64).reshape(-1, 2)
        states, position = np.zeros(len(transactions), np.uint8), start
        batch_count = self._count_before(stop)
        for part in self._parts(batch_count, max_batch):
            columns = np.empty((column_count, part[:, kernels.RECORDS].sum()), np.int64)
            headers = columns[kernels.COLUMNS :] if fields.headers else None
            count, position, status = kernels.locate_records(
                part, len(part), position, stop, transactions, states, columns[: kernels.COLUMNS], headers
            )
            yield columns[:, :count], position
            if status != kernels.DONE:
                raise MalformedResponse(_DAMAGED)
        if batch_count < len(self._batches):
            yield np.empty((column_count, 0), np.int64), stop

    def _count_before(self, stop: int) -> int:
        """Return how many batches there are before the first one that begins at an offset or after it."""
        if self.next_offset <= stop:
            return len(self._batches)
        starts = self._batches[:, kernels.ADDRESS] - self._bytes.ctypes.data
        is_after = self._bytes[starts[:, np.newaxis] + _BASE_OFFSET].view(">i8")[:, 0] >= stop
        return int(np.argmax(is_after)) if is_after.any() else len(is_after)

    def _parts(self, count: int, max_batch: int) -> Iterator[npt.NDArray[np.int64]]:
        """Yield runs of the first batches, with compressed ones decompressed until the next run is requested."""
        start, size, buffers = 0, 0, list[npt.NDArray[np.uint8]]()
        for i in np.flatnonzero(self._batches[:count, kernels.CODEC]).tolist():
            try:
                buffers.append(self._decompress(i, max_batch))
            except MalformedResponse:
                if i > start:
                    yield self._batches[start:i]
                raise
            size += len(buffers[-1])
            if size > _MAX_DECOMPRESSED:
                yield self._batches[start : i + 1]
                start, size = i + 1, 0
                buffers.clear()
        yield self._batches[start:count]

    def _decompress(self, i: int, max_batch: int) -> npt.NDArray[np.uint8]:
        """Copy a batch with its records decompressed, and make the copy the i-th batch."""
        address, size, records, codec = self._batches[i].tolist()
        offset = address - self._bytes.ctypes.data
        content = decompress(codec, self._bytes.data[offset + HEADER : offset + size], max_batch)
        if records > len(content) // kernels.MIN_RECORD:
            raise MalformedResponse(_DAMAGED)
        batch = np.concatenate((self._bytes[offset : offset + HEADER], np.frombuffer(content, np.uint8)))
        self._batches[i, : kernels.RECORDS] = batch.ctypes.data, len(batch)
        return batch


def split_runs(columns: npt.NDArray[np.int64], max_rows: int, max_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of runs of at most so many rows and bytes. A single larger record is a run."""
    ends = np.cumsum(np.maximum(columns[kernels.KEY_SIZE], 0) + np.maximum(columns[kernels.VALUE_SIZE], 0))
    start, bytes_before = 0, 0
    while start < len(ends):
        end = min(max(int(np.searchsorted(ends, bytes_before + max_bytes, "right")), start + 1), start + max_rows)
        end = min(end, len(ends))
        yield start, end
        start, bytes_before = end, int(ends[end - 1])


def to_records(columns: npt.NDArray[np.int64], fields: RecordFields) -> Records:
    """Copy the records at columns of addresses (see ``fetch_kernels.locate_records``).

    Raises:
        MalformedResponse: the headers of a record are damaged.
    """
    return Records(
        copy_binary(columns[kernels.VALUE], columns[kernels.VALUE_SIZE]),
        columns[kernels.OFFSET],
        copy_binary(columns[kernels.KEY], columns[kernels.KEY_SIZE]) if fields.keys else None,
        columns[kernels.TIME] if fields.timestamps else None,
        columns[kernels.TIME_TYPE].astype(np.int32) if fields.timestamps else None,
        _copy_headers(columns[kernels.HEADERS], columns[kernels.END]) if fields.headers else None,
        columns[kernels.LEADER_EPOCH].astype(np.int32) if fields.leader_epochs else None,
    )


def _copy_headers(starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]) -> pa.ListArray:
    header_offsets = np.empty(len(starts) + 1, np.int32)
    if kernels.count_headers(starts, ends, header_offsets) != kernels.DONE:
        raise MalformedResponse(_DAMAGED)
    headers = np.empty((4, header_offsets[-1]), np.int64)
    kernels.locate_headers(starts, ends, header_offsets, headers)
    names, name_sizes, values, value_sizes = headers
    return header_lists(header_offsets, copy_binary(names, name_sizes), copy_binary(values, value_sizes))
