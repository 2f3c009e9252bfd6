"""Flink's raw format: the payload is the value of the only column (RawFormatFactory)."""

from kafka_sql.formats.format import Format
from kafka_sql.formats.raw.decoder import RawDecoder
from kafka_sql.formats.raw.encoder import RawEncoder
from kafka_sql.formats.raw.options import RAW_OPTIONS
from kafka_sql.formats.raw.schema_inference import infer_from_payloads

RAW = Format("raw", RAW_OPTIONS, RawDecoder, RawEncoder, infer_from_payloads=infer_from_payloads, has_field_names=False)

__all__ = ["RAW"]
