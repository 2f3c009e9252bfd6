"""Decode Avro records in Confluent's wire format."""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.formats.avro.decode_plan import SchemaMismatch
from kafka_sql.formats.avro.decoder import AvroReader
from kafka_sql.formats.avro.resolution import resolve_schemas
from kafka_sql.formats.avro.schema import AvroType, parse_schema
from kafka_sql.formats.confluent.client import cached_registry
from kafka_sql.formats.confluent.decoder import WireFormatDecoder
from kafka_sql.formats.confluent.options import RegistryOptions, registry_settings
from kafka_sql.formats.confluent.registry_schema import RegisteredSchema
from kafka_sql.options import Options


def create_decoder(
    schema: pa.Schema,
    avro: AvroType,
    registry_options: RegistryOptions,
    options: Options,
    metadata: tuple[str, ...] = (),
) -> WireFormatDecoder:
    """Return a decoder of records.

    Args:
        avro: the reader's schema, whose fields are the columns.

    Raises:
        OptionError: the registry's settings are invalid.
    """

    def create_reader(registered: RegisteredSchema) -> AvroReader:
        writer = parse_schema(registered.text, registered.reference_texts)
        try:
            return AvroReader(resolve_schemas(writer, avro, schema))
        except SchemaMismatch as e:
            raise ValueError(f"cannot be read as the table's columns: {e}") from e

    registry = cached_registry(registry_settings(registry_options, options))
    return WireFormatDecoder(schema, registry, create_reader, options.get(registry_options.subject), metadata)
