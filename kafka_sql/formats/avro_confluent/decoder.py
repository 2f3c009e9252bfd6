"""Avro records in Confluent's wire format, by a schema of the table's own."""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.formats.avro.decoder import Reader
from kafka_sql.formats.avro.encoder import Writer
from kafka_sql.formats.avro.resolution import Mismatch, plan
from kafka_sql.formats.avro.schema import Type, parse
from kafka_sql.formats.confluent.client import registry
from kafka_sql.formats.confluent.decoder import FramedDecoder
from kafka_sql.formats.confluent.encoder import FramedEncoder
from kafka_sql.formats.confluent.options import RegistryOptions, settings
from kafka_sql.formats.confluent.registry_schema import Registered
from kafka_sql.options import Options


def record_decoder(
    schema: pa.Schema, own: Type, known: RegistryOptions, options: Options, metadata: tuple[str, ...] = ()
) -> FramedDecoder:
    """A decoder of records.

    Args:
        own: the schema by which they are read, whose fields are the columns.

    Raises:
        OptionError: the registry's settings are in error.
    """

    def reader(written: Registered) -> Reader:
        writer = parse(written.text, [text for _, text in written.references])
        try:
            return Reader(plan(writer, own, schema))
        except Mismatch as e:
            raise ValueError(f"cannot be read as the table's columns: {e}") from e

    return FramedDecoder(schema, registry(settings(known, options)), reader, options.get(known.subject), metadata)


def record_encoder(schema: pa.Schema, own: str, known: RegistryOptions, options: Options) -> FramedEncoder:
    """An encoder of records by the schema ``own``.

    Raises:
        MissingOptionError: there is no subject.
        SchemaError: the schema does not fit the columns.
        OptionError: the registry's settings are in error.
    """
    return FramedEncoder(Writer(schema, parse(own)), own, known, options)
