"""Mutated JSON among good records: no crash, and every good record in its place."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from kafka_sql.formats.json import JSON
from kafka_sql.options import Options
from tests.unit.formats.fuzz import assault

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
    """An assault with errors ignored; how many mutants became rows."""
    good = [
        json.dumps(
            {"a": k, "s": 'te"xt é', "d": k / 4, "t": f"2020-01-01 00:00:{k:02}", "b": "AQID", "l": [{"x": k}, None]},
            ensure_ascii=bool(k % 2),
        ).encode()
        for k in range(50)
    ]
    decoder = JSON.decoder(SCHEMA, Options(JSON.options, {"json.ignore-parse-errors": "true"}))
    return assault(decoder, good, range(50), records, seed)


def test_mutated_payloads() -> None:
    assert fuzz(2_000, 1) > 60


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_million_mutated_payloads() -> None:
    assert fuzz(1_000_000, 2) > 30_000
