"""Flink's raw format: the payload is the value of the only column (RawFormatFactory)."""

from kafka_sql.formats.format import Format
from kafka_sql.formats.raw.decoder import RawDecoder
from kafka_sql.formats.raw.encoder import RawEncoder
from kafka_sql.formats.raw.options import RAW_OPTIONS

RAW = Format("raw", RAW_OPTIONS, RawDecoder, RawEncoder)

__all__ = ["RAW"]
