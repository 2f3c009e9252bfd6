"""Flink's raw format: the payload is the value of the only column (RawFormatFactory)."""

from kafka_sql.formats.format import Format
from kafka_sql.formats.raw.decoder import RawDecoder, infer_from_payloads
from kafka_sql.formats.raw.encoder import RawEncoder
from kafka_sql.formats.raw.options import RAW_OPTIONS

RAW = Format("raw", RAW_OPTIONS, RawDecoder, RawEncoder, infer_from_payloads=infer_from_payloads, has_field_names=False)

__all__ = ["RAW"]
