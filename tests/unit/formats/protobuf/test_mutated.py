"""Mutated messages among good ones: no crash, and every good record in its place."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from kafka_sql.formats.protobuf import PROTOBUF
from kafka_sql.options import Options
from tests.fuzz.decoders import fuzz_lenient_decoder
from tests.unit.formats.protobuf.oracle import FILE, ORDER, ORDERS, message_of


def fuzz(records: int, seed: int) -> int:
    """An assault with errors ignored; how many mutants became rows."""
    luck, good = Random(seed), []
    for k in range(50):
        one = message_of(ORDER, luck, 2)
        one.i = k  # type: ignore[attr-defined]
        good.append(one.SerializeToString())
    schema = pa.schema([field for field in ORDERS if field.name != "doc"])  # which a library reads, one by one
    given = {"protobuf.message-class-name": "shop.Order", "protobuf.descriptor-file": str(FILE),
             "protobuf.ignore-parse-errors": "true"}  # fmt: skip
    return fuzz_lenient_decoder(
        PROTOBUF.decoder(schema, Options(PROTOBUF.options, given)), good, range(50), records, seed
    )


def test_mutated_messages() -> None:
    assert fuzz(2_000, 1) > 200
