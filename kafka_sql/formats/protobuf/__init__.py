"""The protobuf format: messages of compiled descriptors, encoded and decoded a whole buffer at a time.

A descriptor becomes a plan (field_mapping.py, decode_plan.py, encoder.py), which compiled loops carry out
(decode_kernels.py, encode_kernels.py). They work on wire columns, whose types are those of the wire format;
wire_columns.py converts between them and the table's columns.
"""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.formats.format import Decoder, Encoder, Format, InferredSchema
from kafka_sql.formats.protobuf.options import (
    IGNORE_PARSE_ERRORS,
    PROTOBUF_OPTIONS,
    READ_DEFAULT_VALUES,
    WRITE_NULL_STRING_LITERAL,
)
from kafka_sql.options import Options


def _decoder(schema: pa.Schema, options: Options) -> Decoder:
    from kafka_sql.formats.protobuf.decoder import ProtobufReader
    from kafka_sql.formats.protobuf.descriptors import load_message

    flags = {"read_defaults": options[READ_DEFAULT_VALUES], "ignore_errors": options[IGNORE_PARSE_ERRORS]}
    return ProtobufReader(schema, load_message(options), **flags)


def _encoder(schema: pa.Schema, options: Options) -> Encoder:
    from kafka_sql.formats.protobuf.descriptors import load_message
    from kafka_sql.formats.protobuf.encoder import ProtobufWriter

    return ProtobufWriter(schema, load_message(options), options[WRITE_NULL_STRING_LITERAL])


def _infer(options: Options) -> InferredSchema:
    from kafka_sql.formats.protobuf.descriptors import load_message
    from kafka_sql.formats.protobuf.schema_inference import infer_columns

    return InferredSchema(infer_columns(load_message(options)))


PROTOBUF = Format("protobuf", PROTOBUF_OPTIONS, _decoder, _encoder, infer_schema=_infer)

__all__ = ["PROTOBUF"]
