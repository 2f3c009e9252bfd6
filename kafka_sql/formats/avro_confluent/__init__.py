"""The avro-confluent format: Avro with the id of its schema in a registry.

formats/confluent has the registry's client and the wire format, formats/avro the encoding.
"""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.formats.avro.schema import parse_schema
from kafka_sql.formats.avro_confluent.options import AVRO_CONFLUENT_OPTIONS
from kafka_sql.formats.avro_confluent.schema_from_table import table_schema
from kafka_sql.formats.avro_confluent.schema_inference import infer_columns
from kafka_sql.formats.confluent.schemas import METADATA, infer_from_registry
from kafka_sql.formats.format import Decoder, Encoder, Format
from kafka_sql.options import Options


def _decoder(schema: pa.Schema, options: Options, metadata: tuple[str, ...] = ()) -> Decoder:
    from kafka_sql.formats.avro_confluent.decoder import AvroConfluentDecoder

    avro = parse_schema(table_schema(schema, AVRO_CONFLUENT_OPTIONS, options))
    return AvroConfluentDecoder(schema, avro, AVRO_CONFLUENT_OPTIONS, options, metadata)


def _encoder(schema: pa.Schema, options: Options) -> Encoder:
    from kafka_sql.formats.avro.encoder import AvroWriter
    from kafka_sql.formats.confluent.encoder import WireFormatEncoder

    text = table_schema(schema, AVRO_CONFLUENT_OPTIONS, options)
    writer = AvroWriter(schema, parse_schema(text))
    return WireFormatEncoder(writer.encode, text, AVRO_CONFLUENT_OPTIONS, options)


AVRO_CONFLUENT = Format(
    "avro-confluent",
    AVRO_CONFLUENT_OPTIONS.all,
    _decoder,
    _encoder,
    metadata=METADATA,
    infer_schema=infer_from_registry(AVRO_CONFLUENT_OPTIONS, infer_columns),
)

__all__ = ["AVRO_CONFLUENT"]
