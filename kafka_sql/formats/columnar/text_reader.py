"""Run a format's compiled decode loop over payloads, and return its buffers as columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.formats.columnar.arrow_buffers import pass_addresses
from kafka_sql.formats.columnar.buffer_kernels import (
    DEFERRED_CELLS,
    DEFERRED_FLOATS,
    FULL_BYTES_SLOT,
    FULL_SLOT,
    STATE_CELLS,
    Batch,
)
from kafka_sql.formats.columnar.column_buffers import BYTES_CAPACITY, CAPACITY, WIDTH, ColumnBuffers
from kafka_sql.formats.columnar.decode_plan import DecodePlan
from kafka_sql.formats.java.jackson import Fractional
from kafka_sql.formats.java.scalars import to_double, to_float

Bytes: TypeAlias = npt.NDArray[np.uint8]
Offsets: TypeAlias = npt.NDArray[np.int32]
Indices: TypeAlias = npt.NDArray[np.int64]

_SPARE: Final = 64


class TextReader:
    """Reads the payloads that the loop supports. Remembers how much capacity the columns needed."""

    def __init__(self, plan: DecodePlan, decode_rows: Callable[[Batch, Any], int], options: tuple[Any, ...]) -> None:
        """
        Args:
            decode_rows: the compiled loop. Given the batch and the format's options, it returns the position in
                ``batch.indices`` up to which it decoded; if that is not the end, a buffer is full.
        """
        self._plan, self._decode_rows, self._options = plan, decode_rows, options
        self._entries = np.ones(plan.slot_count)  # per payload, like the bytes
        self._bytes = np.full(plan.slot_count, 16.0)

    def read(self, data: Bytes, offsets: Offsets, indices: Indices) -> tuple[Indices, list[pa.Array]]:
        """Decode the payloads that ``indices`` names; return which were decoded, each to one row, and the columns."""
        plan, count = self._plan, len(indices)
        sizes = offsets[indices + 1] - offsets[indices]
        longest_payload, total_bytes = int(sizes.max(initial=0)) + _SPARE, int(sizes.sum())
        # no payload has more entries, or more bytes in them, than bytes; an earlier one may have been much larger
        entries, size = (
            np.minimum(mean * count, total_bytes).astype(np.int64) + longest_payload
            for mean in (self._entries, self._bytes)
        )
        buffers = ColumnBuffers(plan.tree, plan.slot_count, count, entries, size)
        offsets, indices = np.ascontiguousarray(offsets), np.ascontiguousarray(indices)
        skipped, state = np.zeros(count, np.uint8), np.zeros(STATE_CELLS, np.int64)
        deferred = np.empty((_SPARE, DEFERRED_CELLS), np.int64)
        stack = np.empty((plan.max_depth + 1, 3), np.int64)
        position = 0
        while True:
            state[FULL_SLOT] = state[FULL_BYTES_SLOT] = -1
            batch = pass_addresses(
                Batch, data=data, last_word=data.ctypes.data + len(data) - 8, offsets=offsets, indices=indices,
                begin=position, end=count, plan=plan.slot_table, names=plan.name_table, name_bytes=plan.name_bytes,
                root=plan.slot_count, slots=buffers.table, counts=buffers.counts, bytes_used=buffers.bytes_used,
                nulls=buffers.nulls, skipped=skipped, deferred=deferred, deferred_capacity=len(deferred), state=state,
                stack=stack,
            )  # fmt: skip
            position = self._decode_rows(batch, self._options)
            if position == count:
                break
            if state[FULL_SLOT] == plan.slot_count:
                deferred = np.concatenate((deferred, np.empty_like(deferred)))
            else:
                _enlarge(buffers, int(state[FULL_SLOT]), int(state[FULL_BYTES_SLOT]), longest_payload)
        _parse_deferred(data, buffers, deferred[: state[DEFERRED_FLOATS]])
        self._entries = np.maximum(self._entries, buffers.counts / max(count, 1))
        self._bytes = np.maximum(self._bytes, buffers.bytes_used / max(count, 1))
        return indices[skipped == 0], [buffers.to_arrow(node, is_utf8=True) for node in plan.tree]


def _enlarge(buffers: ColumnBuffers, full_slot: int, full_bytes_slot: int, longest_payload: int) -> None:
    if full_slot >= 0:
        capacity = 2 * int(buffers.table[full_slot, CAPACITY]) + longest_payload
        buffers.enlarge(full_slot, capacity, int(buffers.table[full_slot, BYTES_CAPACITY]))
    else:
        bytes_capacity = 2 * int(buffers.table[full_bytes_slot, BYTES_CAPACITY]) + longest_payload
        buffers.enlarge(full_bytes_slot, int(buffers.table[full_bytes_slot, CAPACITY]), bytes_capacity)


def _parse_deferred(data: Bytes, buffers: ColumnBuffers, deferred: Indices) -> None:
    """Parse the floats that the loop could not round with certainty, with Arrow."""
    for slot in np.unique(deferred[:, 0]).tolist():
        _, entries, starts, lengths = deferred[deferred[:, 0] == slot].T
        ends = np.cumsum(lengths)
        text = data[np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1])]
        string_offsets = np.concatenate(([0], ends)).astype(np.int32)
        buffers_of_text = [None, pa.py_buffer(string_offsets), pa.py_buffer(text)]
        strings = pa.Array.from_buffers(pa.string(), len(ends), buffers_of_text)
        dtype = np.dtype(np.float32 if buffers.table[slot, WIDTH] == 4 else np.float64)
        buffers.value_bytes(slot).view(dtype)[entries] = _parse_floats(strings, dtype)


def _parse_floats(strings: pa.StringArray, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    try:
        return np.asarray(strings.cast(pa.from_numpy_dtype(dtype)))
    except pa.ArrowInvalid:  # out of range, which Java reads as infinity or 0
        convert = to_float if dtype == np.float32 else to_double
        return np.array([convert(Fractional(text)) for text in strings.to_pylist()], dtype)
