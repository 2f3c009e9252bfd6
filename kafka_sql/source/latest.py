"""The rows of an upsert table: of each key the latest, unless a tombstone came after it.

What Flink's ChangelogNormalize makes of the source's changes at the end of a batch, partition by partition: Kafka
promises an order within a partition only, and records of one key belong into one. A task holds the latest rows of its
partition in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.errors import SchemaError
from kafka_sql.kafka.record import Records

if TYPE_CHECKING:
    from kafka_sql.source.rows import RowDecoder

_PLACE: Final = "\0place"  # a row's place in the order of the changes; no column has this name
_ENOUGH: Final = 1_000_000  # changes that are worth putting together
_BATCH: Final = 20_000


def check_key(schema: pa.Schema, key: Sequence[str]) -> None:
    """Check that keys can be compared.

    Raises:
        SchemaError: a key column is nested.
    """
    for name in key:
        kind = schema.field(name).type
        if pa.types.is_nested(kind):
            raise SchemaError(
                f"PRIMARY KEY column '{name}' cannot be of type {kind}: keys are compared, and nested values are not."
            )


def latest(rows: RowDecoder, batches: Iterator[Records], enough: int = _ENOUGH) -> Iterator[pa.RecordBatch]:
    """The latest rows of one partition, in the order of their records.

    Args:
        enough: how many changes to collect before the replaced ones are dropped.

    Raises:
        DecodeError: a payload is not what the table declares; also of a record that is replaced later.
    """
    kept: list[pa.Table] = []
    deleted: list[pa.Table] = []
    changes, held, start = 0, 0, 0
    for records in batches:
        upserts, deletes = _changes(rows, records, start)
        kept, deleted = [*kept, upserts], [*deleted, deletes]
        added = len(upserts) + len(deletes)
        changes, start = changes + added, start + added
        if changes > max(enough, held):  # as often as the state doubles
            kept, deleted, changes = [_last(kept, deleted, rows.key_columns)], [], 0
            held = len(kept[0])
    if kept:
        for batch in _last(kept, deleted, rows.key_columns).drop_columns([_PLACE]).to_batches(_BATCH):
            yield pa.RecordBatch.from_arrays(batch.columns, schema=rows.schema)


def _changes(rows: RowDecoder, records: Records, start: int) -> tuple[pa.Table, pa.Table]:
    """The rows that are set, and the keys that are deleted, each with its place from ``start`` on."""
    present = np.asarray(records.values.is_valid())
    upserts, tombstones = _chosen(records, present), _chosen(records, ~present)
    batch, pairs = rows.decode(upserts)
    keys = rows.keys(tombstones)
    deletes = np.arange(len(tombstones.offsets)) if keys.rows is None else np.asarray(keys.rows)
    offsets = np.concatenate(
        (np.asarray(pairs.records(pa.array(upserts.offsets))), tombstones.offsets[deletes.astype(np.int64)])
    )
    places = np.empty(len(offsets), np.int64)
    places[np.argsort(offsets, kind="stable")] = np.arange(start, start + len(offsets))
    names = (*rows.schema.names, _PLACE)
    return (
        pa.table([*batch.columns, pa.array(places[: batch.num_rows])], names=list(names)),
        pa.table([*keys.columns, pa.array(places[batch.num_rows :])], names=[*rows.key_columns, _PLACE]),
    )


def _chosen(records: Records, mask: npt.NDArray[np.bool_]) -> Records:
    """Some of the records."""
    if mask.all():
        return records
    chosen = pa.array(mask)
    columns = {f.name: getattr(records, f.name) for f in fields(records)}
    taken = {n: c[mask] if isinstance(c, np.ndarray) else c.filter(chosen) for n, c in columns.items() if c is not None}
    return replace(records, **taken)


def _last(rows: Sequence[pa.Table], deletes: Sequence[pa.Table], key: Sequence[str]) -> pa.Table:
    """The rows that no later row and no later tombstone of their key replaces."""
    table = pa.concat_tables(rows)
    changes = pa.concat_tables([table.select([*key, _PLACE]), *(d.select([*key, _PLACE]) for d in deletes)])
    last = changes.group_by(list(key), use_threads=False).aggregate([(_PLACE, "max")])
    return table.filter(pc.is_in(table[_PLACE], value_set=last[f"{_PLACE}_max"].combine_chunks()))
