"""Encode Avro records in Confluent's wire format."""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.formats.avro.encoder import AvroWriter
from kafka_sql.formats.avro.schema import parse_schema
from kafka_sql.formats.confluent.encoder import WireFormatEncoder
from kafka_sql.formats.confluent.options import RegistryOptions
from kafka_sql.options import Options


def create_encoder(
    schema: pa.Schema, text: str, registry_options: RegistryOptions, options: Options
) -> WireFormatEncoder:
    """Return an encoder of records.

    Args:
        text: the Avro schema.

    Raises:
        MissingOptionError: there is no subject.
        SchemaError: the Avro schema does not match the columns.
        OptionError: the registry's settings are invalid.
    """
    return WireFormatEncoder(AvroWriter(schema, parse_schema(text)).encode, text, registry_options, options)
