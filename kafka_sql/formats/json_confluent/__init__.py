"""The json-confluent format: JSON with the id of its JSON Schema in a registry.

The registry and the framing are formats/confluent, JSON itself is formats/json.
"""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.formats.confluent.options import registry_settings
from kafka_sql.formats.confluent.registry_schema import METADATA
from kafka_sql.formats.confluent.schema_inference import infer_from_registry
from kafka_sql.formats.format import Decoder, Encoder, Format
from kafka_sql.formats.json_confluent.options import JSON_CONFLUENT_OPTIONS, NAME, REGISTRY
from kafka_sql.formats.json_confluent.schema_from_table import table_schema
from kafka_sql.formats.json_confluent.schema_inference import infer_columns
from kafka_sql.options import Options


def _decoder(schema: pa.Schema, options: Options, metadata: tuple[str, ...] = ()) -> Decoder:
    from kafka_sql.formats.confluent.client import cached_registry
    from kafka_sql.formats.json_confluent.decoder import JsonConfluentDecoder

    cached_registry(
        registry_settings(REGISTRY, options)
    )  # settings in error are told, although reading asks for nothing
    return JsonConfluentDecoder(schema, options, metadata)


def _encoder(schema: pa.Schema, options: Options) -> Encoder:
    from kafka_sql.formats.confluent.encoder import WireFormatEncoder
    from kafka_sql.formats.json_confluent.decoder import JsonWriter

    return WireFormatEncoder(JsonWriter(schema, options), table_schema(schema, REGISTRY, options), REGISTRY, options)


JSON_CONFLUENT = Format(
    NAME,
    JSON_CONFLUENT_OPTIONS,
    _decoder,
    _encoder,
    metadata=METADATA,
    metadata_decoder=_decoder,
    infer_schema=infer_from_registry(REGISTRY, infer_columns),
)

__all__ = ["JSON_CONFLUENT"]
