"""The two directions of the binary encoding, with the schema that the columns give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kafka_sql.formats.avro.decoder import AvroReader
from kafka_sql.formats.avro.encoder import AvroWriter
from kafka_sql.formats.avro.options import LEGACY_TIMESTAMPS
from kafka_sql.formats.avro.resolution import resolve_schemas
from kafka_sql.formats.avro.schema import parse_schema
from kafka_sql.formats.avro.schema_from_table import derive_schema
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.format import Decoded, ErrorSink
from kafka_sql.options import Options


class AvroDecoder:
    """Decodes payloads whose writer had the table's own schema; a null payload is no row."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            SchemaError: a column has no form in Avro.
        """
        own = parse_schema(derive_schema(schema, options[LEGACY_TIMESTAMPS]))
        self._reader = AvroReader(resolve_schemas(own, own, schema))

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: the first payload in error, unless ``bad`` takes them.
        """
        kept = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        columns, rows = self._reader.read(*bytes_and_offsets(payloads), kept, errors=errors)
        return Decoded(columns, None if len(rows) == len(payloads) else pa.array(rows, pa.int64()))


class AvroEncoder:
    """Encodes rows with the table's own schema."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            SchemaError: a column has no form in Avro.
        """
        self._writer = AvroWriter(schema, parse_schema(derive_schema(schema, options[LEGACY_TIMESTAMPS])))

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """One payload a row.

        Raises:
            EncodeError: a value has no form in the schema.
        """
        return self._writer.write(batch)
