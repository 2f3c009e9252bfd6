"""Test changelog formats against rows that Flink decoded from the same records, and encoding."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import DecodeError, EncodeError, InvalidOptionError
from kafka_sql.formats.format import ROW_KIND_COLUMN, Decoded
from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Options
from kafka_sql.table.changelog import ROW_KIND

CHANGELOG_FORMATS = ("debezium-json", "canal-json", "maxwell-json", "ogg-json")
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("price", pa.decimal128(10, 2)),
        ("tags", pa.list_(pa.string())),
    ]
)
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

Case = tuple[str, str, list[str], str | None, list[str] | str]


def load_cases() -> list[Case]:
    """Load cases: format, flags (i: ignore errors, w: with schema), metadata, record, and Flink's rows or "error"."""
    lines = Path(__file__).with_name("flink_changes.jsonl").read_text().splitlines()
    return [tuple(json.loads(line)) for line in lines]


def decode(format_: str, flags: str, metadata: list[str], payloads: list[str | None]) -> Decoded:
    cdc_format = FORMATS[format_]
    option_values = {f"{format_}.ignore-parse-errors": str("i" in flags)}
    if "w" in flags:
        option_values[f"{format_}.schema-include"] = "true"
    decoder = cdc_format.decoder(SCHEMA, Options(cdc_format.options, option_values), (ROW_KIND, *metadata))
    return decoder.decode(pa.array([None if p is None else p.encode() for p in payloads], pa.binary()))


def rows(decoded: Decoded, payloads: int) -> list[list[str]]:
    """Return the rows of each payload, formatted as in the file."""
    columns = [column.to_pylist() for column in (*decoded.columns, *decoded.metadata[1:])]
    rows_per_payload: list[list[str]] = [[] for _ in range(payloads)]
    assert decoded.payload_indices is not None
    for i, (payload, kind) in enumerate(
        zip(decoded.payload_indices.to_pylist(), decoded.metadata[0].to_pylist(), strict=True)
    ):
        rows_per_payload[payload].append(f"{kind}({','.join(format_value(column[i]) for column in columns)})")
    return rows_per_payload


def format_value(value: Any) -> str:
    match value:
        case None:
            return "~"
        case str():
            return "x" + value.encode().hex()
        case Decimal():
            return f"{int(value.scaleb(2))}@2"
        case datetime():
            return f"{(value - EPOCH) // timedelta(microseconds=1) * 1000}ns"
        case [(_, _), *_]:
            return "{" + ",".join(sorted(f"{format_value(k)}={format_value(v)}" for k, v in value)) + "}"
        case list():
            return "[" + ",".join(map(format_value, value)) + "]"
        case _:
            return str(value)


@pytest.mark.parametrize("format_", CHANGELOG_FORMATS)
def test_rows_match_flink(format_: str) -> None:
    groups: dict[tuple[str, tuple[str, ...]], list[Case]] = {}
    for case in load_cases():
        if case[0] == format_:
            groups.setdefault((case[1], tuple(case[2])), []).append(case)
    assert sum(map(len, groups.values())) >= 80
    for (flags, metadata), group in groups.items():
        valid = [case for case in group if case[4] != "error"]
        decoded = decode(format_, flags, list(metadata), [case[3] for case in valid])
        assert rows(decoded, len(valid)) == [case[4] for case in valid]
        for case in group:
            if case[4] == "error":
                with pytest.raises(DecodeError, match=r"Corrupt (Debezium|Canal|Maxwell|Ogg) JSON message: "):
                    decode(format_, flags, list(metadata), [case[3]])


@pytest.mark.parametrize(
    ("format_", "payload", "reason"),
    [
        ("debezium-json", '{"op":"u","before":null,"after":{}}', r'The "before" field of UPDATE message is null.*FULL'),
        ("ogg-json", '{"op_type":"D"}', r'The "before" field of DELETE message is null.*REPLICA IDENTITY to FULL'),
        ("debezium-json", '{"op":"t"}', r'Unknown "op" value "t"'),
        ("canal-json", '{"type":"UPDATE","data":[{},{}],"old":[{}]}', r'"old" has no row, but "type" is "UPDATE"'),
        ("maxwell-json", '{"type":"insert"}', r'"data" has no row, but "type" is "insert"'),
        ("debezium-json", '{"op":"c","after":{"id":"x"}}', r"field 'after.id': Corrupt Debezium JSON message: found"),
    ],
)
def test_errors_name_the_record_and_the_reason(format_: str, payload: str, reason: str) -> None:
    valid = json.dumps({"op": "c", "op_type": "I", "type": "insert", "after": {}, "data": {}})
    if format_ == "canal-json":
        valid = '{"type":"CREATE"}'
    with pytest.raises(DecodeError, match=reason) as caught:
        decode(format_, "", [], [valid, None, payload, valid])
    assert caught.value.row == 2


