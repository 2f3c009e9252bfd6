"""Test undecodable records in all formats with a schema registry."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.definition import validate_table
from kafka_sql.embedded import EmbeddedRegistry
from kafka_sql.errors import DecodeError
from kafka_sql.formats.confluent.wire_format import HEADER_SIZE
from kafka_sql.kafka.records import Records
from kafka_sql.kafka.split import Split
from kafka_sql.source.reader.bad_records import BadRecordHandler
from kafka_sql.source.reader.row_decoder import RowDecoder
from kafka_sql.table.table import Column, Table
from tests.fuzz.decoders import fuzz_decoder

pytestmark = pytest.mark.integration

N = Column("n", "BIGINT", "BIGINT")
WHY = Column("why", "STRING", "STRING", metadata="error", virtual=True)
KIND = Column("kind", "STRING", "STRING", metadata="row-kind", virtual=True)
RAW = Column("raw", "BINARY", "BYTES", metadata="raw-value", virtual=True)
SCHEMA = pa.schema([("n", pa.int64()), ("why", pa.string()), ("raw", pa.binary())])
SPLIT = Split("t", 0, 0, 1000)


FRAMED = ("avro-confluent", "json-confluent", "protobuf-confluent", "debezium-avro-confluent")


@pytest.mark.parametrize("name", FRAMED)
def test_undecodable_records_are_reported_and_the_others_read(registry: EmbeddedRegistry, name: str) -> None:
    options = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1", "format": name,
               f"{name}.url": registry.url, f"{name}.subject": f"bad-{name}"}  # fmt: skip
    is_changelog = name.startswith("debezium")  # its changes are rows if the table has a row-kind column
    changes = (KIND,) if is_changelog else ()
    inline = validate_table(Table(("t",), (N, WHY, RAW, *changes), options))
    schema = SCHEMA.append(pa.field("kind", pa.string())) if is_changelog else SCHEMA
    batch = pa.RecordBatch.from_pydict({"n": [1, 2]}, SCHEMA.remove(1).remove(1))
    one, two = inline.value.create_encoder(SCHEMA).encode(batch).to_pylist()
    payloads = [one, b"{junk}", None, two, one[:5] + b"\xff\xff", two] + [one] * 100 + [one[:5] + b"{"]
    records = Records(pa.array(payloads, pa.binary()), np.arange(len(payloads)), None)
    decoded_rows = RowDecoder(inline, schema, SPLIT, BadRecordHandler(inline, SPLIT)).decode(records).batch.to_pylist()
    assert sorted(row["n"] for row in decoded_rows if row["why"] is None) == [1] * 101 + [2, 2]
    reasons = {row["raw"]: row["why"] for row in decoded_rows if row["why"] is not None}
    assert set(reasons) == {payloads[1], payloads[4], payloads[-1]}
    assert "t[0]@1" in reasons[b"{junk}"]
    assert "Magic number does not match" in reasons[b"{junk}"]

    strict = RowDecoder(validate_table(Table(("t",), (N,), options)), SCHEMA.remove(1).remove(1), SPLIT)
    with pytest.raises(DecodeError, match=r"t\[0\]@1: "):
        strict.decode(records)
    ignoring = validate_table(Table(("t",), (N,), {**options, "error-handling.mode": "ignore"}))
    left = RowDecoder(ignoring, SCHEMA.remove(1).remove(1), SPLIT, BadRecordHandler(ignoring, SPLIT)).decode(records)
    assert left.batch.column(0).to_pylist() == [1, 2, 2] + [1] * 100


def fuzz_with_registry(registry: EmbeddedRegistry, name: str, records: int, seed: int) -> tuple[int, int]:
    """Decode mutated payloads among valid ones; return how many became rows, and how many raised errors."""
    columns = [("n", "BIGINT", pa.int64()), ("s", "STRING", pa.string()), ("d", "DOUBLE", pa.float64()),
               ("l", "ARRAY<BIGINT>", pa.list_(pa.int64()))]  # fmt: skip
    schema = pa.schema([(column, t) for column, _, t in columns])
    options = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1", "format": name,
               f"{name}.url": registry.url, f"{name}.subject": f"besieged-{name}"}  # fmt: skip
    declared = tuple(Column(column, sql, sql) for column, sql, _ in columns)
    value = validate_table(Table(("t",), declared, options)).value
    rows = [{"n": k, "s": "é" * k, "d": k / 2, "l": [k]} for k in range(20)]
    good = value.create_encoder(schema).encode(pa.RecordBatch.from_pylist(rows, schema)).to_pylist()
    return fuzz_decoder(value.create_decoder(schema), good, range(20), records, seed, headers=HEADER_SIZE)


@pytest.mark.parametrize("name", FRAMED)
def test_mutated_payloads(registry: EmbeddedRegistry, name: str) -> None:
    rows, errors = fuzz_with_registry(registry, name, 500, 1)
    assert rows > 10
    assert errors > 100
