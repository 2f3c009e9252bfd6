"""Define the debezium-json format: change events of Debezium's connectors (flink-json, DebeziumJsonDecodingFormat)."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kafka_sql.errors import InvalidOptionError
from kafka_sql.formats.cdc.dialect import MILLIS, SOURCE, Dialect, Metadata, from_millis, source_property
from kafka_sql.formats.cdc.json_format import dialect_format
from kafka_sql.options import Options, boolean

SCHEMA_INCLUDE: Final = boolean(
    "debezium-json.schema-include",
    "Whether the records contain their schema, as Kafka Connect writes them with 'value.converter.schemas.enable'. "
    "Such a topic can only be read.",
    default="false",
)


def _source_metadata(key: str) -> Metadata:
    return Metadata(pa.string(), "source", pa.struct([(key, pa.string())]), source_property(key))


def _source_timestamp(sources: pa.Array) -> pa.Array:
    return from_millis(source_property("ts_ms")(sources))


DEBEZIUM: Final = Dialect(
    name="Debezium",
    new_field="after",
    old_field="before",
    operation_field="op",
    inserts=("c", "r"),
    updates=("u",),
    deletes=("d",),
    deletes_use_old=True,
    metadata={
        "schema": Metadata(pa.string(), "schema", pa.string(), outside_payload=True),
        "ingestion-timestamp": Metadata(MILLIS, "ts_ms", pa.int64(), from_millis),
        "source.timestamp": Metadata(MILLIS, "source", pa.struct([("ts_ms", pa.string())]), _source_timestamp),
        "source.database": _source_metadata("db"),
        "source.schema": _source_metadata("schema"),
        "source.table": _source_metadata("table"),
        "source.properties": Metadata(SOURCE, "source", SOURCE),
    },
)


def _has_envelope(options: Options) -> bool:
    return options[SCHEMA_INCLUDE]


def _check_writable(options: Options) -> None:
    if options[SCHEMA_INCLUDE]:
        raise InvalidOptionError(
            "Debezium JSON serialization doesn't support 'debezium-json.schema-include' option been set to true. Set "
            "it to 'false' or remove it, or write through another table.",
            option=SCHEMA_INCLUDE.key,
        )


DEBEZIUM_JSON: Final = dialect_format("debezium-json", DEBEZIUM, (SCHEMA_INCLUDE,), _has_envelope, _check_writable)
