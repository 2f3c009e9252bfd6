"""Test the debezium-avro-confluent format with a real schema registry: reading Debezium's envelope, and writing."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.embedded import EmbeddedRegistry
from kafka_sql.errors import DecodeError, SchemaError
from kafka_sql.formats.cdc.debezium_avro import DEBEZIUM_AVRO_CONFLUENT
from kafka_sql.formats.declared_types import DECLARED_TYPE
from kafka_sql.formats.format import ROW_KIND_COLUMN, Decoded
from kafka_sql.options import Options
from tests.registry_helpers import encode_avro, infer, latest_version, register

pytestmark = pytest.mark.integration

NAME = "debezium-avro-confluent"
PAIR = pa.schema([("id", pa.int64()), ("name", pa.string())])
VALUE = {"type": "record", "name": "Value", "namespace": "shop.goods", "fields": [
    {"name": "id", "type": "int"}, {"name": "name", "type": ["null", "string"], "default": None},
    {"name": "weight", "type": ["null", "float"], "default": None}]}  # fmt: skip
SOURCE = {"type": "record", "name": "Source", "namespace": "io.debezium.connector.postgresql", "fields": [
    {"name": "version", "type": "string"}, {"name": "connector", "type": "string"},
    {"name": "name", "type": "string"}, {"name": "ts_ms", "type": "long"},
    {"name": "snapshot", "type": ["null", "string"], "default": None}, {"name": "db", "type": "string"},
    {"name": "schema", "type": "string"}, {"name": "table", "type": "string"},
    {"name": "lsn", "type": ["null", "long"], "default": None}]}  # fmt: skip
ENVELOPE = {"type": "record", "name": "Envelope", "namespace": "shop.goods", "fields": [
    {"name": "before", "type": ["null", VALUE], "default": None},
    {"name": "after", "type": ["null", "Value"], "default": None},
    {"name": "source", "type": SOURCE}, {"name": "op", "type": "string"},
    {"name": "ts_ms", "type": ["null", "long"], "default": None}]}  # fmt: skip
EVENT_SOURCE = {"version": "2", "connector": "postgresql", "name": "shop", "ts_ms": 1_600_000_000_123, "db": "d",
         "schema": "public", "table": "goods"}  # fmt: skip
NEW, OLD = {"id": 1, "name": "b", "weight": 1.5}, {"id": 1, "name": "a", "weight": None}


def options(registry: EmbeddedRegistry, **format_options: str) -> Options:
    named = {f"{NAME}.{key}": text for key, text in format_options.items()}
    return Options(DEBEZIUM_AVRO_CONFLUENT.options, {f"{NAME}.url": registry.url, **named})


def decode(format_options: Options, payloads: list[bytes | None], *metadata: str, schema: pa.Schema = PAIR) -> Decoded:
    decoder = DEBEZIUM_AVRO_CONFLUENT.decoder(schema, format_options, ("row-kind", *metadata))
    return decoder.decode(pa.array(payloads, pa.binary()))


def rows(decoded: Decoded) -> list[tuple[Any, ...]]:
    kinds, *metadata = decoded.metadata
    return list(zip(*(a.to_pylist() for a in (kinds, *decoded.columns, *metadata)), strict=True))


def change_event(schema_id: int, op: str, before: Any = None, after: Any = None) -> bytes:
    change = {"op": op, "before": before, "after": after, "source": EVENT_SOURCE, "ts_ms": 1_600_000_001_000}
    return encode_avro(schema_id, ENVELOPE, change)


def test_reads_debezium_events(registry: EmbeddedRegistry) -> None:
    number = register(registry, "goods-value", ENVELOPE)
    payloads = [
        change_event(number, "r", after=OLD),
        change_event(number, "u", OLD, NEW),
        change_event(number, "d", NEW),
        None,
        b"",
        change_event(number, "c", after=NEW),
    ]
    keys = ("ingestion-timestamp", "source.timestamp", "source.database", "source.schema", "source.table")
    decoded = decode(options(registry), payloads, *keys)
    at = dt.datetime(2020, 9, 13, 12, 26, 40, 123_000, dt.timezone.utc)
    metadata = (at.replace(second=41, microsecond=0), at, "d", "public", "goods")
    assert rows(decoded) == [
        ("+I", 1, "a", *metadata), ("-U", 1, "a", *metadata), ("+U", 1, "b", *metadata), ("-D", 1, "b", *metadata),
        ("+I", 1, "b", *metadata),
    ]  # fmt: skip
    assert decoded.payload_indices is not None
    assert decoded.payload_indices.to_pylist() == [0, 1, 1, 2, 5]
    (properties,) = decode(options(registry), payloads[:1], "source.properties").metadata[1].to_pylist()
    assert {k: v for k, v in properties if v is not None} == {**EVENT_SOURCE, "ts_ms": "1600000000123"}


@pytest.mark.parametrize(
    ("op", "before", "fragment"),
    [
        ("u", None, 'The "before" field of UPDATE message is null'),
        ("d", None, "REPLICA IDENTITY to FULL level"),
        ("x", OLD, 'Unknown "op" value "x"'),
    ],
)
def test_malformed_events(registry: EmbeddedRegistry, op: str, before: Any, fragment: str) -> None:
    number = register(registry, "goods-value", ENVELOPE)
    with pytest.raises(DecodeError, match="Can't deserialize Debezium Avro message") as e:
        decode(options(registry), [change_event(number, "c", after=NEW), None, change_event(number, op, before, NEW)])
    assert e.value.row == 2
    assert fragment in str(e.value)
    for bad in (b"{}", change_event(number, "c", after=NEW)[:-2]):
        with pytest.raises(DecodeError, match="Can't deserialize Debezium Avro message") as e:
            decode(options(registry), [b"", change_event(number, "c", after=NEW), bad])
        assert e.value.row == 2


def test_written_events(registry: EmbeddedRegistry) -> None:
    types = {"id": "BIGINT NOT NULL", "name": "STRING", "at": "TIMESTAMP(3)"}
    fields = [("id", pa.int64()), ("name", pa.string()), ("at", pa.timestamp("us"))]
    schema = pa.schema([pa.field(n, t, n != "id", {DECLARED_TYPE: types[n]}) for n, t in fields])
    at = dt.datetime(2020, 1, 2, 3, 4, 5, 6_000)
    format_options = options(registry, subject="written-goods-value")
    batch = pa.RecordBatch.from_pylist([{"id": 1, "name": "a", "at": at}, {"id": 2, "name": None, "at": None}], schema)
    batch = batch.append_column(ROW_KIND_COLUMN, pa.array(["+I", "-D"]))
    payloads = DEBEZIUM_AVRO_CONFLUENT.encoder(schema, format_options).encode(batch).to_pylist()
    latest = latest_version(registry, "written-goods-value")
    null, envelope = json.loads(latest["schema"])
    assert null == "null"
    assert [f["name"] for f in envelope["fields"]] == ["before", "after", "op"]
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    state = [{"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"], "default": None},
             {"name": "at", "type": ["null", millis], "default": None}]  # fmt: skip
    for name, field in zip(("before", "after"), envelope["fields"], strict=False):
        assert field["type"] == ["null", {"type": "record", "name": f"record_{name}", "fields": state}]
    assert payloads == [
        encode_avro(latest["id"], ["null", envelope], {"before": b, "after": a, "op": op})
        for b, a, op in (
            (None, {"id": 1, "name": "a", "at": at.replace(tzinfo=dt.timezone.utc)}, "c"),
            ({"id": 2, "name": None, "at": None}, None, "d"),
        )
    ]
    assert rows(decode(format_options, payloads, schema=schema)) == [("+I", 1, "a", at), ("-D", 2, None, None)]


def test_schema_option(registry: EmbeddedRegistry) -> None:
    custom_schema = [
        "null",
        {**ENVELOPE, "fields": [f for f in ENVELOPE["fields"] if f["name"] in ("before", "after", "op")]},
    ]
    format_options = options(registry, subject="own-goods-value", schema=json.dumps(custom_schema))
    schema = pa.schema([("id", pa.int32()), ("name", pa.string()), ("weight", pa.float32())])
    batch = pa.RecordBatch.from_pylist([NEW], schema)
    payloads = DEBEZIUM_AVRO_CONFLUENT.encoder(schema, format_options).encode(batch).to_pylist()
    assert json.loads(latest_version(registry, "own-goods-value")["schema"]) == custom_schema
    assert rows(decode(format_options, payloads, "source.table", schema=schema)) == [("+I", 1, "b", 1.5, None)]
    with pytest.raises(SchemaError, match="must be a nullable record type with fields 'before', 'after', 'op'"):
        decode(format_options, payloads)


def test_inferred_columns(registry: EmbeddedRegistry) -> None:
    register(registry, "shop.goods-value", ENVELOPE)
    inferred = infer({"topic": "shop.goods", "value.format": NAME, f"value.{NAME}.url": registry.url})
    assert inferred.columns == (("id", "INT NOT NULL"), ("name", "STRING"), ("weight", "FLOAT"))
    assert not inferred.options
