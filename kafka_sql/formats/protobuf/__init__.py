"""The protobuf format: messages of compiled descriptors, a whole buffer at a time.

A descriptor becomes a program (columns.py, plan.py, encoder.py) that compiled loops carry out (reading.py, writing.py);
finishing.py and holding.py are between their columns and the table's.
"""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.formats.format import Decoder, Encoder, Format, InferredSchema
from kafka_sql.formats.protobuf.options import PROTOBUF_OPTIONS
from kafka_sql.options import Options


def _decoder(schema: pa.Schema, options: Options) -> Decoder:
    from kafka_sql.formats.protobuf.codec_tmp import ProtobufDecoder

    return ProtobufDecoder(schema, options)


def _encoder(schema: pa.Schema, options: Options) -> Encoder:
    from kafka_sql.formats.protobuf.codec_tmp import ProtobufEncoder

    return ProtobufEncoder(schema, options)


def _infer(options: Options) -> InferredSchema:
    from kafka_sql.formats.protobuf.codec_tmp import load_message
    from kafka_sql.formats.protobuf.schema_inference import infer_columns

    return InferredSchema(infer_columns(load_message(options)))


PROTOBUF = Format("protobuf", PROTOBUF_OPTIONS, _decoder, _encoder, infer_schema=_infer)

__all__ = ["PROTOBUF"]
