"""What 'upsert-kafka' writes besides rows: tombstones, and of several rows of a key in a flush only the last."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.formats.format import Encoder
from kafka_sql.options import connector as opt
from kafka_sql.table.last_row_per_key import PLACE, last_places


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
    places = table.append_column(PLACE, pa.array(np.arange(rows.num_rows)))
    return rows.take(pa.array(np.sort(np.asarray(last_places(places, key)))))
