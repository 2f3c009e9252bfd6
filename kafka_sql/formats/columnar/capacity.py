"""Estimate how much memory the columns of a batch need, from the batches before it."""

from __future__ import annotations

from typing import Final

import numpy as np

from kafka_sql.formats.columnar.column_buffers import BYTES_CAPACITY, CAPACITY, ColumnBuffers, ColumnNode
from kafka_sql.formats.format import ColumnOverflow

_SPARE: Final = 64
_MAX_BYTES: Final = 2**31 - 1  # as 32-bit offsets can address
_MAX_BYTES_OF_SEVERAL: Final = 1 << 28
_MARGIN: Final = 1.25


class CapacityEstimate:
    """An estimate of the entries and bytes of each slot per byte of the payloads.

    A payload that needs much memory is large, or its values are repetitions of names in its schema. The next batches
    have other payloads, so the estimate decreases again.
    """

    def __init__(self, tree: list[ColumnNode], slot_count: int) -> None:
        self._tree, self._slot_count = tree, slot_count
        self._entries = np.full(slot_count, 0.125)
        self._bytes = np.full(slot_count, 0.25)

    def allocate(self, rows: int, size: int) -> ColumnBuffers:
        """Return empty buffers for a number of payloads with ``size`` bytes in total."""
        entries, used = ((mean * size + _SPARE).astype(np.int64) for mean in (self._entries, self._bytes))
        return ColumnBuffers(self._tree, self._slot_count, rows, entries, np.minimum(used, _MAX_BYTES_OF_SEVERAL))

    def enlarge(self, buffers: ColumnBuffers, slot: int, *, by_bytes: bool, rows: int) -> bool:
        """Double a slot's capacity in entries or in bytes; return False if a single payload needs more than is allowed.

        Args:
            rows: number of rows before the payload for which the capacity is too small.

        Raises:
            ColumnOverflow: more than one payload needs more than is allowed.
        """
        entries, size = (int(buffers.table[slot, cell]) for cell in (CAPACITY, BYTES_CAPACITY))
        if not by_bytes:
            buffers.enlarge(slot, 2 * entries + _SPARE, size)
            return True
        if size >= (_MAX_BYTES_OF_SEVERAL if rows else _MAX_BYTES):
            if rows:
                raise ColumnOverflow
            return False
        buffers.enlarge(slot, entries, min(2 * size + _SPARE, _MAX_BYTES))
        return True

    def observe(self, buffers: ColumnBuffers, size: int) -> None:
        """Remember what payloads with ``size`` bytes in total needed."""
        for estimate, used in ((self._entries, buffers.counts), (self._bytes, buffers.bytes_used)):
            np.maximum(estimate / 2, _MARGIN * used / max(size, 1), out=estimate)
