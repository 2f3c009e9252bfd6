"""Define the changelog formats whose documents are JSON: those of Debezium, Canal, Maxwell and Oracle GoldenGate.

Source: flink-json, the ...JsonDecodingFormat of each.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.formats.cdc.dialect import (
    MICROS,
    MILLIS,
    SOURCE,
    Dialect,
    Metadata,
    from_millis,
    from_seconds,
    from_timestamp_string,
    source_property,
    source_timestamp,
)
from kafka_sql.formats.cdc.json_format import JsonDialect
from kafka_sql.options import Option, boolean
from kafka_sql.options.java_pattern import compile_java_pattern

_STRINGS: Final = pa.list_(pa.string())
_SQL_TYPES: Final = pa.map_(pa.string(), pa.int32())


def _source_metadata(key: str) -> Metadata:
    return Metadata(pa.string(), "source", pa.struct([(key, pa.string())]), source_property(key))


def _truncate_to_millis(values: pa.Array) -> pa.Array:
    """Return timestamps as Flink reads this one field of Ogg: in milliseconds, although its type has microseconds."""
    return pc.floor_temporal(from_timestamp_string(values), unit="millisecond")


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
        "source.timestamp": Metadata(MILLIS, "source", pa.struct([("ts_ms", pa.string())]), source_timestamp),
        "source.database": _source_metadata("db"),
        "source.schema": _source_metadata("schema"),
        "source.table": _source_metadata("table"),
        "source.properties": Metadata(SOURCE, "source", SOURCE),
    },
)
CANAL: Final = Dialect(
    name="Canal",
    new_field="data",
    old_field="old",
    operation_field="type",
    inserts=("INSERT",),
    updates=("UPDATE",),
    deletes=("DELETE",),
    skipped=("CREATE",),
    old_is_partial=True,
    rows_in_arrays=True,
    metadata={
        "database": Metadata(pa.string(), "database", pa.string()),
        "table": Metadata(pa.string(), "table", pa.string()),
        "sql-type": Metadata(_SQL_TYPES, "sqlType", _SQL_TYPES),
        "pk-names": Metadata(_STRINGS, "pkNames", _STRINGS),
        "ingestion-timestamp": Metadata(MILLIS, "ts", pa.int64(), from_millis),
        "event-timestamp": Metadata(MILLIS, "es", pa.int64(), from_millis),
    },
)
MAXWELL: Final = Dialect(
    name="Maxwell",
    new_field="data",
    old_field="old",
    operation_field="type",
    inserts=("insert",),
    updates=("update",),
    deletes=("delete",),
    old_is_partial=True,
    metadata={
        "database": Metadata(pa.string(), "database", pa.string()),
        "table": Metadata(pa.string(), "table", pa.string()),
        "primary-key-columns": Metadata(_STRINGS, "primary_key_columns", _STRINGS),
        "ingestion-timestamp": Metadata(MILLIS, "ts", pa.int64(), from_seconds),
    },
)
OGG: Final = Dialect(
    name="Ogg",
    new_field="after",
    old_field="before",
    operation_field="op_type",
    inserts=("I",),
    updates=("U",),
    deletes=("D",),
    deletes_use_old=True,
    metadata={
        "table": Metadata(pa.string(), "table", pa.string()),
        "primary-keys": Metadata(_STRINGS, "primary_keys", _STRINGS),
        "ingestion-timestamp": Metadata(MICROS, "current_ts", pa.string(), from_timestamp_string),
        "event-timestamp": Metadata(MICROS, "op_ts", pa.string(), _truncate_to_millis),
    },
)

DEBEZIUM_JSON: Final = JsonDialect(
    "debezium-json",
    DEBEZIUM,
    envelope_option=boolean(
        "debezium-json.schema-include",
        "Whether the records contain their schema, as Kafka Connect writes them with 'value.converter.schemas.enable'. "
        "Such a topic can only be read.",
        default="false",
    ),
).format()
CANAL_JSON: Final = JsonDialect(
    "canal-json",
    CANAL,
    filters={
        field: Option(
            f"canal-json.{field}.include",
            compile_java_pattern,
            "String",
            f"Regular expression in Java's syntax. Only records whose full `{field}` matches are read.",
        )
        for field in ("database", "table")
    },
).format()
MAXWELL_JSON: Final = JsonDialect("maxwell-json", MAXWELL).format()
OGG_JSON: Final = JsonDialect("ogg-json", OGG).format()
