"""Test the latest row of each key against Flink's semantics: a dictionary that is updated record by record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.definition import validate_table
from kafka_sql.kafka.records import Records
from kafka_sql.kafka.types import Split
from kafka_sql.source.reader.changelog_normalize import changelog_changes, normalize, upsert_changes
from kafka_sql.source.reader.row_decoder import RowDecoder
from kafka_sql.table.declaration import Table
from tests.hypothesis_examples import examples
from tests.unit.source.upsert_table import COLUMNS, OPTIONS

SCHEMA = pa.schema([("v", pa.int64()), pa.field("k", pa.string(), nullable=False), ("o", pa.int64())])
# key, value: None is a tombstone, "" decodes to no row, a list to one row per element
CHANGES = st.lists(
    st.tuples(st.sampled_from("abcd"), st.none() | st.just("") | st.lists(st.integers(0, 99), min_size=1, max_size=2))
)


def records(changes: list[tuple[str, list[int] | str | None]], first: int) -> Records:
    # two JSON spellings of the same key: keys are compared by value
    keys = [json.dumps({"k": k}, separators=None if i % 2 else (",", ":")).encode() for i, (k, _) in enumerate(changes)]
    values = [
        None if v is None else b"" if isinstance(v, str) else json.dumps([{"v": n} for n in v]).encode()
        for _, v in changes
    ]
    offsets = np.arange(first, first + len(changes)) * 3
    return Records(pa.array(values, pa.binary()), offsets, pa.array(keys, pa.binary()))


@examples(60)  # the first decoder of a process is slow
@given(st.lists(CHANGES, max_size=5), st.integers(0, 20))
def test_latest_rows_of_upserts(batches: list[list[tuple[str, list[int] | str | None]]], compact_after: int) -> None:
    expected: dict[str, tuple[int, int]] = {}
    offset = 0
    for batch in batches:
        for key, value in batch:
            if value is None:
                expected.pop(key, None)
            elif value:
                expected[key] = (int(value[-1]), offset * 3)
            offset += 1

    def record_batches() -> Iterator[Records]:
        first = 0
        for batch in batches:
            if batch:
                yield records(batch, first)
            first += len(batch)

    definition = validate_table(Table(("t",), COLUMNS, OPTIONS, primary_key=("k",)))
    decoder = RowDecoder(definition, SCHEMA, Split("t", 0, 0, offset * 3))
    rows = [row for b in normalize(decoder, record_batches(), upsert_changes, compact_after) for row in b.to_pylist()]
    assert rows == sorted(({"v": v, "k": k, "o": o} for k, (v, o) in expected.items()), key=lambda r: int(r["o"]))


CHANGELOG = {
    "connector": "kafka",
    "topic": "t",
    "properties.bootstrap.servers": "h:1",
    "scan.startup.mode": "earliest-offset",
    "format": "debezium-json",
}
# a key, and its new value and key; None deletes the row
EVENTS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.none() | st.tuples(st.integers(0, 99), st.sampled_from("abcd"))), max_size=12
)


@given(st.lists(EVENTS, max_size=4), st.integers(0, 20))
def test_latest_rows_of_a_changelog(batches: list[list[Any]], compact_after: int) -> None:
    content: dict[str, tuple[int, int]] = {}
    record_batches: list[Records] = []
    offset = 0
    for batch in batches:
        payloads: list[bytes | None] = []
        for key, change in batch:
            before = {"k": key, "v": content[key][0]} if key in content else None
            if change is None:
                content.pop(key, None)
                event = {"op": "d", "before": before} if before is not None else None  # a tombstone changes nothing
            else:
                value, new_key = change
                if before is not None:
                    del content[key]
                content[new_key] = (value, offset)
                event = {"op": "u" if before else "c", "before": before, "after": {"k": new_key, "v": value}}
            payloads.append(None if event is None else json.dumps(event).encode())
            offset += 1
        if payloads:
            offsets = np.arange(offset - len(payloads), offset)
            record_batches.append(Records(pa.array(payloads, pa.binary()), offsets, None))
    definition = validate_table(Table(("t",), COLUMNS, CHANGELOG, primary_key=("k",)))
    decoder = RowDecoder(definition, SCHEMA, Split("t", 0, 0, offset))
    rows = [
        row for b in normalize(decoder, iter(record_batches), changelog_changes, compact_after) for row in b.to_pylist()
    ]
    assert rows == [{"v": v, "k": k, "o": o} for k, (v, o) in sorted(content.items(), key=lambda item: item[1][1])]
