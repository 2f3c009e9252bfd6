"""Encode messages in Confluent's wire format."""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.errors import SchemaError
from kafka_sql.formats.confluent.encoder import WireFormatEncoder
from kafka_sql.formats.confluent.schemas import RegisteredSchema
from kafka_sql.formats.protobuf.encoder import ProtobufWriter
from kafka_sql.formats.protobuf_confluent.options import MESSAGE, REGISTRY, WRITE_NULL_STRING_LITERAL
from kafka_sql.formats.protobuf_confluent.schema_descriptors import encode_indexes, select_message
from kafka_sql.formats.protobuf_confluent.schema_from_table import derive_schema
from kafka_sql.options import Options


def create_encoder(schema: pa.Schema, options: Options) -> WireFormatEncoder:
    """Return an encoder of messages.

    Raises:
        MissingOptionError: there is no subject.
        SchemaError: protobuf has no type for a column, or the schema in the options does not match the columns.
        OptionError: the registry's settings are invalid.
    """
    text = options.get(REGISTRY.schema)
    source = "of the table" if text is None else f"of option '{REGISTRY.schema.key}'"
    text = derive_schema(schema) if text is None else text
    try:
        message = select_message(RegisteredSchema(0, text), options.get(MESSAGE))
    except ValueError as e:
        raise SchemaError(f"The Protobuf schema {source} {e}.") from e
    writer = ProtobufWriter(schema, message, options[WRITE_NULL_STRING_LITERAL])
    return WireFormatEncoder(writer.encode, text, REGISTRY, options, encode_indexes(message))
