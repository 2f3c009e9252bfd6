"""Reduce the changes of a partition to the content of its table: the rows that remain after all changes.

With a key, the latest row of each key remains, as after Flink's ChangelogNormalize. Without one, a row is identified by
all its physical columns: an insert adds a copy of the row, and a deletion removes the oldest copy.

Each partition is reduced separately: Kafka orders records within a partition only, and all changes of a row belong to
one partition. Changes are collected in memory up to a size, then in temporary files (``spilled_changes.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.kafka.records import Records
from kafka_sql.source.reader.batch_parts import decode_in_parts
from kafka_sql.source.reader.spilled_changes import SpilledChanges
from kafka_sql.table.changelog import IS_DELETED, ROW_INDEX, comparable_columns, is_retraction, last_row_per_key

if TYPE_CHECKING:
    from kafka_sql.source.reader.row_decoder import RowDecoder

# columns and IS_DELETED of changes, in the order of the changes
Changes: TypeAlias = pa.Table
DecodeChanges: TypeAlias = "Callable[[RowDecoder, Records], Changes]"

_BATCH_ROWS: Final = 20_000


@dataclass(frozen=True)
class MemoryLimits:
    """How much memory the changes of a partition may use, in bytes.

    Attributes:
        unreduced: changes that are collected before those without effect on the result are dropped.
        content: the content, before it is moved to temporary files.
    """

    unreduced: int = 64 << 20
    content: int = 256 << 20


DEFAULT_LIMITS: Final = MemoryLimits()


def reduce_changes(
    decoder: RowDecoder,
    batches: Iterator[Records],
    decode_changes: DecodeChanges,
    limits: MemoryLimits = DEFAULT_LIMITS,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one partition that remain after all changes; in the order of their records if in memory.

    Args:
        decode_changes: ``upsert_changes`` or ``changelog_changes``.

    Raises:
        DecodeError: a payload does not match the declaration, even if a later record replaces it.
    """
    identity = decoder.key_columns or decoder.physical_columns
    reduce = latest_rows if decoder.key_columns else remaining_copies
    changes: list[Changes] = []
    size = content_size = 0
    spilled: SpilledChanges | None = None
    with ExitStack() as files:
        for records in batches:
            new_changes = list(decode_in_parts(partial(decode_changes, decoder), records))
            changes += new_changes
            size += sum(table.nbytes for table in new_changes)
            if size <= max(limits.unreduced, 2 * content_size):  # each time the content doubles
                continue
            if spilled is None:
                changes = [reduce(pa.concat_tables(changes), identity)]
                size = content_size = changes[0].nbytes
                if content_size <= limits.content:
                    continue
                spilled = files.enter_context(SpilledChanges(changes[0].schema, identity))
            spilled.append(pa.concat_tables(changes))
            changes, size, content_size = [], 0, 0
        if spilled is None:
            parts = iter([pa.concat_tables(changes)] if changes else [])
        else:
            if changes:
                spilled.append(pa.concat_tables(changes))
            parts = spilled.parts()
        for part in parts:
            rows = reduce(part, identity).drop_columns([IS_DELETED])
            for batch in rows.to_batches(_BATCH_ROWS):
                yield pa.RecordBatch.from_arrays(batch.columns, schema=decoder.schema)


def upsert_changes(decoder: RowDecoder, records: Records) -> Changes:
    """Decode upserts: a record sets the row of its key, and a record with a null value deletes it.

    The row of a deletion has only its key and the record's metadata.
    """
    has_value = np.asarray(records.values.is_valid())
    decoded = decoder.decode(_filter(records, has_value))
    rows = _changes(decoded.batch, pa.array(np.zeros(decoded.batch.num_rows, np.bool_)))
    if has_value.all():
        return rows
    tombstones = _filter(records, ~has_value)
    deleted = decoder.decode_tombstones(tombstones)
    deletions = _changes(deleted.batch, pa.array(np.ones(deleted.batch.num_rows, np.bool_)))
    row_offsets = np.asarray(decoded.origins.take_records(pa.array(records.offsets[has_value])))
    deletion_offsets = np.asarray(deleted.origins.take_records(pa.array(tombstones.offsets)))
    order = np.argsort(np.concatenate((row_offsets, deletion_offsets)), kind="stable")
    return pa.concat_tables([rows, deletions]).take(pa.array(order))


def changelog_changes(decoder: RowDecoder, records: Records) -> Changes:
    """Decode a changelog format, whose rows have row kinds. If an update changes a key, the old row is a deletion."""
    decoded = decoder.decode(records)
    return _changes(decoded.batch, is_retraction(decoded.row_kinds))


def _changes(rows: pa.RecordBatch, is_deleted: pa.BooleanArray) -> Changes:
    # a deletion may have nulls in columns that are declared NOT NULL
    fields = [field.with_nullable(True) for field in rows.schema]
    return pa.table([*rows.columns, is_deleted], schema=pa.schema([*fields, pa.field(IS_DELETED, pa.bool_())]))


def _filter(records: Records, mask: npt.NDArray[np.bool_]) -> Records:
    return records if mask.all() else records.take(np.flatnonzero(mask))


def latest_rows(changes: Changes, key: Sequence[str]) -> Changes:
    """Return the rows that neither a later row nor a later deletion of the same key replaces."""
    indexed = changes.select(list(key)).append_column(ROW_INDEX, pa.array(np.arange(len(changes))))
    latest = np.sort(np.asarray(last_row_per_key(indexed, key)))
    is_deleted = np.asarray(changes[IS_DELETED])
    return changes.take(pa.array(latest[~is_deleted[latest]]))


def remaining_copies(changes: Changes, columns: Sequence[str]) -> Changes:
    """Return the rows that no later deletion of an equal row removes. The deletion of a missing row has no effect.

    Args:
        columns: the columns by which rows are compared.
    """
    if not len(changes):
        return changes
    identity = comparable_columns(changes, columns).append_column(ROW_INDEX, pa.array(np.arange(len(changes))))
    grouped = identity.group_by(list(columns), use_threads=False).aggregate([(ROW_INDEX, "list")])
    lists = grouped[f"{ROW_INDEX}_list"].combine_chunks()
    rows, counts = np.asarray(lists.flatten()), np.asarray(pc.list_value_length(lists)).astype(np.int64)
    starts = np.cumsum(counts) - counts
    is_insert = ~np.asarray(changes[IS_DELETED])[rows]
    balance = np.cumsum(np.where(is_insert, 1, -1))
    balance -= np.repeat(np.concatenate(([0], balance))[starts], counts)  # after each change of the same row
    # deletions of missing rows do not count: the balance is measured from its lowest value, at most 0
    copies = balance[starts + counts - 1] - np.minimum(np.minimum.reduceat(balance, starts), 0)
    inserts = np.cumsum(is_insert)
    later_inserts = np.repeat(inserts[starts + counts - 1], counts) - inserts
    remains = is_insert & (later_inserts < np.repeat(copies, counts))
    return changes.take(pa.array(np.sort(rows[remains])))
