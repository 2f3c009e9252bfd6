"""Define the ogg-json format: change events that Oracle GoldenGate writes (flink-json, OggJsonDecodingFormat)."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.formats.cdc.dialect import MICROS, Dialect, Metadata, from_timestamp_string
from kafka_sql.formats.cdc.json_format import dialect_format


def _truncate_to_millis(values: pa.Array) -> pa.Array:
    """Return timestamps as Flink reads this one field: in milliseconds, although its type has microseconds."""
    return pc.floor_temporal(from_timestamp_string(values), unit="millisecond")


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
        "primary-keys": Metadata(pa.list_(pa.string()), "primary_keys", pa.list_(pa.string())),
        "ingestion-timestamp": Metadata(MICROS, "current_ts", pa.string(), from_timestamp_string),
        "event-timestamp": Metadata(MICROS, "op_ts", pa.string(), _truncate_to_millis),
    },
)

OGG_JSON: Final = dialect_format("ogg-json", OGG)
