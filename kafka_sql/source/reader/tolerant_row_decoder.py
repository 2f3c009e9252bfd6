"""Rows of the records that can be read, where the table says that the query goes on at the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import DecodeError
from kafka_sql.formats.format import Bad, Decoded
from kafka_sql.kafka.record_metadata import ERROR
from kafka_sql.kafka.records import Records
from kafka_sql.kafka.types import Split
from kafka_sql.source.reader.bad_records import BadRecords
from kafka_sql.source.reader.key_value_join import Pairs
from kafka_sql.source.reader.metadata import read_metadata
from kafka_sql.source.reader.row_decoder import RowDecoder, Rows


class LenientDecoder(RowDecoder):
    """Makes rows of those records that can be read. Of the others, a handler is told."""

    def __init__(self, definition: Definition, schema: pa.Schema, split: Split, bad: BadRecords) -> None:
        """
        Raises:
            SchemaError: a column that the format or Kafka's metadata cannot carry.
        """
        super().__init__(definition, schema, split)
        self._bad, self._inline = bad, definition.tells_errors
        if bad.wants_records:
            keys = b"" if self.wanted.keys is None else self.wanted.keys
            self.wanted = replace(self.wanted, keys=keys, timestamps=True, headers=True)

    def decode(self, records: Records, bad: Bad = None) -> Rows:
        """The rows of those records that can be read; where a column says so, a row of each of the others, too."""
        failed: list[DecodeError] = []
        rows = super().decode(records, failed)
        if not failed:
            return rows
        self._bad.take(records, failed)
        if not self._inline:
            return rows
        batch = _joined(self.schema, rows.batch, self._failures(records, failed))
        origins = rows.pairs.records(pa.array(range(len(records.offsets)), pa.int64()))
        origins = pa.concat_arrays([origins, pa.array([e.row for e in failed], pa.int64())])
        return Rows(batch, Pairs(None, None, origins), rows.kinds)

    def keys(self, records: Records, bad: Bad = None) -> Decoded:
        """The keys of those records whose keys can be read."""
        failed: list[DecodeError] = []
        keys = super().keys(records, failed)
        if failed:
            self._bad.take(records, failed)
        return keys

    def _failures(self, records: Records, bad: list[DecodeError]) -> pa.RecordBatch:
        """A row of each record that cannot be read: its metadata, and why."""
        at = np.array([e.row for e in bad], np.int64)
        failed = records.take(at)
        columns = {f.name: pa.nulls(len(bad), f.type) for f in self.schema}
        for c in self.metadata:
            if c.of_format:
                continue
            if c.key == ERROR:
                array = pa.array([str(e) for e in bad], pa.string())
            else:
                array = read_metadata(c.key, failed, self.split)
            columns[c.name] = c.cast(array, self.zone).cast(self.schema.field(c.name).type)
        return pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)


def _joined(schema: pa.Schema, *parts: pa.RecordBatch) -> pa.RecordBatch:
    columns = [pa.concat_arrays(arrays) for arrays in zip(*(part.columns for part in parts), strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
