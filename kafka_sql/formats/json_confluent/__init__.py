"""The json-confluent format: JSON with the id of its JSON Schema in a registry.

formats/confluent has the registry's client and the wire format, formats/json the encoding.
"""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.formats.confluent.options import registry_settings
from kafka_sql.formats.confluent.schemas import METADATA, infer_from_registry
from kafka_sql.formats.format import Decoder, Encoder, Format
from kafka_sql.formats.json_confluent.options import JSON_CONFLUENT_OPTIONS, NAME, REGISTRY
from kafka_sql.formats.json_confluent.schema_inference import infer_columns
from kafka_sql.options import Options


def _decoder(schema: pa.Schema, options: Options, metadata: tuple[str, ...] = ()) -> Decoder:
    from kafka_sql.formats.confluent.client import cached_registry
    from kafka_sql.formats.json_confluent.decoder import JsonConfluentDecoder

    cached_registry(registry_settings(REGISTRY, options))  # validates the settings; decoding sends no request
    return JsonConfluentDecoder(schema, options, metadata)


def _encoder(schema: pa.Schema, options: Options) -> Encoder:
    from kafka_sql.formats.json_confluent.encoder import create_encoder

    return create_encoder(schema, options)


JSON_CONFLUENT = Format(
    NAME,
    JSON_CONFLUENT_OPTIONS,
    _decoder,
    _encoder,
    metadata=METADATA,
    infer_schema=infer_from_registry(REGISTRY, infer_columns),
)

__all__ = ["JSON_CONFLUENT"]
