"""Flink's csv format, decoded and encoded a whole buffer at a time."""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.formats.csv.options import CSV_OPTIONS
from kafka_sql.formats.format import Decoder, Encoder, Format
from kafka_sql.options import Options


def _decoder(schema: pa.Schema, options: Options) -> Decoder:
    from kafka_sql.formats.csv.decoder import CsvDecoder

    return CsvDecoder(schema, options)


def _encoder(schema: pa.Schema, options: Options) -> Encoder:
    from kafka_sql.formats.csv.encoder import CsvEncoder

    return CsvEncoder(schema, options)


CSV = Format("csv", CSV_OPTIONS, _decoder, _encoder)

__all__ = ["CSV"]
