"""ogg-json: what Oracle GoldenGate writes. Facts: flink-json's OggJsonDecodingFormat and its schemas."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.formats.cdc.dialect import MICROS, Dialect, Metadata, from_text
from kafka_sql.formats.cdc.json_format import change_format


def _cut_to_millis(values: pa.Array) -> pa.Array:
    """As Flink reads this one field, whose type has room for microseconds."""
    return pc.floor_temporal(from_text(values), unit="millisecond")


OGG: Final = Dialect(
    name="Ogg",
    new="after",
    old="before",
    operation="op_type",
    inserts=("I",),
    updates=("U",),
    deletes=("D",),
    old_when_deleted=True,
    metadata={
        "table": Metadata(pa.string(), "table", pa.string()),
        "primary-keys": Metadata(pa.list_(pa.string()), "primary_keys", pa.list_(pa.string())),
        "ingestion-timestamp": Metadata(MICROS, "current_ts", pa.string(), from_text),
        "event-timestamp": Metadata(MICROS, "op_ts", pa.string(), _cut_to_millis),
    },
)

OGG_JSON: Final = change_format("ogg-json", OGG)
