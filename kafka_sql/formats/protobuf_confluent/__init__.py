"""The protobuf-confluent format: protobuf with the id of its schema in a registry.

formats/confluent has the registry's client and the wire format, formats/protobuf the encoding.
"""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.formats.confluent.schemas import METADATA, infer_from_registry
from kafka_sql.formats.format import Decoder, Encoder, Format, InferredSchema
from kafka_sql.formats.protobuf_confluent.options import MESSAGE, NAME, PROTOBUF_CONFLUENT_OPTIONS, REGISTRY
from kafka_sql.options import Options


def _decoder(schema: pa.Schema, options: Options, metadata: tuple[str, ...] = ()) -> Decoder:
    from kafka_sql.formats.protobuf_confluent.decoder import ProtobufConfluentDecoder

    return ProtobufConfluentDecoder(schema, options, metadata)


def _encoder(schema: pa.Schema, options: Options) -> Encoder:
    from kafka_sql.formats.protobuf_confluent.encoder import create_encoder

    return create_encoder(schema, options)


def _infer_schema(options: Options) -> InferredSchema:
    from kafka_sql.formats.protobuf.schema_inference import infer_columns
    from kafka_sql.formats.protobuf_confluent.schema_descriptors import select_message

    name = options.get(MESSAGE)
    return infer_from_registry(REGISTRY, lambda registered: infer_columns(select_message(registered, name)))(options)


PROTOBUF_CONFLUENT = Format(
    NAME,
    PROTOBUF_CONFLUENT_OPTIONS,
    _decoder,
    _encoder,
    metadata=METADATA,
    infer_schema=_infer_schema,
)

__all__ = ["PROTOBUF_CONFLUENT"]
