"""Define the maxwell-json format: change events that Maxwell writes (flink-json, MaxwellJsonDecodingFormat)."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kafka_sql.formats.cdc.dialect import MILLIS, Dialect, Metadata, from_seconds
from kafka_sql.formats.cdc.json_format import dialect_format

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
        "primary-key-columns": Metadata(pa.list_(pa.string()), "primary_key_columns", pa.list_(pa.string())),
        "ingestion-timestamp": Metadata(MILLIS, "ts", pa.int64(), from_seconds),
    },
)

MAXWELL_JSON: Final = dialect_format("maxwell-json", MAXWELL)
