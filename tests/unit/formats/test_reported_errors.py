"""Errors that are collected instead of raised, in each format: each payload is decoded as if it were alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.errors import DecodeError
from kafka_sql.formats.avro import AVRO
from kafka_sql.formats.format import Decoder
from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Options
from tests.fuzz.decoders import fuzz_decoder
from tests.unit.formats.protobuf.oracle import FILE, ORDER, ORDERS, random_message

Target = tuple[Decoder, list[bytes]]  # a decoder and valid payloads
SCHEMA = pa.schema(
    [
        ("a", pa.int64()),
        ("s", pa.string()),
        ("d", pa.decimal128(10, 2)),
        ("t", pa.timestamp("us")),
        ("l", pa.list_(pa.int32())),
    ]
)
ROWS = [{"a": k, "s": 'te"xt é', "d": k / 4, "t": f"2020-01-01 00:00:{k:02}", "l": [k, None]} for k in range(20)]


def create_decoder(name: str, **format_options: str) -> Decoder:
    format_ = FORMATS[name]
    return format_.decoder(
        SCHEMA, Options(format_.options, {f"{name}.{key}": text for key, text in format_options.items()})
    )


def json_target() -> Target:
    return create_decoder("json"), [json.dumps(row).encode() for row in ROWS]


def csv_target() -> Target:
    return create_decoder("csv", **{"escape-character": "\\"}), [
        f'{row["a"]},"te""xt é",{row["d"]},{row["t"]},{row["a"]};1'.encode() for row in ROWS
    ]


def raw_target() -> Target:
    format_ = FORMATS["raw"]
    return format_.decoder(pa.schema([("a", pa.int64())]), Options(format_.options, {})), [
        k.to_bytes(8, "big") for k in range(20)
    ]


def protobuf_target() -> Target:
    format_options = {"protobuf.message-class-name": "shop.Order", "protobuf.descriptor-file": str(FILE)}
    format_, rng, valid = FORMATS["protobuf"], Random(5), []
    for k in range(20):
        message = random_message(ORDER, rng, 2)
        message.i = k  # type: ignore[attr-defined]
        valid.append(message.SerializeToString())
    return format_.decoder(ORDERS, Options(format_.options, format_options)), valid


def changelog_target(
    name: str, inserted: Callable[[Any], Any], deleted: Callable[[Any], Any], *metadata: str
) -> Target:
    format_ = FORMATS[name]
    decoder = format_.decoder(SCHEMA, Options(format_.options, {}), ("row-kind", *metadata))
    changes = [(deleted if k % 2 else inserted)(row) for k, row in enumerate(ROWS)]
    return decoder, [json.dumps(change).encode() for change in changes]


CHANGELOG_TARGETS: dict[str, Callable[[], Target]] = {
    "debezium-json": lambda: changelog_target(
        "debezium-json",
        lambda row: {"before": None, "after": row, "op": "c", "ts_ms": 1_589_355_606_100},
        lambda row: {"before": row, "after": None, "op": "d", "ts_ms": 1_589_355_606_100},
        "ingestion-timestamp",
    ),
    "canal-json": lambda: changelog_target(
        "canal-json",
        lambda row: {"data": [row], "old": None, "type": "INSERT", "database": "d", "ts": 1_589_355_606_100},
        lambda row: {"data": [row], "old": None, "type": "DELETE", "database": "d", "ts": 1_589_355_606_100},
        "database",
        "ingestion-timestamp",
    ),
    "maxwell-json": lambda: changelog_target(
        "maxwell-json",
        lambda row: {"data": row, "type": "insert", "database": "d", "ts": 1_589_355_606},
        lambda row: {"data": row, "type": "delete", "database": "d", "ts": 1_589_355_606},
        "database",
    ),
    "ogg-json": lambda: changelog_target(
        "ogg-json",
        lambda row: {"after": row, "op_type": "I", "op_ts": "2020-05-13 15:40:06.000000", "table": "T"},
        lambda row: {"before": row, "op_type": "D", "op_ts": "2020-05-13 15:40:06.000000", "table": "T"},
        "event-timestamp",
    ),
}
FUZZED_FORMATS = {
    "json": json_target,
    "csv": csv_target,
    "raw": raw_target,
    "protobuf": protobuf_target,
    **CHANGELOG_TARGETS,
}


@pytest.mark.parametrize("name", FUZZED_FORMATS)
def test_mutated_payloads(name: str) -> None:
    decoder, valid = FUZZED_FORMATS[name]()
    rows, errors = fuzz_decoder(decoder, valid, range(20), 1_000, 1)
    assert rows > 20
    assert errors > 200


def test_decimals_beyond_the_precision_of_a_not_null_column() -> None:
    inner = pa.struct([pa.field("d", pa.decimal128(4, 2), nullable=False)])
    wide = pa.struct([pa.field("d", pa.decimal128(6, 2), nullable=False)])
    narrow_schema = pa.schema([pa.field("n", pa.int32(), False), pa.field("l", pa.list_(inner))])
    wide_schema = pa.schema([pa.field("n", pa.int32(), False), pa.field("l", pa.list_(wide))])
    rows: list[dict[str, Any]] = [
        {"n": 0, "l": [{"d": 1}, {"d": 2}]},
        {"n": 1, "l": None},
        {"n": 2, "l": [{"d": 1}, {"d": 5000}, {"d": -6000}]},
        {"n": 3, "l": []},
        {"n": 4, "l": [{"d": 3}]},
        {"n": 5, "l": [{"d": 7000}]},
    ]
    options = Options(AVRO.options, {})
    payloads = AVRO.encoder(wide_schema, options).encode(pa.RecordBatch.from_pylist(rows, wide_schema))
    decoder = AVRO.decoder(narrow_schema, options)
    errors: list[DecodeError] = []
    decoded = decoder.decode(payloads, errors)
    assert [(e.row, e.field) for e in errors] == [(2, "l[].d"), (5, "l[].d")]
    assert decoded.columns[0].to_pylist() == [0, 1, 3, 4]
    assert decoded.payload_indices is not None
    assert decoded.payload_indices.to_pylist() == [0, 1, 3, 4]
    with pytest.raises(DecodeError, match=r"record 2 of the buffer, field 'l\[\]\.d'.* beyond the column's precision"):
        decoder.decode(payloads)
