"""The avro format: a table's columns as an Avro record, a whole buffer of them at a time.

A schema becomes a program (plan.py, encoder.py) that compiled loops carry out (reading.py, writing.py).
"""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.formats.avro.options import AVRO_OPTIONS, BINARY, ENCODING
from kafka_sql.formats.format import Decoder, Encoder, Format
from kafka_sql.options import Options


def _decoder(schema: pa.Schema, options: Options) -> Decoder:
    from kafka_sql.formats.avro.codec_tmp import BinaryDecoder
    from kafka_sql.formats.avro.json_encoding import TextDecoder

    return (BinaryDecoder if options[ENCODING] == BINARY else TextDecoder)(schema, options)


def _encoder(schema: pa.Schema, options: Options) -> Encoder:
    from kafka_sql.formats.avro.codec_tmp import BinaryEncoder
    from kafka_sql.formats.avro.json_encoding import TextEncoder

    return (BinaryEncoder if options[ENCODING] == BINARY else TextEncoder)(schema, options)


AVRO = Format("avro", AVRO_OPTIONS, _decoder, _encoder)

__all__ = ["AVRO"]
