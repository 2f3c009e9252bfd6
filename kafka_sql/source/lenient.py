"""Rows of the records that can be read, where the table says that the query goes on at the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import DecodeError
from kafka_sql.formats.format import Decoded
from kafka_sql.kafka.metadata import ERROR
from kafka_sql.kafka.record import Records
from kafka_sql.kafka.split import Split
from kafka_sql.source.bad_records import BadRecords, sift
from kafka_sql.source.decoding import RowDecoder, Rows
from kafka_sql.source.metadata import read_metadata
from kafka_sql.source.pairs import Pairs, origins_of


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

    def decode(self, records: Records) -> Rows:
        """The rows of those records that can be read; where a column says so, a row of each of the others, too."""
        try:
            return super().decode(records)
        except DecodeError:  # of the first; the others are not known yet
            parts, bad = sift(len(records.offsets), lambda low, high: self._part(records, low, high))
        self._bad.take(records, bad)
        rows = [part for _, part in parts]
        return _joined(self.schema, [*rows, self._failures(records, bad)] if self._inline else rows)

    def keys(self, records: Records) -> Decoded:
        """The keys of those records whose keys can be read."""
        try:
            return super().keys(records)
        except DecodeError:
            keys = super().keys
            parts, bad = sift(len(records.offsets), lambda low, high: (keys(_cut(records, low, high)), high - low))
        self._bad.take(records, bad)
        origins = [np.zeros(0, np.int64), *(start + origins_of(part, count) for start, (part, count) in parts)]
        columns = zip(*(part.columns for _, (part, _) in parts), strict=True)
        return Decoded([pa.concat_arrays(c) for c in columns], pa.array(np.concatenate(origins)))

    def _part(self, records: Records, low: int, high: int) -> Rows:
        rows = super().decode(_cut(records, low, high))
        origins = rows.pairs.records(pa.array(np.arange(low, high)))
        return replace(rows, pairs=Pairs(None, None, origins))

    def _failures(self, records: Records, bad: list[tuple[int, DecodeError]]) -> Rows:
        """A row of each record that cannot be read: its metadata, and why."""
        at = np.array([i for i, _ in bad], np.int64)
        failed = records.take(at)
        columns = {f.name: pa.nulls(len(bad), f.type) for f in self.schema}
        for c in self.metadata:
            if c.of_format:
                continue
            if c.key == ERROR:
                array = pa.array([str(e) for _, e in bad], pa.string())
            else:
                array = read_metadata(c.key, failed, self.split)
            columns[c.name] = c.cast(array, self.zone).cast(self.schema.field(c.name).type)
        batch = pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)
        return Rows(batch, Pairs(None, None, pa.array(at)), None)


def _cut(records: Records, low: int, high: int) -> Records:
    return records if high - low == len(records.offsets) else records.take(np.arange(low, high))


def _joined(schema: pa.Schema, parts: list[Rows]) -> Rows:
    """Rows of several runs as those of one."""
    table = pa.Table.from_batches([part.batch for part in parts], schema).combine_chunks()
    batches = table.to_batches() or [pa.RecordBatch.from_pylist([], schema)]
    kinds = [part.kinds for part in parts if part.kinds is not None]
    origins = pa.concat_arrays([pa.array([], pa.int64()), *(part.pairs.origins for part in parts)])
    return Rows(batches[0], Pairs(None, None, origins), pa.concat_arrays(kinds) if kinds else None)
