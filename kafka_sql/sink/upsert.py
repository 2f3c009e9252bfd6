"""Write changelogs with 'upsert-kafka': encode deletes as tombstones, and keep only the last row per key and flush."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.formats.format import Encoder
from kafka_sql.options import connector as opt
from kafka_sql.table.changelog import ROW_INDEX, last_row_per_key


def encode_with_tombstones(encoder: Encoder, rows: pa.RecordBatch, is_deleted: npt.NDArray[np.bool_]) -> pa.BinaryArray:
    """Return the encoded values, with null (a tombstone) for deleted rows.

    Raises:
        EncodeError: a value cannot be represented in the format.
    """
    has_value = ~is_deleted
    values = encoder.encode(rows.filter(pa.array(has_value)))
    indices = np.cumsum(has_value) - 1
    return values.take(pa.array(indices, mask=is_deleted))


def reduce_to_last_rows(definition: Definition, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield a batch per flush, with the last row of each key since the previous flush ('sink.buffer-flush.*').

    The rows of a flush keep their order. The interval is only checked when rows arrive. The end of the task flushes
    the rest.
    """
    options = definition.options
    max_rows, interval = options.get(opt.FLUSH_ROWS) or 0, options.get(opt.FLUSH_INTERVAL) or 0  # milliseconds
    if max_rows <= 0 or interval <= 0 or definition.key is None:
        yield from batches
        return
    buffer: pa.RecordBatch | None = None
    last_flush = time.monotonic()
    for batch in batches:
        for start in range(0, batch.num_rows, max_rows):
            rows = batch.slice(start, max_rows)
            rows = rows if buffer is None else pa.concat_batches([buffer, rows])
            buffer = _last_row_per_key(definition.key.columns, rows)
            if buffer.num_rows >= max_rows or time.monotonic() - last_flush >= interval / 1000:
                yield buffer
                buffer, last_flush = None, time.monotonic()
    if buffer is not None:
        yield buffer


def _last_row_per_key(key: Sequence[str], rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the last row of each key, in their original order."""
    table = pa.table([rows.column(name) for name in key], names=list(key))
    indexed = table.append_column(ROW_INDEX, pa.array(np.arange(rows.num_rows)))
    return rows.take(pa.array(np.sort(np.asarray(last_row_per_key(indexed, key)))))
