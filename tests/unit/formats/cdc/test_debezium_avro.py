"""Test the metadata of debezium-avro-confluent with a registry that has one schema."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.formats.cdc.debezium_avro import DEBEZIUM_AVRO_CONFLUENT
from kafka_sql.options import Options
from kafka_sql.table.changelog import ROW_KIND
from tests.http_server import registry_with, serve
from tests.registry_helpers import encode_avro

SCHEMA = pa.schema([("id", pa.int64())])
ROW_SCHEMA = {"type": "record", "name": "Value", "fields": [{"name": "id", "type": "long"}]}
SOURCE_SCHEMA = {"type": "record", "name": "Source", "fields": [
    {"name": "connector", "type": "string"}, {"name": "ts_ms", "type": "long"}, {"name": "db", "type": "string"},
    {"name": "schema", "type": "string"}, {"name": "table", "type": "string"}]}  # fmt: skip
ENVELOPE_SCHEMA = {"type": "record", "name": "Envelope", "fields": [
    {"name": "before", "type": ["null", ROW_SCHEMA]}, {"name": "after", "type": ["null", "Value"]},
    {"name": "source", "type": ["null", SOURCE_SCHEMA]}, {"name": "op", "type": "string"},
    {"name": "ts_ms", "type": ["null", "long"]}]}  # fmt: skip
SOURCE_ROW = {"connector": "mysql", "ts_ms": 1_600_000_000_123, "db": "shop", "schema": "public", "table": "goods"}


@pytest.fixture(scope="module")
def options() -> Iterator[Options]:
    """Run a registry, and return the options of a table that uses it."""

    with serve(registry_with(ENVELOPE_SCHEMA)) as url:
        yield Options(DEBEZIUM_AVRO_CONFLUENT.options, {"debezium-avro-confluent.url": url})


def read(options: Options, events: list[dict[str, Any]], *keys: str) -> list[tuple[Any, ...]]:
    """Return row kind, column and metadata of each row."""
    decoder = DEBEZIUM_AVRO_CONFLUENT.decoder(SCHEMA, options, (ROW_KIND, *keys))
    decoded = decoder.decode(pa.array([encode_avro(7, ENVELOPE_SCHEMA, event) for event in events]))
    kinds, *metadata = decoded.metadata
    return list(zip(*(array.to_pylist() for array in (kinds, *decoded.columns, *metadata)), strict=True))


def event(op: str, source: dict[str, Any] | None = SOURCE_ROW, **fields: Any) -> dict[str, Any]:
    return {"op": op, "before": None, "after": None, "source": source, "ts_ms": 1_600_000_001_000, **fields}


def test_metadata_of_the_source(options: Options) -> None:
    keys = ("ingestion-timestamp", "source.timestamp", "source.database", "source.schema", "source.table")
    events = [event("c", after={"id": 1}), event("u", before={"id": 1}, after={"id": 2}), event("d", before={"id": 2})]
    source_time = dt.datetime(2020, 9, 13, 12, 26, 40, 123_000, dt.timezone.utc)
    metadata = (source_time.replace(second=41, microsecond=0), source_time, "shop", "public", "goods")
    assert read(options, events, *keys) == [
        ("+I", 1, *metadata), ("-U", 1, *metadata), ("+U", 2, *metadata), ("-D", 2, *metadata)
    ]  # fmt: skip


def test_properties_of_the_source(options: Options) -> None:
    other_source = {**SOURCE_ROW, "ts_ms": 5, "db": "other"}
    events = [event("c", after={"id": 1}), event("c", None, after={"id": 2}), event("c", other_source, after={"id": 3})]
    first, missing, last = (row[2] for row in read(options, events, "source.properties"))
    assert {key: value for key, value in first if value is not None} == {**SOURCE_ROW, "ts_ms": "1600000000123"}
    assert missing is None
    assert {key: value for key, value in last if value is not None} == {**other_source, "ts_ms": "5"}
