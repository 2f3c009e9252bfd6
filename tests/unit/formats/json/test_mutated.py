"""Mutated JSON among valid records: no crash, and every valid record is decoded."""

from __future__ import annotations

import json

import pyarrow as pa

from kafka_sql.formats.cdc.json_dialects import DEBEZIUM_JSON
from kafka_sql.formats.json import JSON
from kafka_sql.options import Options
from tests.fuzz.decoders import fuzz_lenient_decoder
from tests.unit.formats.json.fallback_decoder import FallbackDecoder

SCHEMA = pa.schema(
    [
        ("a", pa.int64()),
        ("s", pa.string()),
        ("d", pa.decimal128(10, 2)),
        ("t", pa.timestamp("us")),
        ("b", pa.binary()),
        ("l", pa.list_(pa.struct([("x", pa.int32())]))),
    ]
)


def fuzz(records: int, seed: int) -> int:
    """Decode mutated payloads with errors ignored; return how many became rows."""
    valid = [
        json.dumps(
            {"a": k, "s": 'te"xt é', "d": k / 4, "t": f"2020-01-01 00:00:{k:02}", "b": "AQID", "l": [{"x": k}, None]},
            ensure_ascii=bool(k % 2),
        ).encode()
        for k in range(50)
    ]
    options = Options(JSON.options, {"json.ignore-parse-errors": "true"})
    return fuzz_lenient_decoder(
        JSON.decoder(SCHEMA, options), valid, range(50), records, seed, FallbackDecoder(SCHEMA, options)
    )


def fuzz_changes(records: int, seed: int) -> int:
    """Decode mutated Debezium events with errors ignored; return how many became rows."""
    schema = pa.schema([("a", pa.int64()), ("s", pa.string()), ("t", pa.timestamp("us"))])
    valid = [
        json.dumps(
            {"before": None, "after": {"a": k, "s": "é", "t": f"2020-01-01 00:00:{k:02}"}, "op": "c", "ts_ms": k}
        ).encode()
        for k in range(50)
    ]
    options = Options(DEBEZIUM_JSON.options, {"debezium-json.ignore-parse-errors": "true"})
    return fuzz_lenient_decoder(DEBEZIUM_JSON.decoder(schema, options), valid, range(50), records, seed)


def test_mutated_payloads() -> None:
    assert fuzz(2_000, 1) > 60
    assert fuzz_changes(2_000, 1) > 60
