"""Reduce the changes of a partition to the content of its table: the rows that remain after all changes.

With a key, the latest row of each key remains, as after Flink's ChangelogNormalize. Without one, a row is identified by
all its physical columns: an insert adds a copy of the row, and a deletion removes the oldest copy.

Each partition is reduced separately: Kafka orders records within a partition only, and all changes of a row belong to
one partition. Changes are collected in memory up to a size, then in temporary files.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.kafka.columns import column_view
from kafka_sql.kafka.direct.writes.produce_kernels import partition_by_key
from kafka_sql.kafka.records import Records
from kafka_sql.table.changelog import IS_DELETED, ROW_INDEX, comparable_columns, is_retraction, last_row_per_key

if TYPE_CHECKING:
    from kafka_sql.source.reader.row_decoder import RowDecoder

# columns and IS_DELETED of changes, in the order of the changes
Changes: TypeAlias = pa.Table
_PARTS: Final = 64
_COMPRESSION: Final = pa.ipc.IpcWriteOptions(compression="lz4")


BATCH_ROWS: Final = 20_000


class Identity(NamedTuple):
    """The columns that identify a row, and whether they are a key, or all columns of a table without one."""

    columns: Sequence[str]
    is_key: bool

    def reduce(self, changes: Changes) -> Changes:
        """Return the rows that remain after all changes, in the order of the changes."""
        return latest_rows(changes, self.columns) if self.is_key else remaining_copies(changes, self.columns)


def reduce_changes(
    changes: Iterable[Changes],
    identity: Identity,
    schema: pa.Schema,
    max_unreduced: int = 64 << 20,
    max_content: int = 256 << 20,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one partition that remain after all changes; in the order of their records if in memory.

    Args:
        max_unreduced: bytes of changes that are collected before those without effect on the result are dropped.
        max_content: bytes of the content, before it is moved to temporary files.

    Raises:
        DecodeError: a payload does not match the declaration, even if a later record replaces it.
    """
    collected: list[Changes] = []
    size = content_size = 0
    spilled: SpilledChanges | None = None
    with ExitStack() as files:
        for new_changes in changes:
            collected.append(new_changes)
            size += new_changes.nbytes
            if size <= max(max_unreduced, 2 * content_size):  # each time the content doubles
                continue
            if spilled is None:
                collected = [identity.reduce(pa.concat_tables(collected))]
                size = content_size = collected[0].nbytes
                if content_size <= max_content:
                    continue
                spilled = files.enter_context(SpilledChanges(collected[0].schema, identity.columns))
            spilled.append(pa.concat_tables(collected))
            collected, size, content_size = [], 0, 0
        rest = [pa.concat_tables(collected)] if collected else []
        for part in rest if spilled is None else spilled.parts(rest):
            yield from to_batches(identity.reduce(part), schema, BATCH_ROWS)


def to_batches(changes: Changes, schema: pa.Schema, max_rows: int | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of changes in batches with a schema; columns of changes are nullable."""
    for batch in changes.drop_columns([IS_DELETED]).to_batches(max_rows):
        yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)


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
    latest = last_row_per_key(changes, key)
    is_deleted = np.asarray(changes[IS_DELETED])
    return changes.take(pa.array(latest[~is_deleted[latest]]))


def remaining_copies(changes: Changes, columns: Sequence[str]) -> Changes:
    """Return the rows that no later deletion of an equal row removes. The deletion of a missing row has no effect."""
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


class SpilledChanges(ExitStack):
    """Changes in temporary files, in Spark's local folder. All changes of a row are in one part, in order."""

    def __init__(self, schema: pa.Schema, identity: Sequence[str]) -> None:
        super().__init__()
        self._identity = tuple(identity)
        local_folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None  # set by Spark for its workers
        self.folder = self.enter_context(tempfile.TemporaryDirectory(prefix="kafka_sql-", dir=local_folder))
        self._paths = [Path(self.folder, str(part)) for part in range(_PARTS)]
        self._writers = [
            self.enter_context(pa.ipc.new_stream(str(path), schema, options=_COMPRESSION)) for path in self._paths
        ]

    def append(self, changes: pa.Table) -> None:
        parts = _part_of_each_row(comparable_columns(changes, self._identity))
        by_part = changes.take(pa.array(np.argsort(parts, kind="stable")))
        ends = np.cumsum(np.bincount(parts, minlength=_PARTS)).tolist()
        for writer, start, end in zip(self._writers, [0, *ends], ends, strict=False):
            if end > start:
                writer.write_table(by_part.slice(start, end - start))

    def parts(self, rest: Iterable[pa.Table] = ()) -> Iterator[pa.Table]:
        """Append the last changes, and yield the changes of each part."""
        for changes in rest:
            self.append(changes)
        for writer in self._writers:
            writer.close()
        for path in self._paths:
            with pa.ipc.open_stream(str(path)) as reader:
                yield reader.read_all()


def _part_of_each_row(columns: pa.Table) -> npt.NDArray[np.int32]:
    """Return the part of each row. Equal rows get the same part."""
    texts = [_as_bytes(column.combine_chunks()) for column in columns.columns]
    keys = pc.binary_join_element_wise(*texts, b"\0", null_handling="replace", null_replacement=b"\1")
    parts = np.full(len(columns), -1, np.int32)
    partition_by_key(parts, column_view(keys), np.full(len(columns), _PARTS, np.int32))
    return parts


def _as_bytes(column: pa.Array) -> pa.BinaryArray:
    if pa.types.is_duration(column.type):  # cannot be cast to a string
        column = column.cast(pa.int64())
    if not pa.types.is_binary(column.type):
        column = column.cast(pa.string()).cast(pa.binary())
    return column
