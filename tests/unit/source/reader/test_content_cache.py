"""Test that cached rows after changes are those of a read from the start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.definition import validate_table
from kafka_sql.kafka.split import Split
from kafka_sql.source.reader import split_reader
from kafka_sql.source.reader.changelog_content import Identity
from kafka_sql.source.reader.content_cache import ContentCache, apply_changes
from kafka_sql.source.reader.split_reader import SplitReader
from kafka_sql.table.changelog import IS_DELETED
from kafka_sql.table.table import Column, Table

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("x", pa.float64()), pa.field("v", pa.string())])
KEY = Identity(("k",), is_key=True)


def changes(*rows: tuple[Any, ...]) -> pa.Table:
    """Return changes: k, x, v and whether the row is deleted."""
    columns = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
    schema = pa.schema([*(f.with_nullable(True) for f in SCHEMA), pa.field(IS_DELETED, pa.bool_())])
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


def content(table: pa.Table, identity: Identity) -> list[pa.RecordBatch]:
    rows = identity.reduce(table).drop_columns([IS_DELETED])
    return [pa.RecordBatch.from_arrays(b.columns, schema=SCHEMA) for b in rows.combine_chunks().to_batches(7)]


def sorted_rows(batches: list[pa.RecordBatch]) -> list[str]:
    """Return the rows as text, in which NaN equals NaN and 0.0 differs from -0.0."""
    assert all(batch.schema == SCHEMA for batch in batches)
    return sorted(repr(tuple(row.values())) for batch in batches for row in batch.to_pylist())


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    "identity",
    [
        KEY,
        Identity(("k", "v"), True),
        Identity(("x",), True),
        Identity(("x", "v"), True),
        Identity(("k", "x", "v"), False),
    ],
    ids=["key", "two columns", "float", "float and text", "rows"],
)
def test_random_changes(identity: Identity, seed: int) -> None:
    random = np.random.default_rng(seed)

    def rows(count: int) -> list[tuple[Any, ...]]:
        return [
            (
                int(random.integers(12)),
                [0.0, -0.0, float("nan"), 1.5, None][random.integers(5)],
                [None, "a", "b"][random.integers(3)],
                bool(random.integers(3) == 0),
            )
            for _ in range(count)
        ]

    before, batches = rows(30), None
    batches = content(changes(*before), identity)
    for _ in range(4):
        new = rows(int(random.integers(6)))
        before += new
        batches = apply_changes(batches, changes(*new), identity, SCHEMA)
        assert sorted_rows(batches) == sorted_rows(content(changes(*before), identity))


def test_rows_that_depend_on_the_time_zone_are_read_again_in_another(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = (Column("v", "STRING", "STRING"), Column("t", "", "TIMESTAMP(3)", metadata="timestamp", virtual=True))
    options = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "b:9092", "format": "raw"}
    definition = validate_table(Table(("t",), columns, options))
    schema = pa.schema([("v", pa.string()), ("t", pa.timestamp("us"))])
    reads: list[str] = []

    def read_split(*_: Any) -> Iterator[pa.RecordBatch]:
        reads.append(zone)
        yield pa.RecordBatch.from_pydict({"v": [zone], "t": [None]}, schema=schema)

    monkeypatch.setattr(SplitReader, "read", read_split)
    monkeypatch.setattr(split_reader, "session_time_zone", lambda: zone)
    for zone in ("UTC", "UTC", "Asia/Tokyo"):
        (batch,) = SplitReader(definition, schema).read_cached(Split("t", 0, 0, 1))
        assert batch["v"].to_pylist() == [zone]
    assert reads == ["UTC", "Asia/Tokyo"]


def test_batches_without_a_changed_row_are_not_copied() -> None:
    batches = content(changes(*((k, None, "a", False) for k in range(21))), KEY)
    after = apply_changes(batches, changes((8, None, "b", False), (9, None, None, True)), KEY, SCHEMA)
    assert after[0] is batches[0]
    assert after[2 if after[2] is batches[2] else 1] is batches[2]
    assert [(b.num_rows) for b in after] == [7, 5, 7, 1]


def test_all_rows_are_deleted_and_inserted_again() -> None:
    batches = apply_changes(content(changes((1, None, "a", False)), KEY), changes((1, None, None, True)), KEY, SCHEMA)
    assert sorted_rows(batches) == []
    batches = apply_changes(batches, changes((1, None, "b", False)), KEY, SCHEMA)
    assert sorted_rows(batches) == ["(1, None, 'b')"]


class Partition:
    """A partition with one row per offset, and the splits that were read."""

    def __init__(self) -> None:
        self.reads: list[tuple[int, int]] = []

    def rows(self, split: Split) -> Iterator[pa.RecordBatch]:
        self.reads.append((split.start, split.stop))
        for offset in range(split.start, split.stop):
            yield pa.RecordBatch.from_arrays(
                [pa.array([offset]), pa.nulls(1, pa.float64()), pa.array(["x"])], schema=SCHEMA
            )

    def append(self, batches: list[pa.RecordBatch], split: Split) -> list[pa.RecordBatch]:
        return [*batches, *self.rows(split)]

    def apply(self, batches: list[pa.RecordBatch], split: Split) -> list[pa.RecordBatch]:
        self.reads.append((split.start, split.stop))
        new = changes(*((offset % 3, None, str(offset), False) for offset in range(split.start, split.stop)))
        return apply_changes(batches, new, KEY, SCHEMA)

    def content(self, split: Split) -> Iterator[pa.RecordBatch]:
        self.reads.append((split.start, split.stop))
        table = changes(*((offset % 3, None, str(offset), False) for offset in range(split.start, split.stop)))
        yield from content(table, KEY)


def test_reads_only_new_records() -> None:
    cache, partition = ContentCache(), Partition()

    def read(start: int, stop: int) -> list[str]:
        split = Split("t", 0, start, stop)
        batches = cache.read((b"t", "t", 0), split, partition.content, partition.apply)
        return sorted(row["v"] for batch in batches for row in batch.to_pylist())

    assert read(0, 5) == ["2", "3", "4"]
    assert read(0, 5) == ["2", "3", "4"]
    assert read(0, 6) == ["3", "4", "5"]
    assert partition.reads == [(0, 5), (5, 6)]
    assert read(1, 6) == ["3", "4", "5"]  # another start: records were removed
    assert read(1, 4) == ["1", "2", "3"]  # an earlier end: a repeated micro-batch
    assert read(1, 5) == ["2", "3", "4"]
    assert partition.reads == [(0, 5), (5, 6), (1, 6), (1, 4), (4, 5)]


def test_a_table_without_changes() -> None:
    cache, partition = ContentCache(), Partition()
    for stop in (2, 3):
        batches = list(cache.read((b"t", "t", 0), Split("t", 0, 0, stop), partition.rows, partition.append))
        assert [k for b in batches for k in b.column(0).to_pylist()] == list(range(stop))
    assert partition.reads == [(0, 2), (2, 3)]


def test_the_size_is_limited() -> None:
    partition = Partition()
    size = next(partition.rows(Split("t", 0, 0, 1))).nbytes
    cache = ContentCache(max_bytes=5 * size)
    for _ in range(2):
        for topic in ("a", "b", "a"):
            list(cache.read((b"", topic, 0), Split(topic, 0, 0, 3), partition.rows, partition.append))
        assert len(list(cache.read((b"", "large", 0), Split("large", 0, 0, 6), partition.rows, partition.append))) == 6
    # 'a' and 'b' replace each other; 'large' is never kept, and replaces nothing
    assert partition.reads[1:] == [(0, 3), (0, 3), (0, 3), (0, 6), (0, 3), (0, 3), (0, 6)]


def test_many_small_batches_are_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = Partition()
    cache = ContentCache()
    for stop in range(1, 100):
        batches = list(cache.read((b"", "t", 0), Split("t", 0, 0, stop), partition.rows, partition.append))
    assert len(batches) < 66
    assert [k for b in batches for k in b.column(0).to_pylist()] == list(range(99))
