"""The fast way: payloads through a compiled loop, and its slots to columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.formats.columnar.buffer_kernels import DEFERRED_FLOATS, FULL_BYTES_SLOT, FULL_SLOT, STATE_CELLS
from kafka_sql.formats.columnar.column_buffers import BYTES_CAPACITY, CAPACITY, WIDTH, ColumnBuffers
from kafka_sql.formats.columnar.decode_plan import DecodePlan
from kafka_sql.formats.java.jackson import Fractional
from kafka_sql.formats.java.scalars import to_double, to_float

Bytes: TypeAlias = npt.NDArray[np.uint8]
Offsets: TypeAlias = npt.NDArray[np.int32]
Indices: TypeAlias = npt.NDArray[np.int64]

_SPARE: Final = 64


class TextReader:
    """Reads what the loop takes; keeps in mind how much room the columns took."""

    def __init__(self, program: DecodePlan, run: Callable[..., int], *own: Any) -> None:
        """
        Args:
            run: a compiled loop, as the json format's (reading.py).
            own: its arguments between the place where it begins and the slots.
        """
        self._program, self._run, self._own = program, run, own
        self._room = np.ones(program.slot_count)  # entries a payload
        self._bytes = np.full(program.slot_count, 16.0)

    def read(self, data: Bytes, offsets: Offsets, rows: Indices) -> tuple[Indices, list[pa.Array]]:
        """Which of the payloads that ``rows`` names were read, each to one row, and the columns."""
        p, count = self._program, len(rows)
        longest = int((offsets[rows + 1] - offsets[rows]).max(initial=0)) + _SPARE
        room, room_of_bytes = ((r * count).astype(np.int64) + longest for r in (self._room, self._bytes))
        slots = ColumnBuffers(p.tree, p.slot_count, count, room, room_of_bytes)
        odd, state, hard = np.zeros(count, np.uint8), np.zeros(STATE_CELLS, np.int64), np.empty((_SPARE, 4), np.int64)
        done = 0
        while True:
            filled = slots.table, slots.counts, slots.bytes_used, slots.nulls
            done = self._run(data, offsets, rows, done, *self._own, *filled, odd, hard, state)
            if done == count:
                break
            if state[FULL_SLOT] == p.slot_count:
                hard = np.concatenate((hard, np.empty_like(hard)))
            else:
                self._enlarge(slots, int(state[FULL_SLOT]), int(state[FULL_BYTES_SLOT]), longest)
        self._read_hard(data, slots, hard[: state[DEFERRED_FLOATS]])
        self._room = np.maximum(self._room, slots.counts / max(count, 1))
        self._bytes = np.maximum(self._bytes, slots.bytes_used / max(count, 1))
        return rows[odd == 0], [slots.to_arrow(node, is_utf8=True) for node in p.tree]

    def _enlarge(self, slots: ColumnBuffers, full: int, full_of_bytes: int, longest: int) -> None:
        if full >= 0:
            slots.enlarge(full, 2 * int(slots.table[full, CAPACITY]) + longest, int(slots.table[full, BYTES_CAPACITY]))
        else:
            size = 2 * int(slots.table[full_of_bytes, BYTES_CAPACITY]) + longest
            slots.enlarge(full_of_bytes, int(slots.table[full_of_bytes, CAPACITY]), size)

    def _read_hard(self, data: Bytes, slots: ColumnBuffers, hard: Indices) -> None:
        """Numbers that the loop cannot certainly round, by Arrow's parser of text."""
        for slot in np.unique(hard[:, 0]).tolist():
            _, entries, starts, lengths = hard[hard[:, 0] == slot].T
            ends = np.cumsum(lengths)
            text = data[np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1])]
            buffers = [None, pa.py_buffer(np.concatenate(([0], ends)).astype(np.int32)), pa.py_buffer(text)]
            texts = pa.Array.from_buffers(pa.string(), len(ends), buffers)
            dtype = np.dtype(np.float32 if slots.table[slot, WIDTH] == 4 else np.float64)
            slots.value_bytes(slot).view(dtype)[entries] = _numbers(texts, dtype)


def _numbers(texts: pa.StringArray, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    try:
        return np.asarray(texts.cast(pa.from_numpy_dtype(dtype)))
    except pa.ArrowInvalid:  # beyond all numbers
        read = to_float if dtype == np.float32 else to_double
        return np.array([read(Fractional(text)) for text in texts.to_pylist()], dtype)
