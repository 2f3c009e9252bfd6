"""The avro format: a table's columns as an Avro record, encoded and decoded a whole buffer at a time.

A schema becomes a plan (resolution.py, encoder.py), which compiled loops carry out (decode_kernels.py,
encode_kernels.py).
"""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.formats.avro.options import AVRO_OPTIONS, ENCODING, JSON, LEGACY_TIMESTAMPS
from kafka_sql.formats.avro.schema import parse_schema
from kafka_sql.formats.avro.schema_from_table import derive_schema
from kafka_sql.formats.format import Decoder, Encoder, Format
from kafka_sql.options import Options


def _decoder(schema: pa.Schema, options: Options) -> Decoder:
    from kafka_sql.formats.avro.decoder import AvroReader
    from kafka_sql.formats.avro.json_encoding import AvroJsonDecoder
    from kafka_sql.formats.avro.resolution import resolve_schemas

    avro = parse_schema(derive_schema(schema, options[LEGACY_TIMESTAMPS]))
    if options[ENCODING] == JSON:
        return AvroJsonDecoder(schema, avro)
    return AvroReader(resolve_schemas(avro, avro, schema))


def _encoder(schema: pa.Schema, options: Options) -> Encoder:
    from kafka_sql.formats.avro.encoder import AvroWriter
    from kafka_sql.formats.avro.json_encoding import AvroJsonEncoder

    avro = parse_schema(derive_schema(schema, options[LEGACY_TIMESTAMPS]))
    return AvroJsonEncoder(avro) if options[ENCODING] == JSON else AvroWriter(schema, avro)


AVRO = Format("avro", AVRO_OPTIONS, _decoder, _encoder)

__all__ = ["AVRO"]
