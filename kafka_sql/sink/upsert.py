"""Write changelogs with 'upsert-kafka': encode deletes as tombstones, and keep only the last row per key and flush.

The -U row of an update is not written: the +U row that follows it replaces its record. If that row is missing because a
filter has removed it, or if its key differs, the -U row deletes its key.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.definition import Definition
from kafka_sql.formats.format import Encoder
from kafka_sql.options import connector as opt
from kafka_sql.table.changelog import KINDS, ROW_KIND, UPDATE_AFTER, UPDATE_BEFORE, last_row_per_key


def encode_with_tombstones(encoder: Encoder, rows: pa.RecordBatch, is_deleted: npt.NDArray[np.bool_]) -> pa.BinaryArray:
    """Return the encoded values, with null (a tombstone) for deleted rows.

    Raises:
        EncodeError: a value cannot be represented in the format.
    """
    has_value = ~is_deleted
    values = encoder.encode(rows.filter(pa.array(has_value)))
    indices = np.cumsum(has_value) - 1
    return values.take(pa.array(indices, mask=is_deleted))


def keep_updates_together(definition: Definition, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same rows; for an upsert table, no batch but the last one ends with a -U row."""
    columns = [c.name for c in definition.table.persisted_columns if c.metadata == ROW_KIND]
    held: pa.RecordBatch | None = None
    for batch in batches:
        row_kind = columns[-1] if columns and columns[-1] in batch.schema.names else None
        if row_kind is None or not definition.is_upsert:
            yield batch
            continue
        rows = batch if held is None else pa.concat_batches([held, batch])
        held = None
        if rows.num_rows and rows.column(row_kind)[-1].as_py() == KINDS[UPDATE_BEFORE]:
            rows, held = rows.slice(0, rows.num_rows - 1), rows.slice(rows.num_rows - 1)
        if rows.num_rows:
            yield rows
    if held is not None:
        yield held


def is_replaced(kinds: pa.StringArray, keys: pa.BinaryArray) -> npt.NDArray[np.bool_]:
    """Return which rows are the -U row of an update whose +U row follows and has the same key."""
    replaced = np.zeros(len(kinds), np.bool_)
    if len(kinds) > 1:
        is_update = pc.and_(pc.equal(kinds[:-1], KINDS[UPDATE_BEFORE]), pc.equal(kinds[1:], KINDS[UPDATE_AFTER]))
        replaced[:-1] = np.asarray(pc.and_(is_update, pc.equal(keys[:-1], keys[1:])).fill_null(False))
    return replaced


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
            last_rows = last_row_per_key(pa.Table.from_batches([rows]), definition.key.columns)
            buffer = rows.take(pa.array(last_rows))
            if buffer.num_rows >= max_rows or time.monotonic() - last_flush >= interval / 1000:
                yield buffer
                buffer, last_flush = None, time.monotonic()
    if buffer is not None:
        yield buffer
