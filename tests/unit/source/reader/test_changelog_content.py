"""Test the content of changelog tables against Flink's semantics: a dictionary or list that each record updates."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.definition import validate_table
from kafka_sql.kafka.records import Records
from kafka_sql.kafka.split import Split
from kafka_sql.source.reader.changelog_content import (
    Changes,
    Identity,
    SpilledChanges,
    changelog_changes,
    reduce_changes,
    upsert_changes,
)
from kafka_sql.source.reader.row_decoder import RowDecoder
from kafka_sql.table.changelog import ROW_ORDER_NAME
from kafka_sql.table.table import Column, Table
from tests.hypothesis_examples import examples
from tests.unit.source.changelog_tables import COLUMNS, DEBEZIUM_OPTIONS, UPSERT_OPTIONS

# in memory; reduced after each batch; moved to files at the second batch
LIMITS: list[dict[str, int]] = [{}, {"max_unreduced": 0}, {"max_unreduced": 0, "max_content": 0}]
KEY = Identity(("k",), is_key=True)
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
@given(st.lists(CHANGES, max_size=5), st.sampled_from(LIMITS))
def test_latest_rows_of_upserts(
    batches: list[list[tuple[str, list[int] | str | None]]], limits: dict[str, int]
) -> None:
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

    definition = validate_table(Table(("t",), COLUMNS, UPSERT_OPTIONS, primary_key=("k",)))
    decoder = RowDecoder(definition, SCHEMA, Split("t", 0, 0, offset * 3))
    rows = content(decoder, record_batches(), upsert_changes, limits)
    assert rows == sorted(({"v": v, "k": k, "o": o} for k, (v, o) in expected.items()), key=lambda r: int(r["o"]))


ROW_ORDER = Column(ROW_ORDER_NAME, "BIGINT", "BIGINT", metadata="offset", virtual=True)


@given(CHANGES)
def test_upserts_and_tombstones_are_in_the_order_of_their_offsets(changes: list[Any]) -> None:
    definition = validate_table(Table(("t",), (*COLUMNS, ROW_ORDER), UPSERT_OPTIONS, primary_key=("k",)))
    schema = SCHEMA.append(pa.field(ROW_ORDER_NAME, pa.int64()))
    rows = upsert_changes(RowDecoder(definition, schema, Split("t", 0, 0, 99)), records(changes, 0)).to_pylist()
    offsets = [row["o"] for row in rows]
    assert offsets == sorted(offsets)
    order = [row[ROW_ORDER_NAME] for row in rows]
    assert all(before < after for before, after in pairwise(order))


def content(
    decoder: RowDecoder,
    batches: Iterator[Records],
    decode: Callable[[RowDecoder, Records], Changes],
    limits: dict[str, int],
    identity: Identity = KEY,
) -> list[dict[str, Any]]:
    """Return the content in the order of its records, which files do not keep."""
    changes = (decode(decoder, records) for records in batches)
    rows = [row for b in reduce_changes(changes, identity, decoder.schema, **limits) for row in b.to_pylist()]
    return sorted(rows, key=lambda row: int(row["o"])) if "max_content" in limits else rows


# a key, and its new value and key; None deletes the row
EVENTS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.none() | st.tuples(st.integers(0, 99), st.sampled_from("abcd"))), max_size=12
)


@given(st.lists(EVENTS, max_size=4), st.sampled_from(LIMITS))
def test_latest_rows_of_a_changelog(batches: list[list[Any]], limits: dict[str, int]) -> None:
    expected: dict[str, tuple[int, int]] = {}
    record_batches: list[Records] = []
    offset = 0
    for batch in batches:
        payloads: list[bytes | None] = []
        for key, change in batch:
            before = {"k": key, "v": expected[key][0]} if key in expected else None
            if change is None:
                expected.pop(key, None)
                event = {"op": "d", "before": before} if before is not None else None  # a tombstone changes nothing
            else:
                value, new_key = change
                if before is not None:
                    del expected[key]
                expected[new_key] = (value, offset)
                event = {"op": "u" if before else "c", "before": before, "after": {"k": new_key, "v": value}}
            payloads.append(None if event is None else json.dumps(event).encode())
            offset += 1
        if payloads:
            offsets = np.arange(offset - len(payloads), offset)
            record_batches.append(Records(pa.array(payloads, pa.binary()), offsets, None))
    definition = validate_table(Table(("t",), COLUMNS, DEBEZIUM_OPTIONS, primary_key=("k",)))
    decoder = RowDecoder(definition, SCHEMA, Split("t", 0, 0, offset))
    rows = content(decoder, iter(record_batches), changelog_changes, limits)
    assert rows == [{"v": v, "k": k, "o": o} for k, (v, o) in sorted(expected.items(), key=lambda item: item[1][1])]


ROWS = st.tuples(
    st.sampled_from("ab"), st.none() | st.lists(st.integers(0, 1), max_size=1), st.sampled_from([None, 0.5])
)
# whether a row is inserted, and the row
ROW_CHANGES = st.lists(st.tuples(st.sampled_from([True, True, False]), ROWS), max_size=12)


@given(st.lists(ROW_CHANGES, max_size=4), st.sampled_from(LIMITS))
def test_copies_of_a_changelog_without_a_primary_key(batches: list[list[Any]], limits: dict[str, int]) -> None:
    expected: list[tuple[Any, int]] = []  # rows and offsets
    record_batches: list[Records] = []
    offset = 0
    for batch in batches:
        payloads: list[bytes] = []
        for is_insert, row in batch:
            image = dict(zip(("k", "n", "d"), row, strict=True))
            event = {"op": "c", "after": image} if is_insert else {"op": "d", "before": image}
            payloads.append(json.dumps(event).encode())
            oldest = next((copy for copy in expected if copy[0] == row), None)
            if is_insert:
                expected.append((row, offset))
            elif oldest is not None:
                expected.remove(oldest)
            offset += 1
        if payloads:
            offsets = np.arange(offset - len(payloads), offset)
            record_batches.append(Records(pa.array(payloads, pa.binary()), offsets, None))
    columns = (
        Column("k", "STRING", "STRING"),
        Column("n", "ARRAY<INT>", "ARRAY<INT>"),
        Column("d", "DOUBLE", "DOUBLE"),
        Column("o", "BIGINT", "BIGINT", metadata="offset", virtual=True),
    )
    schema = pa.schema([("k", pa.string()), ("n", pa.list_(pa.int32())), ("d", pa.float64()), ("o", pa.int64())])
    decoder = RowDecoder(validate_table(Table(("t",), columns, DEBEZIUM_OPTIONS)), schema, Split("t", 0, 0, offset))
    rows = content(decoder, iter(record_batches), changelog_changes, limits, Identity(("k", "n", "d"), is_key=False))
    assert rows == [{"k": k, "n": n, "d": d, "o": o} for (k, n, d), o in expected]


def test_parts_of_spilled_changes() -> None:
    """All changes of a row are in the same part, whatever the types of its columns."""
    values = {
        "text": ["a", "b", None],
        "bytes": [b"a", b"\xff", None],
        "flag": [True, False, None],
        "number": [Decimal("1.10"), Decimal("2.20"), None],
        "day": [date(2026, 1, 1), date(2026, 1, 2), None],
        "at": [datetime(2026, 1, 1, 1), datetime(2026, 1, 1, 2), None],
        "span": [timedelta(seconds=1), timedelta(days=2), None],
        "nested": [{"a": 1}, {"a": None}, None],
    }
    table = pa.table(values)
    table = pa.concat_tables([table.append_column("o", pa.array([i] * 3)) for i in range(3)])
    with SpilledChanges(table.schema, tuple(values)) as spilled:
        spilled.append(table.slice(0, 4))
        spilled.append(table.slice(4))
        parts = [part.to_pylist() for part in spilled.parts() if part.num_rows]
        files = [Path(spilled.folder)]
    assert not any(file.exists() for file in files)
    copies = [[row for part in parts for row in part if row["text"] == text] for text in values["text"]]
    assert all([row["o"] for row in rows] == [0, 1, 2] for rows in copies)
    assert all(sum(row in part for part in parts) == 1 for rows in copies for row in rows)
    assert all(len({i for i, part in enumerate(parts) if row in part}) == 1 for rows in copies for row in rows)
