"""Avro records in Confluent's wire format, by a schema of the table's own."""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.formats.avro.decoder import AvroReader
from kafka_sql.formats.avro.encoder import AvroWriter
from kafka_sql.formats.avro.resolution import SchemaMismatch, resolve_schemas
from kafka_sql.formats.avro.schema import AvroType, parse_schema
from kafka_sql.formats.confluent.client import cached_registry
from kafka_sql.formats.confluent.decoder import WireFormatDecoder
from kafka_sql.formats.confluent.encoder import WireFormatEncoder
from kafka_sql.formats.confluent.options import RegistryOptions, registry_settings
from kafka_sql.formats.confluent.registry_schema import RegisteredSchema
from kafka_sql.options import Options


def record_decoder(
    schema: pa.Schema, own: AvroType, known: RegistryOptions, options: Options, metadata: tuple[str, ...] = ()
) -> WireFormatDecoder:
    """A decoder of records.

    Args:
        own: the schema by which they are read, whose fields are the columns.

    Raises:
        OptionError: the registry's settings are in error.
    """

    def reader(written: RegisteredSchema) -> AvroReader:
        writer = parse_schema(written.text, [text for _, text in written.references])
        try:
            return AvroReader(resolve_schemas(writer, own, schema))
        except SchemaMismatch as e:
            raise ValueError(f"cannot be read as the table's columns: {e}") from e

    return WireFormatDecoder(
        schema, cached_registry(registry_settings(known, options)), reader, options.get(known.subject), metadata
    )


def record_encoder(schema: pa.Schema, own: str, known: RegistryOptions, options: Options) -> WireFormatEncoder:
    """An encoder of records by the schema ``own``.

    Raises:
        MissingOptionError: there is no subject.
        SchemaError: the schema does not fit the columns.
        OptionError: the registry's settings are in error.
    """
    return WireFormatEncoder(AvroWriter(schema, parse_schema(own)), own, known, options)
