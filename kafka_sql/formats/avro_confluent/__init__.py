"""The avro-confluent format: Avro with the id of its schema in a registry.

The registry is client.py (its settings options.py, tls.py), the wire format framing.py; Avro itself is formats/avro.
"""

from __future__ import annotations

import pyarrow as pa

from kafka_sql.formats.avro_confluent.columns import infer
from kafka_sql.formats.avro_confluent.decoder import SCHEMA_ID, SUBJECT_NAME, ConfluentDecoder
from kafka_sql.formats.avro_confluent.encoder import ConfluentEncoder
from kafka_sql.formats.avro_confluent.options import AVRO_CONFLUENT_OPTIONS
from kafka_sql.formats.format import Format

AVRO_CONFLUENT = Format(
    "avro-confluent",
    AVRO_CONFLUENT_OPTIONS,
    ConfluentDecoder,
    ConfluentEncoder,
    metadata={SCHEMA_ID: pa.int32(), SUBJECT_NAME: pa.string()},
    metadata_decoder=ConfluentDecoder,
    infer=infer,
)

__all__ = ["AVRO_CONFLUENT"]
