"""Estimate how much memory the columns of a batch need, from the batches before it."""

from __future__ import annotations

from typing import Final

import numpy as np

from kafka_sql.formats.columnar.column_buffers import BYTES_CAPACITY, ColumnBuffers, ColumnNode

_SPARE: Final = 64
_MAX_BYTES: Final = 2**31 - 1  # as 32-bit offsets can address


class CapacityEstimate:
    """An estimate of the entries and bytes per row of each slot, which grows when a slot was full."""

    def __init__(self, tree: list[ColumnNode], slot_count: int) -> None:
        self._tree, self._slot_count = tree, slot_count
        self._entries = np.full(slot_count, 4.0)
        self._bytes = np.full(slot_count, 16.0)

    def allocate(self, rows: int) -> ColumnBuffers:
        """Return empty buffers for a number of rows."""
        entries, size = ((mean * rows + _SPARE).astype(np.int64) for mean in (self._entries, self._bytes))
        return ColumnBuffers(self._tree, self._slot_count, rows, entries, np.minimum(size, _MAX_BYTES))

    def increase_entries(self, buffers: ColumnBuffers, slot: int, rows: int) -> None:
        """Increase the estimated entries of a slot that was full after ``rows`` rows."""
        self._entries[slot] = max(2 * self._entries[slot], _per_row(int(buffers.counts[slot]), rows))

    def increase_bytes(self, buffers: ColumnBuffers, slot: int, rows: int) -> None:
        """Increase the estimated bytes of a slot that was full after ``rows`` rows.

        Raises:
            OverflowError: the slot already had the maximum capacity.
        """
        if buffers.table[slot, BYTES_CAPACITY] == _MAX_BYTES:
            raise OverflowError(
                "The records that are decoded at once have more than 2 GiB of values in a column. "
                "Lower 'scan.batch.max-bytes'."
            )
        self._bytes[slot] = max(2 * self._bytes[slot], _per_row(int(buffers.bytes_used[slot]), rows))


def _per_row(amount: int, rows: int) -> float:
    return 1.25 * amount / max(rows, 1)  # with a margin, as the remaining rows may be larger
