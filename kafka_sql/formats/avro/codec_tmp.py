"""The two directions of the binary encoding, with the schema that the columns give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kafka_sql.formats.avro.decoder import Reader
from kafka_sql.formats.avro.encoder import Writer
from kafka_sql.formats.avro.options import LEGACY_TIMESTAMPS
from kafka_sql.formats.avro.resolution import plan
from kafka_sql.formats.avro.schema import parse
from kafka_sql.formats.avro.schema_from_table import derive
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.format import Bad, Decoded
from kafka_sql.options import Options


class BinaryDecoder:
    """Decodes payloads whose writer had the table's own schema; a null payload is no row."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            SchemaError: a column has no form in Avro.
        """
        own = parse(derive(schema, options[LEGACY_TIMESTAMPS]))
        self._reader = Reader(plan(own, own, schema))

    def decode(self, payloads: pa.BinaryArray, bad: Bad = None) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: the first payload in error, unless ``bad`` takes them.
        """
        kept = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        columns, rows = self._reader.read(*bytes_and_offsets(payloads), kept, bad=bad)
        return Decoded(columns, None if len(rows) == len(payloads) else pa.array(rows, pa.int64()))


class BinaryEncoder:
    """Encodes rows with the table's own schema."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            SchemaError: a column has no form in Avro.
        """
        self._writer = Writer(schema, parse(derive(schema, options[LEGACY_TIMESTAMPS])))

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """One payload a row.

        Raises:
            EncodeError: a value has no form in the schema.
        """
        return self._writer.write(batch)
