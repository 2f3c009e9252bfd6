"""The rows of a table of changes: of each key the latest, unless it was deleted after that.

What Flink's ChangelogNormalize makes of the source's changes at the end of a batch, partition by partition: Kafka
promises an order within a partition only, and records of one key belong into one. A task holds the latest rows of its
partition in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.kafka.records import Records
from kafka_sql.table.changelog import ROW_INDEX, is_retraction, last_row_per_key

if TYPE_CHECKING:
    from kafka_sql.source.reader.row_decoder import RowDecoder

ChangesOf: TypeAlias = "Callable[[RowDecoder, Records, int], tuple[pa.Table, pa.Table]]"

_ENOUGH: Final = 1_000_000  # changes that are worth putting together
_BATCH: Final = 20_000


def normalize(
    rows: RowDecoder, batches: Iterator[Records], changes_of: ChangesOf, compact_after: int = _ENOUGH
) -> Iterator[pa.RecordBatch]:
    """The latest rows of one partition, in the order of their records.

    Args:
        changes_of: ``upserts`` or ``changelog``.
        enough: how many changes to collect before the replaced ones are dropped.

    Raises:
        DecodeError: a payload is not what the table declares; also of a record that is replaced later.
    """
    kept: list[pa.Table] = []
    deleted: list[pa.Table] = []
    changes, held, start = 0, 0, 0
    for records in batches:
        set_, taken = changes_of(rows, records, start)
        kept, deleted = [*kept, set_], [*deleted, taken]
        added = len(set_) + len(taken)
        changes, start = changes + added, start + added
        if changes > max(compact_after, held):  # as often as the state doubles
            kept, deleted, changes = [_last(kept, deleted, rows.key_columns)], [], 0
            held = len(kept[0])
    if kept:
        for batch in _last(kept, deleted, rows.key_columns).drop_columns([ROW_INDEX]).to_batches(_BATCH):
            yield pa.RecordBatch.from_arrays(batch.columns, schema=rows.schema)


def upsert_changes(rows: RowDecoder, records: Records, start: int) -> tuple[pa.Table, pa.Table]:
    """A record sets the row of its key, and one without a value deletes it.

    Returns:
        the rows that are set, and the keys that are deleted, each with its place from ``start`` on.
    """
    present = np.asarray(records.values.is_valid())
    set_, tombstones = _chosen(records, present), _chosen(records, ~present)
    made = rows.decode(set_)
    batch = made.batch
    keys = rows.keys(tombstones)
    deletes = np.arange(len(tombstones.offsets)) if keys.payload_indices is None else np.asarray(keys.payload_indices)
    offsets = np.concatenate(
        (np.asarray(made.origins.take_records(pa.array(set_.offsets))), tombstones.offsets[deletes.astype(np.int64)])
    )
    places = np.empty(len(offsets), np.int64)
    places[np.argsort(offsets, kind="stable")] = np.arange(start, start + len(offsets))
    names = (*rows.schema.names, ROW_INDEX)
    return (
        pa.table([*batch.columns, pa.array(places[: batch.num_rows])], names=list(names)),
        pa.table([*keys.columns, pa.array(places[batch.num_rows :])], names=[*rows.key_columns, ROW_INDEX]),
    )


def changelog_changes(rows: RowDecoder, records: Records, start: int) -> tuple[pa.Table, pa.Table]:
    """A record says itself what happened to rows; where an update changes a key, its old row is one that goes.

    Returns:
        the rows that are set, and the keys that are deleted, each with its place from ``start`` on.
    """
    made = rows.decode(records)
    names = [*rows.schema.names, ROW_INDEX]
    places = pa.array(np.arange(start, start + made.batch.num_rows))
    table = pa.table([*made.batch.columns, places], names=names)
    gone = is_retraction(made.row_kinds)
    return table.filter(pc.invert(gone)), table.filter(gone).select([*rows.key_columns, ROW_INDEX])


def _chosen(records: Records, mask: npt.NDArray[np.bool_]) -> Records:
    """Some of the records."""
    return records if mask.all() else records.take(np.flatnonzero(mask))


def _last(rows: Sequence[pa.Table], deletes: Sequence[pa.Table], key: Sequence[str]) -> pa.Table:
    """The rows that no later row and no later tombstone of their key replaces."""
    table = pa.concat_tables(rows)
    changes = pa.concat_tables([table.select([*key, ROW_INDEX]), *(d.select([*key, ROW_INDEX]) for d in deletes)])
    last = last_row_per_key(changes, key).combine_chunks()
    return table.filter(pc.is_in(table[ROW_INDEX], value_set=last))
