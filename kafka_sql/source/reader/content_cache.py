"""Keep the rows of tables that streams join in the memory of the Python worker: a micro-batch reads only new records.

A worker keeps the rows of the partitions that it has read, up to a number of bytes for all tables. The rows of a
partition are those of a read from its start offset to a stop offset; the next read continues there.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.definition import Definition
from kafka_sql.kafka.split import Split
from kafka_sql.source.reader.changelog_content import BATCH_ROWS, Changes, Identity, to_batches
from kafka_sql.table.changelog import IS_DELETED

MAX_BYTES: Final = 512 << 20

Key = tuple[bytes, str, int]  # the table, topic and partition


@dataclass
class CachedRows:
    """The rows of a partition, from ``start`` to ``stop``."""

    start: int
    stop: int
    batches: list[pa.RecordBatch]
    nbytes: int


@dataclass
class ContentCache:
    """The rows of the partitions that were used last."""

    max_bytes: int = MAX_BYTES
    _rows: OrderedDict[Key, CachedRows] = field(default_factory=OrderedDict)

    def read(
        self,
        key: Key,
        split: Split,
        read_rows: Callable[[Split], Iterable[pa.RecordBatch]],
        update: Callable[[list[pa.RecordBatch], Split], list[pa.RecordBatch]],
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a table at the end of a split.

        Args:
            read_rows: reads the rows of a split that remain at its end.
            update: applies the records of the next split to the rows before it.
        """
        cached = self._take(key, split)
        if cached is None:
            yield from self._fill(key, split, read_rows(split))
            return
        batches = cached.batches
        if cached.stop < split.stop:
            batches = _merge_small(update(batches, replace(split, start=cached.stop)))
        self._keep(key, CachedRows(split.start, split.stop, batches, sum(batch.nbytes for batch in batches)))
        yield from batches

    def _take(self, key: Key, split: Split) -> CachedRows | None:
        """Remove and return the rows of a partition; None if they do not end before the end of the split."""
        cached = self._rows.pop(key, None)
        is_prefix = cached is not None and cached.start == split.start and cached.stop <= split.stop
        return cached if is_prefix else None

    def _fill(self, key: Key, split: Split, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield rows, and keep them if they are not too many."""
        batches: list[pa.RecordBatch] | None = []
        size = 0
        for batch in rows:
            size += batch.nbytes
            if batches is not None and size <= self.max_bytes:
                batches.append(batch)
            else:
                batches = None
            yield batch
        if batches is not None:
            self._keep(key, CachedRows(split.start, split.stop, batches, size))

    def _keep(self, key: Key, rows: CachedRows) -> None:
        self._rows[key] = rows
        size = sum(cached.nbytes for cached in self._rows.values())
        while size > self.max_bytes:
            _, oldest = self._rows.popitem(last=False)
            size -= oldest.nbytes


CACHE: Final = ContentCache()


def table_key(definition: Definition, time_zone: str = "") -> bytes:
    """Return a digest of a table's declaration, which has secrets.

    Args:
        time_zone: the session's time zone if the table's rows depend on it.
    """
    declaration = definition.table, sorted(definition.table.options.items()), time_zone
    return hashlib.sha256(repr(declaration).encode()).digest()


def apply_changes(
    batches: list[pa.RecordBatch], changes: Changes, identity: Identity, schema: pa.Schema
) -> list[pa.RecordBatch]:
    """Return rows after changes. Batches without a changed row stay as they are.

    Args:
        changes: columns and ``IS_DELETED``.
        schema: the columns of the rows; those of deletions are nullable.
    """
    names = [name for name in identity.columns if _is_searchable(changes.schema.field(name).type)]
    values = {name: pc.unique(changes[name].combine_chunks()) for name in names}
    unchanged: list[pa.RecordBatch] = []
    affected = changes.slice(0, 0).drop_columns([IS_DELETED])
    for batch in batches:
        may_change = _is_in(batch, values)
        if may_change.true_count == 0:
            unchanged.append(batch)
            continue
        rows = pa.Table.from_batches([batch.filter(may_change)]).cast(affected.schema)
        affected = pa.concat_tables([affected, rows])
        unchanged.append(batch.filter(pc.invert(may_change)))
    is_deleted = pa.array(np.zeros(len(affected), np.bool_))
    remaining = identity.reduce(pa.concat_tables([affected.append_column(IS_DELETED, is_deleted), changes]))
    return [*unchanged, *to_batches(remaining.combine_chunks(), schema, BATCH_ROWS)]


def _is_searchable(type: pa.DataType) -> bool:
    """Return whether ``is_in`` finds all values that are equal: not for 0.0 and -0.0."""
    return not (pa.types.is_nested(type) or pa.types.is_floating(type))


def _is_in(batch: pa.RecordBatch, values: Mapping[str, pa.Array]) -> pa.BooleanArray:
    """Return which rows have one of the values in each of the columns; all rows without columns."""
    result = pa.array(np.ones(batch.num_rows, np.bool_))
    for name, changed in values.items():
        result = pc.and_(result, pc.is_in(batch.column(name), value_set=changed))
    return result


def _merge_small(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Return the rows in fewer batches if many are small: each micro-batch adds one."""
    rows = sum(batch.num_rows for batch in batches)
    if len(batches) <= 64 + 2 * rows // BATCH_ROWS:
        return batches
    table = pa.Table.from_batches(batches).combine_chunks()
    return table.to_batches(max_chunksize=BATCH_ROWS)  # type: ignore[no-any-return]
