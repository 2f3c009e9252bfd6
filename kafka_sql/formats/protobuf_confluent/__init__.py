"""The protobuf-confluent format: protobuf with the id of its schema in a registry.

The registry and the framing are formats/confluent, protobuf itself is formats/protobuf.
"""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.errors import SchemaError
from kafka_sql.formats.confluent.registry_schema import METADATA, RegisteredSchema
from kafka_sql.formats.confluent.schema_inference import ColumnTypes, infer_from_registry
from kafka_sql.formats.format import Decoder, Encoder, Format, InferredSchema
from kafka_sql.formats.protobuf_confluent.options import MESSAGE, NAME, PROTOBUF_CONFLUENT_OPTIONS, REGISTRY
from kafka_sql.options import Options


def _encoder(schema: pa.Schema, options: Options) -> Encoder:
    from kafka_sql.formats.confluent.encoder import WireFormatEncoder
    from kafka_sql.formats.protobuf_confluent.decoder import MessageWriter
    from kafka_sql.formats.protobuf_confluent.protoc import select_message
    from kafka_sql.formats.protobuf_confluent.schema_from_table import derive_schema

    given = options.get(REGISTRY.schema)
    text = derive_schema(schema) if given is None else given
    try:
        message = select_message(RegisteredSchema(0, text), options.get(MESSAGE))
    except ValueError as e:
        what = "of the table" if given is None else f"of option '{REGISTRY.schema.key}'"
        raise SchemaError(f"The Protobuf schema {what} {e}.") from e
    return WireFormatEncoder(MessageWriter(schema, message, options), text, REGISTRY, options)


def _decoder(schema: pa.Schema, options: Options, metadata: tuple[str, ...] = ()) -> Decoder:
    from kafka_sql.formats.protobuf_confluent.decoder import ProtobufConfluentDecoder

    return ProtobufConfluentDecoder(schema, options, metadata)


def _infer(options: Options) -> InferredSchema:
    from kafka_sql.formats.protobuf.schema_inference import infer_columns
    from kafka_sql.formats.protobuf_confluent.protoc import select_message

    def columns(found: RegisteredSchema) -> ColumnTypes:
        return infer_columns(select_message(found, options.get(MESSAGE)))

    return infer_from_registry(REGISTRY, columns)(options)


PROTOBUF_CONFLUENT = Format(
    NAME,
    PROTOBUF_CONFLUENT_OPTIONS,
    _decoder,
    _encoder,
    metadata=METADATA,
    metadata_decoder=_decoder,
    infer_schema=_infer,
)

__all__ = ["PROTOBUF_CONFLUENT"]
