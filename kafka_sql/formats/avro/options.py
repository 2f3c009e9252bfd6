"""The options of the avro format, under Flink's keys (flink-avro, AvroFormatOptions)."""

from __future__ import annotations

from typing import Any, Final

from kafka_sql.options import Option, boolean, enum, string

BINARY: Final = "binary"
JSON: Final = "json"
ENCODING: Final = enum(
    "avro.encoding",
    "Avro's 'binary' encoding, or its 'json' encoding, which people can read and which takes a multiple of the time.",
    allowed=(BINARY, JSON),
    default=BINARY,
)
LEGACY_TIMESTAMPS: Final = boolean(
    "avro.timestamp_mapping.legacy",
    "'true' takes Avro's timestamp-millis for TIMESTAMP(3), and has nothing for TIMESTAMP_LTZ and a higher precision. "
    "'false' takes local-timestamp-millis and -micros for TIMESTAMP, timestamp-millis and -micros for TIMESTAMP_LTZ.",
    default="true",
)
CODEC: Final = string(
    "avro.codec",
    "Compression of Avro files. Taken, and without effect: records of Kafka are no files.",
    default="snappy",
)
FAST_READ: Final = boolean(
    "avro.open.fastread",
    "Another reader of Java's Avro library. Taken, and without effect.",
    default="false",
)

AVRO_OPTIONS: Final[tuple[Option[Any], ...]] = (ENCODING, LEGACY_TIMESTAMPS, CODEC, FAST_READ)
