"""The latest row of each key: against Flink's semantics, a dictionary written record by record."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import LongType, StringType, StructType

from kafka_sql.catalog.provider import provider
from kafka_sql.definition import define
from kafka_sql.errors import SchemaError, UnsupportedSqlError
from kafka_sql.kafka.record import Records
from kafka_sql.kafka.split import Split
from kafka_sql.source.latest import check_key, latest
from kafka_sql.source.rows import RowDecoder
from kafka_sql.table import Column, Table

OPTIONS = {
    "connector": "upsert-kafka",
    "topic": "t",
    "properties.bootstrap.servers": "h:1",
    "key.format": "json",
    "value.format": "json",
    "value.fields-include": "EXCEPT_KEY",
}
COLUMNS = (
    Column("v", "BIGINT", "BIGINT"),
    Column("k", "STRING", "STRING", nullable=False),
    Column("o", "BIGINT", "BIGINT", metadata="offset", virtual=True),
)
SCHEMA = pa.schema([("v", pa.int64()), pa.field("k", pa.string(), nullable=False), ("o", pa.int64())])
# key, value: None is a tombstone, an empty text no row, a list as many rows
CHANGES = st.lists(
    st.tuples(st.sampled_from("abcd"), st.none() | st.just("") | st.lists(st.integers(0, 99), min_size=1, max_size=2))
)


def test_a_key_that_cannot_be_compared() -> None:
    nested = pa.schema([("v", pa.int64()), ("k", pa.list_(pa.int64()))])
    with pytest.raises(SchemaError, match=r"PRIMARY KEY column 'k' cannot be of type list"):
        check_key(nested, ("k",))
    check_key(SCHEMA, ("k", "v"))


def test_a_stream_of_changes_is_refused_and_a_batch_is_not() -> None:
    definition = define(Table(("db", "t"), COLUMNS, OPTIONS, primary_key=("k",)))
    stored = StructType().add("v", LongType()).add("k", StringType(), nullable=False).add("o", LongType())
    source = provider("kafka.t", definition, stored)({})
    assert source.reader(stored)
    with pytest.raises(UnsupportedSqlError, match=r"Table 'db.t': a stream of an 'upsert-kafka' table is a stream of"):
        source.streamReader(stored)


def records(changes: list[tuple[str, list[int] | str | None]], first: int) -> Records:
    # two spellings of one key: what counts is what it says
    keys = [json.dumps({"k": k}, separators=None if i % 2 else (",", ":")).encode() for i, (k, _) in enumerate(changes)]
    values = [
        None if v is None else b"" if isinstance(v, str) else json.dumps([{"v": n} for n in v]).encode()
        for _, v in changes
    ]
    offsets = np.arange(first, first + len(changes)) * 3
    return Records(pa.array(values, pa.binary()), offsets, pa.array(keys, pa.binary()))


@settings(deadline=None, max_examples=60)  # the first decoder of a process takes its time
@given(st.lists(CHANGES, max_size=5), st.integers(0, 20))
def test_what_remains(batches: list[list[tuple[str, list[int] | str | None]]], enough: int) -> None:
    expected: dict[str, tuple[int, int]] = {}
    offset = 0
    for batch in batches:
        for key, value in batch:
            if value is None:
                expected.pop(key, None)
            elif value:
                expected[key] = (int(value[-1]), offset * 3)
            offset += 1

    def run() -> Iterator[Records]:
        first = 0
        for batch in batches:
            if batch:
                yield records(batch, first)
            first += len(batch)

    definition = define(Table(("t",), COLUMNS, OPTIONS, primary_key=("k",)))
    rows = RowDecoder(definition, SCHEMA, Split("t", 0, 0, offset * 3))
    found = [row for b in latest(rows, run(), enough) for row in b.to_pylist()]
    assert found == sorted(({"v": v, "k": k, "o": o} for k, (v, o) in expected.items()), key=lambda r: int(r["o"]))
