"""Decode records to rows: key, value and metadata columns, with or without tolerating undecodable records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import DecodeError
from kafka_sql.formats.format import Decoded, Decoder, ErrorSink
from kafka_sql.kafka.record_metadata import ERROR
from kafka_sql.kafka.records import Records
from kafka_sql.kafka.types import Split
from kafka_sql.runtime.time_zone import session_time_zone
from kafka_sql.source.reader.bad_records import BadRecordHandler, how_to_tolerate
from kafka_sql.source.reader.key_value_join import EACH_RECORD, RowOrigins, join_key_and_value
from kafka_sql.source.reader.metadata import (
    FORMAT_PREFIX,
    DeclaredMetadataColumn,
    metadata_columns,
    read_metadata,
    required_fields,
)
from kafka_sql.source.reader.whole_records import whole_records
from kafka_sql.table.changelog import ROW_KIND, ROW_ORDER_NAME

_KEY: Final = " (key)"  # in errors, after the location of the record


@dataclass(frozen=True)
class DecodedRows:
    """The rows of a batch of records.

    Attributes:
        batch: the source columns.
        origins: the record of each row.
        row_kinds: the row kinds (``+I``, ``-U``, ``+U``, ``-D``); None if all rows are inserts.
    """

    batch: pa.RecordBatch
    origins: RowOrigins
    row_kinds: pa.StringArray | None


class RowDecoder:
    """Decodes records to rows. A column in both key and value is read from the value, as in Flink.

    Attributes:
        schema: the source columns.
        key_columns: the columns that identify a row: those of the record's key, or a changelog's primary key.
        physical_columns: the columns of the record's key and value.
        split: the split of the records.
        metadata: the metadata columns.
        time_zone: the session's time zone if a metadata column depends on it, else empty.
        record_fields: the record fields to fetch.
    """

    def __init__(self, definition: Definition, schema: pa.Schema, split: Split) -> None:
        """
        Raises:
            SchemaError: a column's type is not supported by the format or the metadata key.
        """
        self.schema, self.split = schema, split
        self.metadata = metadata_columns(definition, schema)
        self._format_metadata = [c.key.removeprefix(FORMAT_PREFIX) for c in self.metadata if c.from_format]
        if definition.is_changelog and ROW_KIND not in self._format_metadata:
            self._format_metadata.append(ROW_KIND)
        self.value = definition.value.create_decoder(schema, tuple(self._format_metadata))
        self._advice = {"": how_to_tolerate(definition.value)}
        if definition.key is not None:
            self._advice[_KEY] = how_to_tolerate(definition.key)
        self._value_columns = definition.value.columns
        self._reads_records = definition.value.format.reads_records
        self._key = definition.key.create_decoder(schema) if definition.key is not None else None
        self._key_names = definition.key.columns if definition.key is not None else ()
        self.key_columns = definition.table.primary_key if definition.is_changelog else self._key_names
        self.physical_columns = tuple(column.name for column in definition.table.physical_columns)
        self.time_zone = session_time_zone() if any(c.needs_time_zone for c in self.metadata) else ""
        self.record_fields = required_fields(self.metadata, keys=self._key is not None)
        if self._reads_records:
            self.record_fields = replace(self.record_fields, keys=True, timestamps=True, headers=True)

    def decode(self, records: Records, errors: ErrorSink = None) -> DecodedRows:
        """Decode records.

        Args:
            errors: collects the error of each undecodable record; ``row`` is the record's index.

        Raises:
            DecodeError: a payload does not match the declaration, and ``errors`` is None.
        """
        # keys first, as in Flink, so that a key's error is reported before a value's
        # (not self.keys(), which a subclass overrides to handle the errors)
        keys = RowDecoder.keys(self, records, errors) if self._key is not None else None
        value_errors: list[DecodeError] = []
        payloads = whole_records(records, self.split) if self._reads_records else records.values
        values = self._decode_payloads(self.value, payloads, records, None if errors is None else value_errors)
        if errors is not None and (errors or value_errors):
            error_by_row = {e.row: e for e in (*value_errors, *errors)}
            keys, values = keys and keys.without_payloads(error_by_row), values.without_payloads(error_by_row)
            errors[:] = [e for _, e in sorted(error_by_row.items())]
        origins = join_key_and_value(len(records.offsets), keys, values)
        columns = dict(zip(self._value_columns, origins.take_values(values.columns), strict=True))
        if keys is not None:
            columns = {**dict(zip(self._key_names, origins.take_keys(keys.columns), strict=True)), **columns}
        format_metadata = dict(zip(self._format_metadata, origins.take_values(values.metadata), strict=True))
        for c in self.metadata:
            if c.from_format:
                array = format_metadata[c.key.removeprefix(FORMAT_PREFIX)]
                columns[c.name] = c.cast(array, self.time_zone).cast(self.schema.field(c.name).type)
            else:
                columns[c.name] = self.read_record_metadata(c, records, origins)
        rows = pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)
        return DecodedRows(rows, origins, format_metadata.get(ROW_KIND))

    def read_record_metadata(
        self, column: DeclaredMetadataColumn, records: Records, origins: RowOrigins = EACH_RECORD
    ) -> pa.Array:
        """Return a metadata column that describes the records, and not their values, with one value per row."""
        values = read_metadata(column.key, records, self.split)
        array = origins.order_rows(values) if column.name == ROW_ORDER_NAME else origins.take_records(values)
        return column.cast(array, self.time_zone).cast(self.schema.field(column.name).type)

    def keys(self, records: Records, errors: ErrorSink = None) -> Decoded:
        """Decode the keys of records.

        Args:
            errors: collects the error of each undecodable key.

        Raises:
            DecodeError: a key does not match the declaration, and ``errors`` is None.
        """
        assert self._key is not None
        return self._decode_payloads(self._key, records.keys, records, errors, _KEY)

    def _decode_payloads(
        self, decoder: Decoder, payloads: pa.BinaryArray | None, records: Records, errors: ErrorSink, part: str = ""
    ) -> Decoded:
        def with_location(error: DecodeError) -> DecodeError:
            return error.with_location(self.split.describe_offset(int(records.offsets[error.row])) + part)

        new_errors: list[DecodeError] = []
        try:
            decoded = decoder.decode(payloads, None if errors is None else new_errors)
        except DecodeError as e:
            raise with_location(e).with_advice(self._advice[part]) from e
        if errors is not None:
            errors += sorted(map(with_location, new_errors), key=lambda e: e.row)
        return decoded


class TolerantRowDecoder(RowDecoder):
    """Decodes the decodable records, and passes the others to a handler."""

    def __init__(self, definition: Definition, schema: pa.Schema, split: Split, handler: BadRecordHandler) -> None:
        """
        Raises:
            SchemaError: a column's type is not supported by the format or the metadata key.
        """
        super().__init__(definition, schema, split)
        self._handler, self._emits_error_rows = handler, definition.has_error_column
        if handler.needs_whole_records:
            self.record_fields = replace(self.record_fields, keys=True, timestamps=True, headers=True)

    def decode(self, records: Records, errors: ErrorSink = None) -> DecodedRows:
        """Decode the decodable records. If the table has an error column, append one row per undecodable record."""
        new_errors: list[DecodeError] = []
        rows = super().decode(records, new_errors)
        if not new_errors:
            return rows
        self._handler.handle(records, new_errors)
        if not self._emits_error_rows:
            return rows
        batch = _concat(self.schema, rows.batch, self._error_rows(records, new_errors))
        origins = rows.origins.take_records(pa.array(range(len(records.offsets)), pa.int64()))
        origins = pa.concat_arrays([origins, pa.array([e.row for e in new_errors], pa.int64())])
        return DecodedRows(batch, RowOrigins(None, None, origins), rows.row_kinds)

    def keys(self, records: Records, errors: ErrorSink = None) -> Decoded:
        """Decode the decodable keys."""
        new_errors: list[DecodeError] = []
        keys = super().keys(records, new_errors)
        if new_errors:
            self._handler.handle(records, new_errors)
        return keys

    def _error_rows(self, records: Records, errors: list[DecodeError]) -> pa.RecordBatch:
        """Return one row per undecodable record: its metadata and the error message; other columns are null."""
        bad_records = records.take(np.array([e.row for e in errors], np.int64))
        columns = {f.name: pa.nulls(len(errors), f.type) for f in self.schema}
        for c in self.metadata:
            if c.from_format:
                continue
            if c.key == ERROR:
                columns[c.name] = pa.array([str(e) for e in errors], pa.string()).cast(self.schema.field(c.name).type)
            else:
                columns[c.name] = self.read_record_metadata(c, bad_records)
        return pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)


def _concat(schema: pa.Schema, *batches: pa.RecordBatch) -> pa.RecordBatch:
    columns = [pa.concat_arrays(arrays) for arrays in zip(*(batch.columns for batch in batches), strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