def test_canal_decodes_only_included_databases_and_tables() -> None:
    cdc_format = FORMATS["canal-json"]
    options = Options(cdc_format.options, {"canal-json.table.include": "or.*", "canal-json.database.include": "a|b"})
    payloads = [
        b'{"database":"a","table":"orders","type":"INSERT","data":[{"id":1}]}',
        b'{"database":"c","table":"orders","type":"INSERT","data":[{"id":2}]}',
        b'{"database":"b","table":"xor","type":"INSERT","data":[{"id":3}]}',
        b'{"database":"b","table":"other","type":"what","data":"nothing"}',
        b'{"database":"b","table":"or","type":"DELETE","data":[{"id":4},{"id":5}]}',
        b'{"type":"INSERT","data":[{"id":6}]}',
    ]
    decoded = cdc_format.decoder(SCHEMA, options).decode(pa.array(payloads, pa.binary()))
    assert decoded.columns[0].to_pylist() == [1, 4, 5]
    assert decoded.payload_indices is not None
    assert decoded.payload_indices.to_pylist() == [0, 4, 4]
    with pytest.raises(DecodeError, match=r"field 'data': Corrupt Canal JSON message") as caught:
        cdc_format.decoder(SCHEMA, Options(cdc_format.options, {"canal-json.table.include": "o.*"})).decode(
            pa.array(payloads, pa.binary())
        )
    assert caught.value.row == 3


WRITTEN_BY_FLINK = {  # an inserted and a deleted row
    "debezium-json": (
        '{"before":null,"after":{"id":1,"name":"a"},"op":"c"}',
        '{"before":{"id":1,"name":"a"},"after":null,"op":"d"}',
    ),
    "ogg-json": (
        '{"before":null,"after":{"id":1,"name":"a"},"op_type":"I"}',
        '{"before":{"id":1,"name":"a"},"after":null,"op_type":"D"}',
    ),
    "canal-json": ('{"data":[{"id":1,"name":"a"}],"type":"INSERT"}', '{"data":[{"id":1,"name":"a"}],"type":"DELETE"}'),
    "maxwell-json": ('{"data":{"id":1,"name":"a"},"type":"insert"}', '{"data":{"id":1,"name":"a"},"type":"delete"}'),
}


def encode(format_: str, kinds: list[str | None] | None, options: dict[str, str] | None = None) -> list[str]:
    cdc_format = FORMATS[format_]
    schema = SCHEMA.remove(3).remove(2)
    encoder = cdc_format.encoder(schema, Options(cdc_format.options, options or {}))
    count = len(kinds) if kinds is not None else 1
    columns: dict[str, Any] = {"id": pa.array([1] * count), "name": pa.array(["a"] * count)}
    if kinds is not None:
        columns[ROW_KIND_COLUMN] = pa.array(kinds, pa.string())
    return [payload.decode() for payload in encoder.encode(pa.RecordBatch.from_pydict(columns)).to_pylist()]


@pytest.mark.parametrize("format_", CHANGELOG_FORMATS)
def test_written_events_match_flink(format_: str) -> None:
    inserted, deleted = WRITTEN_BY_FLINK[format_]
    assert encode(format_, None) == [inserted]
    assert encode(format_, ["+I", "-U", "+U", "-D", None]) == [inserted, deleted, inserted, deleted, inserted]
    with pytest.raises(EncodeError, match=r"Invalid row kind 'D'"):
        encode(format_, ["+I", "D"])


def test_debezium_with_schema_is_read_only() -> None:
    with pytest.raises(InvalidOptionError, match=r"Debezium JSON serialization doesn't support.*schema-include"):
        encode("debezium-json", None, {"debezium-json.schema-include": "true"})


ROWS = st.lists(
    st.tuples(
        st.integers(-(2**63), 2**63 - 1) | st.none(),
        st.text(st.characters(exclude_categories=["Cs"])) | st.none(),
        st.decimals(-(10**8) + 1, 10**8 - 1, places=2) | st.none(),
        st.lists(st.text("ab") | st.none()) | st.none(),
        st.sampled_from(["+I", "-D"]),
    ),
    min_size=1,
)


@pytest.mark.parametrize("format_", CHANGELOG_FORMATS)
@given(written=ROWS)
def test_written_rows_are_read_back(format_: str, written: list[tuple[Any, ...]]) -> None:
    cdc_format = FORMATS[format_]
    columns = [pa.array(column, field.type) for column, field in zip(zip(*written, strict=True), SCHEMA, strict=False)]
    kinds = pa.array([row[4] for row in written])
    batch = pa.RecordBatch.from_arrays([*columns, kinds], names=[*SCHEMA.names, ROW_KIND_COLUMN])
    payloads = cdc_format.encoder(SCHEMA, Options(cdc_format.options, {})).encode(batch)
    decoded = decode(format_, "", [], [payload.decode() for payload in payloads.to_pylist()])
    assert [column.to_pylist() for column in decoded.columns] == [column.to_pylist() for column in columns]
    assert decoded.metadata[0].to_pylist() == kinds.to_pylist()
