"""The avro format: a table's columns as an Avro record, encoded and decoded a whole buffer at a time.

A schema becomes a plan (resolution.py, encoder.py), which compiled loops carry out (decode_kernels.py,
encode_kernels.py).
"""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.formats.avro.options import AVRO_OPTIONS, BINARY, ENCODING
from kafka_sql.formats.format import Decoder, Encoder, Format
from kafka_sql.options import Options


def _decoder(schema: pa.Schema, options: Options) -> Decoder:
    from kafka_sql.formats.avro.decoder import AvroDecoder
    from kafka_sql.formats.avro.json_encoding import AvroJsonDecoder

    return (AvroDecoder if options[ENCODING] == BINARY else AvroJsonDecoder)(schema, options)


def _encoder(schema: pa.Schema, options: Options) -> Encoder:
    from kafka_sql.formats.avro.encoder import AvroEncoder
    from kafka_sql.formats.avro.json_encoding import AvroJsonEncoder

    return (AvroEncoder if options[ENCODING] == BINARY else AvroJsonEncoder)(schema, options)


AVRO = Format("avro", AVRO_OPTIONS, _decoder, _encoder)

__all__ = ["AVRO"]
