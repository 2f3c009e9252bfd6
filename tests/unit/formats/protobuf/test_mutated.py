"""Test mutated messages among valid ones: no crash, and every valid message is decoded in order."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from kafka_sql.formats.protobuf import PROTOBUF
from kafka_sql.options import Options
from tests.fuzz.decoders import fuzz_lenient_decoder
from tests.unit.formats.protobuf.oracle import FILE, ORDER, ORDERS, random_message


def fuzz(records: int, seed: int) -> int:
    """Decode mutated messages and ignore errors; return how many became rows."""
    rng, valid = Random(seed), []
    for k in range(50):
        message = random_message(ORDER, rng, 2)
        message.i = k  # type: ignore[attr-defined]
        valid.append(message.SerializeToString())
    # Without doc, which the library decodes message by message
    schema = pa.schema([field for field in ORDERS if field.name != "doc"])
    format_options = {"protobuf.message-class-name": "shop.Order", "protobuf.descriptor-file": str(FILE),
             "protobuf.ignore-parse-errors": "true"}  # fmt: skip
    return fuzz_lenient_decoder(
        PROTOBUF.decoder(schema, Options(PROTOBUF.options, format_options)), valid, range(50), records, seed
    )


def test_mutated_messages() -> None:
    assert fuzz(2_000, 1) > 200
