"""What 'upsert-kafka' writes besides rows: tombstones, and of several rows of a key in a flush only the last."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.definition import Definition
from kafka_sql.errors import EncodeError
from kafka_sql.formats.format import Encoder
from kafka_sql.options import connector as opt

# RowKind.shortString of Flink: an insert, both halves of an update, a delete
_UPSERTS, _DELETES = ("+I", "+U"), ("-U", "-D")
_PLACE = "\0place"  # no column has this name


def deletes(definition: Definition, kinds: pa.StringArray | None) -> npt.NDArray[np.bool_] | None:
    """Which rows delete their key; None where none does. A row without a kind is an upsert.

    Raises:
        EncodeError: a kind that does not exist.
    """
    if kinds is None or kinds.null_count == len(kinds):
        return None
    known = pa.array([*_UPSERTS, *_DELETES])
    wrong = kinds.filter(pc.invert(pc.is_in(pc.fill_null(kinds, "+I"), known)))
    if len(wrong):
        raise EncodeError(
            f"Table '{definition.name}': '{wrong[0].as_py()}' is no row kind (METADATA FROM 'row-kind'). Write '+I' or "
            "'+U' (or NULL) to insert or update the row, '-D' or '-U' to delete its key."
        )
    found = np.asarray(pc.is_in(kinds, pa.array(_DELETES)))
    return found if found.any() else None


def tombstones(encoder: Encoder, rows: pa.RecordBatch, deleted: npt.NDArray[np.bool_]) -> pa.BinaryArray:
    """The values of the rows, null for those that delete.

    Raises:
        EncodeError: a value has no form in the format.
    """
    kept = ~deleted
    values = encoder.encode(rows.filter(pa.array(kept)))
    places = np.cumsum(kept) - 1
    return values.take(pa.array(places, mask=deleted))


def reduced(definition: Definition, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches as they are flushed: of each key the last row since the flush before ('sink.buffer-flush.*').

    The rows of a flush come in the order of these last ones. Whether the interval has passed is looked at when rows
    come; whatever is held at the end of the task is flushed then.
    """
    options = definition.options
    limit, interval = options.get(opt.FLUSH_ROWS) or 0, options.get(opt.FLUSH_INTERVAL) or 0
    if limit <= 0 or interval <= 0 or definition.key is None:
        yield from batches
        return
    held: pa.RecordBatch | None = None
    flushed = time.monotonic()
    for batch in batches:
        for start in range(0, batch.num_rows, limit):
            part = batch.slice(start, limit)
            held = _last(definition.key.columns, part if held is None else pa.concat_batches([held, part]))
            if held.num_rows >= limit or time.monotonic() - flushed >= interval / 1000:
                yield held
                held, flushed = None, time.monotonic()
    if held is not None:
        yield held


def _last(key: Sequence[str], rows: pa.RecordBatch) -> pa.RecordBatch:
    """The last row of each key, in their order."""
    table = pa.table([rows.column(name) for name in key], names=list(key))
    places = table.append_column(_PLACE, pa.array(np.arange(rows.num_rows)))
    last = places.group_by(list(key), use_threads=False).aggregate([(_PLACE, "max")])[f"{_PLACE}_max"]
    return rows.take(pa.array(np.sort(np.asarray(last))))
