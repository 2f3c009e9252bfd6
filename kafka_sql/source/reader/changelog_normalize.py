"""Reduce changelog records to the latest row of each key, without deleted keys, like Flink's ChangelogNormalize.

Each partition is reduced separately: Kafka orders records within a partition only, and records of one key belong to one
partition. A task holds the latest rows of its partition in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.kafka.records import Records
from kafka_sql.source.reader.key_value_join import row_payloads
from kafka_sql.table.changelog import ROW_INDEX, is_retraction, last_row_per_key

if TYPE_CHECKING:
    from kafka_sql.source.reader.row_decoder import RowDecoder

# rows that are set, and keys that are deleted, each with ROW_INDEX
Changes: TypeAlias = tuple[pa.Table, pa.Table]
DecodeChanges: TypeAlias = "Callable[[RowDecoder, Records, int], Changes]"

_COMPACT_AFTER: Final = 1_000_000  # changes
_BATCH_ROWS: Final = 20_000


def normalize(
    decoder: RowDecoder,
    batches: Iterator[Records],
    decode_changes: DecodeChanges,
    compact_after: int = _COMPACT_AFTER,
) -> Iterator[pa.RecordBatch]:
    """Yield the latest rows of one partition, in the order of their records.

    Args:
        decode_changes: ``upsert_changes`` or ``changelog_changes``.
        compact_after: the number of changes to collect before replaced rows are dropped.

    Raises:
        DecodeError: a payload does not match the declaration, even if a later record replaces it.
    """
    rows: list[pa.Table] = []
    deletes: list[pa.Table] = []
    change_count, state_size, next_index = 0, 0, 0
    for records in batches:
        new_rows, new_deletes = decode_changes(decoder, records, next_index)
        rows, deletes = [*rows, new_rows], [*deletes, new_deletes]
        added = len(new_rows) + len(new_deletes)
        change_count, next_index = change_count + added, next_index + added
        if change_count > max(compact_after, state_size):  # each time the state doubles
            rows, deletes, change_count = [_compact(rows, deletes, decoder.key_columns)], [], 0
            state_size = len(rows[0])
    if rows:
        for batch in _compact(rows, deletes, decoder.key_columns).drop_columns([ROW_INDEX]).to_batches(_BATCH_ROWS):
            yield pa.RecordBatch.from_arrays(batch.columns, schema=decoder.schema)


def upsert_changes(decoder: RowDecoder, records: Records, first_index: int) -> Changes:
    """Decode upserts: a record sets the row of its key, and a record with a null value deletes it."""
    has_value = np.asarray(records.values.is_valid())
    upserts, tombstones = _filter(records, has_value), _filter(records, ~has_value)
    decoded = decoder.decode(upserts)
    batch = decoded.batch
    keys = decoder.keys(tombstones)
    tombstone_indices = row_payloads(keys, len(tombstones.offsets)).astype(np.int64)
    upsert_offsets = np.asarray(decoded.origins.take_records(pa.array(upserts.offsets)))
    offsets = np.concatenate((upsert_offsets, tombstones.offsets[tombstone_indices]))
    indices = np.empty(len(offsets), np.int64)
    indices[np.argsort(offsets, kind="stable")] = np.arange(first_index, first_index + len(offsets))
    row_names, key_names = [*decoder.schema.names, ROW_INDEX], [*decoder.key_columns, ROW_INDEX]
    return (
        pa.table([*batch.columns, pa.array(indices[: batch.num_rows])], names=row_names),
        pa.table([*keys.columns, pa.array(indices[batch.num_rows :])], names=key_names),
    )


def changelog_changes(decoder: RowDecoder, records: Records, first_index: int) -> Changes:
    """Decode a changelog format, whose rows have row kinds. If an update changes a key, the old row is a deletion."""
    decoded = decoder.decode(records)
    indices = pa.array(np.arange(first_index, first_index + decoded.batch.num_rows))
    table = pa.table([*decoded.batch.columns, indices], names=[*decoder.schema.names, ROW_INDEX])
    deletes = is_retraction(decoded.row_kinds)
    return table.filter(pc.invert(deletes)), table.filter(deletes).select([*decoder.key_columns, ROW_INDEX])


def _filter(records: Records, mask: npt.NDArray[np.bool_]) -> Records:
    return records if mask.all() else records.take(np.flatnonzero(mask))


def _compact(rows: Sequence[pa.Table], deletes: Sequence[pa.Table], key: Sequence[str]) -> pa.Table:
    """Return the rows that neither a later row nor a later deletion of the same key replaces."""
    table = pa.concat_tables(rows)
    key_and_index = [*key, ROW_INDEX]
    changes = pa.concat_tables([table.select(key_and_index), *(d.select(key_and_index) for d in deletes)])
    last_indices = last_row_per_key(changes, key).combine_chunks()
    return table.filter(pc.is_in(table[ROW_INDEX], value_set=last_indices))
