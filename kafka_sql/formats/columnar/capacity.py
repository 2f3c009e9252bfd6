"""Estimate how much memory the columns of a batch need, from the batches before it."""

from __future__ import annotations

from typing import Final

import numpy as np

from kafka_sql.formats.columnar.column_buffers import BYTES_CAPACITY, ColumnBuffers, ColumnNode

_SPARE: Final = 64
_LARGEST: Final = 2**31 - 1  # bytes that 32-bit offsets can address


class CapacityEstimate:
    """Entries and bytes per row of each slot."""

    def __init__(self, tree: list[ColumnNode], slot_count: int) -> None:
        self._tree, self._slot_count = tree, slot_count
        self._entries = np.full(slot_count, 4.0)
        self._bytes = np.full(slot_count, 16.0)

    def allocate(self, rows: int) -> ColumnBuffers:
        """Return empty buffers for a number of rows."""
        entries, size = ((mean * rows + _SPARE).astype(np.int64) for mean in (self._entries, self._bytes))
        return ColumnBuffers(self._tree, self._slot_count, rows, entries, np.minimum(size, _LARGEST))

    def raise_entries(self, buffers: ColumnBuffers, slot: int, done: int) -> None:
        """Estimate more entries for a slot that was full after ``done`` rows."""
        self._entries[slot] = max(2 * self._entries[slot], _per_row(int(buffers.counts[slot]), done))

    def raise_bytes(self, buffers: ColumnBuffers, slot: int, done: int) -> None:
        """Estimate more bytes for a slot that was full after ``done`` rows.

        Raises:
            OverflowError: the slot had the largest capacity.
        """
        if buffers.table[slot, BYTES_CAPACITY] == _LARGEST:
            raise OverflowError("a column of more than 2 GiB in one buffer")
        self._bytes[slot] = max(2 * self._bytes[slot], _per_row(int(buffers.bytes_used[slot]), done))


def _per_row(used: int, done: int) -> float:
    return 1.25 * used / max(done, 1)  # with a margin, as the remaining rows may be larger
