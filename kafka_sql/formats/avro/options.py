"""Define the options of the avro format, with Flink's keys (flink-avro, AvroFormatOptions)."""

from __future__ import annotations

from typing import Any, Final

from kafka_sql.options import Option, boolean, enum, string

BINARY: Final = "binary"
JSON: Final = "json"
ENCODING: Final = enum(
    "avro.encoding",
    "Avro's 'binary' encoding, or its 'json' encoding, which is readable but many times slower.",
    allowed=(BINARY, JSON),
    default=BINARY,
)
LEGACY_TIMESTAMPS: Final = boolean(
    "avro.timestamp_mapping.legacy",
    "'true' maps TIMESTAMP(3) to Avro's timestamp-millis, and does not support TIMESTAMP_LTZ or higher precisions. "
    "'false' maps TIMESTAMP to local-timestamp-millis and -micros, and TIMESTAMP_LTZ to timestamp-millis and -micros.",
    default="true",
)
CODEC: Final = string(
    "avro.codec",
    "Compression of Avro files. Accepted without effect: Kafka records are not files.",
    default="snappy",
)
FAST_READ: Final = boolean(
    "avro.open.fastread",
    "Use a faster reader of Java's Avro library. Accepted without effect.",
    default="false",
)

AVRO_OPTIONS: Final[tuple[Option[Any], ...]] = (ENCODING, LEGACY_TIMESTAMPS, CODEC, FAST_READ)
