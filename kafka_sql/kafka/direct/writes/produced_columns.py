"""Hold columns of records in the form that the compiled loops of producers take."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.kafka.columns import ColumnView, column_view, flatten_headers, null_column, read_only
from kafka_sql.kafka.direct.writes.produce_kernels import HeaderViews, append_records, max_record_size


@dataclass(frozen=True)
class ProducedColumns:
    """Columns of records."""

    values: ColumnView
    keys: ColumnView  # nulls if no record has a key
    timestamps: npt.NDArray[np.int64] | None  # int64 milliseconds since 1970; None for ``now`` in all rows
    headers: HeaderViews | None  # None for none in all rows
    now: int  # milliseconds since 1970
    arrays: tuple[pa.Array | None, ...]  # the arrays whose memory the views refer to

    @property
    def payload_bytes(self) -> int:
        """Bytes of all keys and values."""
        return sum(int(offsets[-1] - offsets[0]) for offsets, _, _ in (self.keys, self.values))

    def append(self, cursors: npt.NDArray[np.int64], indices: npt.NDArray[np.int32], row: int) -> int:
        """Append the rows from ``row`` on to open batches; see ``produce_kernels.append_records``."""
        appended: int = append_records(
            cursors, self.values, self.keys, self.timestamps, self.headers, self.now, indices, row
        )
        return appended

    def record_sizes(self, row: int) -> tuple[int, int]:
        """Return the bytes of a row's key, value and headers, and the maximum size of its record."""
        key, value = (int(offsets[row + 1] - offsets[row]) for offsets, _, _ in (self.keys, self.values))
        headers = header_count = 0
        if self.headers is not None:
            header_offsets, *names_and_values = self.headers
            start, end = int(header_offsets[row]), int(header_offsets[row + 1])
            headers = sum(int(offsets[end] - offsets[start]) for offsets, _, _ in names_and_values)
            header_count = end - start
        return key + value + headers, max_record_size(key, value, headers, header_count)


def produced_columns(
    values: pa.BinaryArray,
    keys: pa.BinaryArray | None,
    timestamps: npt.NDArray[np.int64] | None,
    headers: pa.ListArray | pa.MapArray | None,
) -> ProducedColumns:
    """Return the columns of records; see ``DirectProducer.produce``."""
    count, now = len(values), int(time.time() * 1000)
    key_view = column_view(keys) if keys is not None else null_column(count)
    if timestamps is not None:
        timestamps = np.where(timestamps < 0, now, timestamps)
    if headers is None:
        return ProducedColumns(column_view(values), key_view, timestamps, None, now, (values, keys))
    header_offsets, names, header_values = flatten_headers(headers, count)
    header_views = read_only(header_offsets), column_view(names), column_view(header_values)
    arrays = values, keys, names, header_values
    return ProducedColumns(column_view(values), key_view, timestamps, header_views, now, arrays)
