"""Flink's csv format, decoded and encoded a whole buffer at a time."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from kafka_sql.formats.csv.options import CSV_OPTIONS
from kafka_sql.formats.format import ColumnTypes, Decoder, Encoder, ErrorSink, Format
from kafka_sql.options import Options


def _decoder(schema: pa.Schema, options: Options) -> Decoder:
    from kafka_sql.formats.csv.decoder import CsvDecoder

    return CsvDecoder(schema, options)


def _encoder(schema: pa.Schema, options: Options) -> Encoder:
    from kafka_sql.formats.csv.encoder import CsvEncoder

    return CsvEncoder(schema, options)


def _infer(payloads: Sequence[bytes], options: Options, errors: ErrorSink) -> ColumnTypes:
    from kafka_sql.formats.csv.schema_inference import infer_from_payloads

    return infer_from_payloads(payloads, options, errors)


CSV = Format("csv", CSV_OPTIONS, _decoder, _encoder, infer_from_payloads=_infer, has_field_names=False)

__all__ = ["CSV"]
