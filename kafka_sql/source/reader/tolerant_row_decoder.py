"""Rows of the records that can be read, where the table says that the query goes on at the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import DecodeError
from kafka_sql.formats.format import Decoded, ErrorSink
from kafka_sql.kafka.record_metadata import ERROR
from kafka_sql.kafka.records import Records
from kafka_sql.kafka.types import Split
from kafka_sql.source.reader.bad_records import BadRecordHandler
from kafka_sql.source.reader.key_value_join import RowOrigins
from kafka_sql.source.reader.metadata import read_metadata
from kafka_sql.source.reader.row_decoder import DecodedRows, RowDecoder


class TolerantRowDecoder(RowDecoder):
    """Makes rows of those records that can be read. Of the others, a handler is told."""

    def __init__(self, definition: Definition, schema: pa.Schema, split: Split, bad: BadRecordHandler) -> None:
        """
        Raises:
            SchemaError: a column that the format or Kafka's metadata cannot carry.
        """
        super().__init__(definition, schema, split)
        self._bad, self._inline = bad, definition.has_error_column
        if bad.needs_whole_records:
            keys = b"" if self.record_fields.keys is None else self.record_fields.keys
            self.record_fields = replace(self.record_fields, keys=keys, timestamps=True, headers=True)

    def decode(self, records: Records, bad: ErrorSink = None) -> DecodedRows:
        """The rows of those records that can be read; where a column says so, a row of each of the others, too."""
        failed: list[DecodeError] = []
        rows = super().decode(records, failed)
        if not failed:
            return rows
        self._bad.handle(records, failed)
        if not self._inline:
            return rows
        batch = _joined(self.schema, rows.batch, self._failures(records, failed))
        origins = rows.origins.take_records(pa.array(range(len(records.offsets)), pa.int64()))
        origins = pa.concat_arrays([origins, pa.array([e.row for e in failed], pa.int64())])
        return DecodedRows(batch, RowOrigins(None, None, origins), rows.row_kinds)

    def keys(self, records: Records, bad: ErrorSink = None) -> Decoded:
        """The keys of those records whose keys can be read."""
        failed: list[DecodeError] = []
        keys = super().keys(records, failed)
        if failed:
            self._bad.handle(records, failed)
        return keys

    def _failures(self, records: Records, bad: list[DecodeError]) -> pa.RecordBatch:
        """A row of each record that cannot be read: its metadata, and why."""
        at = np.array([e.row for e in bad], np.int64)
        failed = records.take(at)
        columns = {f.name: pa.nulls(len(bad), f.type) for f in self.schema}
        for c in self.metadata:
            if c.from_format:
                continue
            if c.key == ERROR:
                array = pa.array([str(e) for e in bad], pa.string())
            else:
                array = read_metadata(c.key, failed, self.split)
            columns[c.name] = c.cast(array, self.time_zone).cast(self.schema.field(c.name).type)
        return pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)


def _joined(schema: pa.Schema, *parts: pa.RecordBatch) -> pa.RecordBatch:
    columns = [pa.concat_arrays(arrays) for arrays in zip(*(part.columns for part in parts), strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
