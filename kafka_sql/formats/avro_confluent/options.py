"""Define the options of the avro-confluent format (flink-avro-confluent-registry, AvroConfluentFormatOptions)."""

from __future__ import annotations

from typing import Final

from kafka_sql.formats.confluent.options import declare_registry_options

AVRO_CONFLUENT_OPTIONS: Final = declare_registry_options(
    "avro-confluent",
    "AVRO",
    "An Avro schema for reading and writing, whose fields are the table's columns in their order. By default it is "
    "derived from the columns.",
)
