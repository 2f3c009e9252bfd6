"""Flink's json format, decoded and encoded a whole buffer at a time."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from kafka_sql.formats.format import ColumnTypes, Decoder, Encoder, ErrorSink, Format
from kafka_sql.formats.json.options import JSON_OPTIONS
from kafka_sql.options import Options


def _decoder(schema: pa.Schema, options: Options) -> Decoder:
    from kafka_sql.formats.json.decoder import JsonDecoder

    return JsonDecoder(schema, options)


def _encoder(schema: pa.Schema, options: Options) -> Encoder:
    from kafka_sql.formats.json.encoder import JsonEncoder

    return JsonEncoder(schema, options)


def _infer(payloads: Sequence[bytes], options: Options, errors: ErrorSink) -> ColumnTypes:
    from kafka_sql.formats.json.schema_inference import infer_from_payloads

    return infer_from_payloads(payloads, options, errors)


JSON = Format("json", JSON_OPTIONS, _decoder, _encoder, infer_from_payloads=_infer)

__all__ = ["JSON"]
