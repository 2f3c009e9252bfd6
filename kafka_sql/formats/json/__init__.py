"""Flink's json format, decoded and encoded a whole buffer at a time."""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.formats.format import Decoder, Encoder, Format
from kafka_sql.formats.json.options import JSON_OPTIONS
from kafka_sql.options import Options


def _decoder(schema: pa.Schema, options: Options) -> Decoder:
    from kafka_sql.formats.json.decoder import JsonDecoder

    return JsonDecoder(schema, options)


def _encoder(schema: pa.Schema, options: Options) -> Encoder:
    from kafka_sql.formats.json.encoder import JsonEncoder

    return JsonEncoder(schema, options)


JSON = Format("json", JSON_OPTIONS, _decoder, _encoder)

__all__ = ["JSON"]
