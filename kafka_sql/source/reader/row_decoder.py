"""Decode records to rows: key, value and metadata columns, with or without tolerating undecodable records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import DecodeError
from kafka_sql.formats.format import ColumnOverflow, Decoded, Decoder, ErrorSink
from kafka_sql.kafka.record_metadata import ERROR
from kafka_sql.kafka.records import Records
from kafka_sql.kafka.split import Split
from kafka_sql.runtime.task import session_time_zone
from kafka_sql.source.reader.bad_records import TO_TOLERATE, BadRecordHandler, describe_tolerance
from kafka_sql.source.reader.key_value_join import EACH_RECORD, RowOrigins, join_key_and_value, row_payloads
from kafka_sql.source.reader.metadata import (
    FORMAT_PREFIX,
    metadata_columns,
    read_metadata,
    required_fields,
)
from kafka_sql.table.changelog import ROW_KIND, ROW_ORDER_NAME

_KEY: Final = " (key)"  # in errors, after the location of the record
T = TypeVar("T")


@dataclass(frozen=True)
class DecodedRows:
    """The rows of a batch of records."""

    batch: pa.RecordBatch
    origins: RowOrigins
    row_kinds: pa.StringArray | None  # the row kinds (``+I``, ``-U``, ``+U``, ``-D``); None if all rows are inserts


class RowDecoder:
    """Decodes records to rows. A column in both key and value is read from the value, as in Flink.

    Attributes:
        time_zone: the session's time zone if a metadata column depends on it, else empty.
    """

    def __init__(
        self, definition: Definition, schema: pa.Schema, split: Split, handler: BadRecordHandler | None = None
    ) -> None:
        """
        Args:
            handler: receives the undecodable records; None to raise their errors.

        Raises:
            SchemaError: a column's type is not supported by the format or the metadata key.
        """
        self.schema, self.split = schema, split
        self.metadata = metadata_columns(definition, schema)
        self._format_columns = [c for c in self.metadata if c.from_format]
        self._has_row_kinds = definition.is_changelog
        metadata_keys = [c.key.removeprefix(FORMAT_PREFIX) for c in self._format_columns]
        if self._has_row_kinds:
            metadata_keys.append(ROW_KIND)  # the last key: ``decode`` takes its column off the end
        self.value = definition.value.create_decoder(schema, tuple(metadata_keys))
        self._advice = {"": describe_tolerance(definition.value)}
        if definition.key is not None:
            self._advice[_KEY] = describe_tolerance(definition.key)
        self._value_columns = definition.value.columns
        self._reads_records = definition.value.format.reads_records
        self._key = definition.key.create_decoder(schema) if definition.key is not None else None
        self._key_names = definition.key.columns if definition.key is not None else ()
        self.time_zone = session_time_zone() if any(c.needs_time_zone for c in self.metadata) else ""
        self.record_fields = required_fields(self.metadata, keys=self._key is not None)
        self._handler, self._emits_error_rows = handler, definition.has_error_column
        if self._reads_records or (handler is not None and handler.needs_whole_records):
            self.record_fields = replace(self.record_fields, keys=True, timestamps=True, headers=True)

    def decode(self, records: Records, errors: ErrorSink = None) -> DecodedRows:
        """Decode records. If the table has an error column, its handler's undecodable records are rows, too.

        Args:
            errors: collects the error of each undecodable record instead of the handler; ``row`` is the record's index.

        Raises:
            DecodeError: a record does not match the declaration, and there is neither a handler nor ``errors``.
        """
        if self._handler is None:
            return self._decode(records, errors)
        bad: list[DecodeError] = []
        rows = self._decode(records, bad)
        self._handler.handle(records, bad)
        if not bad or not self._emits_error_rows:
            return rows
        batch = pa.concat_batches([rows.batch, self._error_rows(records, bad)])
        origins = rows.origins.take_records(pa.array(range(len(records.offsets)), pa.int64()))
        origins = pa.concat_arrays([origins, pa.array([e.row for e in bad], pa.int64())])
        return DecodedRows(batch, RowOrigins(None, None, origins), rows.row_kinds)

    def decode_tombstones(self, records: Records) -> DecodedRows:
        """Decode records of an upsert table without values to rows that only have the key and the record's metadata.

        Raises:
            DecodeError: a record does not match the declaration, and ``errors`` is None.
        """
        errors: ErrorSink = None if self._handler is None else []
        keys, _, origins, columns = self._join(
            records, self._decode_keys(records, errors), Decoded([records.values]), errors
        )
        assert keys is not None
        columns |= zip(self._key_names, origins.take_keys(keys.columns), strict=True)
        count = len(origins.take_records(records.values))
        nulls = {f.name: pa.nulls(count, f.type) for f in self.schema if f.name not in columns}
        if self._handler is not None and errors is not None:
            self._handler.handle(records, errors)
        return DecodedRows(self._batch(columns | nulls), origins, None)

    def _decode(self, records: Records, errors: ErrorSink) -> DecodedRows:
        # keys first, as in Flink, so that a key's error is reported before a value's
        keys = self._decode_keys(records, errors) if self._key is not None else None
        payloads = _whole_records(records, self.split) if self._reads_records else records.values
        values = self._decode_payloads(self.value, payloads, records, errors)
        values = self._cast_format_metadata(values, records, errors)
        keys, values, origins, columns = self._join(records, keys, values, errors)
        if keys is not None:
            columns |= zip(self._key_names, origins.take_keys(keys.columns), strict=True)
        columns |= zip(self._value_columns, origins.take_values(values.columns), strict=True)
        format_metadata = list(origins.take_values(values.metadata))
        row_kinds = format_metadata.pop() if self._has_row_kinds else None  # ROW_KIND is the last key
        columns |= zip((c.name for c in self._format_columns), format_metadata, strict=True)
        return DecodedRows(self._batch(columns), origins, row_kinds)

    def _batch(self, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([columns[name] for name in self.schema.names], schema=self.schema)

    def _join(
        self, records: Records, keys: Decoded | None, values: Decoded, errors: ErrorSink
    ) -> tuple[Decoded | None, Decoded, RowOrigins, dict[str, pa.Array]]:
        """Join the keys and values of the decodable records.

        Returns:
            their keys and values, the origins of the rows, and the metadata columns that describe records.
        """
        metadata: dict[str, pa.Array] = {}
        if records.unreadable:
            unreadable = [DecodeError(row, None, reason) for row, reason in records.unreadable.items()]
            self._report(unreadable, records, errors)
        keys, values, origins = _join_decodable(records, keys, values, errors)
        new_errors = self._read_metadata(records, origins, metadata)
        if new_errors:
            self._report(new_errors, records, errors)
            keys, values, origins = _join_decodable(records, keys, values, errors)
        if errors:  # one per record
            errors[:] = [e for _, e in sorted({e.row: e for e in reversed(errors)}.items())]
        order = {ROW_ORDER_NAME: origins.order_rows}
        columns = {name: order.get(name, origins.take_records)(array) for name, array in metadata.items()}
        return keys, values, origins, columns

    def _read_metadata(self, records: Records, origins: RowOrigins, columns: dict[str, pa.Array]) -> list[DecodeError]:
        """Fill in the metadata columns that describe records, with one value per record.

        Returns:
            an error for each value that its column cannot have, except of records without rows.
        """
        errors: list[DecodeError] = []
        for c in self.metadata:
            if not c.from_format:
                columns[c.name], misfits = c.convert(read_metadata(c.key, records, self.split), self.time_zone)
                errors += misfits
        if errors and origins.records is not None:
            with_rows = set(origins.records.to_pylist())
            errors = [e for e in errors if e.row in with_rows]
        return errors

    def _cast_format_metadata(self, values: Decoded, records: Records, errors: ErrorSink) -> Decoded:
        """Return decoded values with the format's metadata in the types of the columns."""
        metadata = list(values.metadata)
        for i, c in enumerate(self._format_columns):
            metadata[i], misfits = c.convert(metadata[i], self.time_zone)
            if misfits:
                payloads = row_payloads(values, len(records.offsets))
                misfits = [DecodeError(int(payloads[e.row]), e.field, e.reason) for e in misfits]
                self._report(misfits, records, errors)
        return replace(values, metadata=metadata)

    def _decode_keys(self, records: Records, errors: ErrorSink) -> Decoded:
        assert self._key is not None
        return self._decode_payloads(self._key, records.keys, records, errors, _KEY)

    def _decode_payloads(
        self, decoder: Decoder, payloads: pa.BinaryArray | None, records: Records, errors: ErrorSink, part: str = ""
    ) -> Decoded:
        new_errors: list[DecodeError] = []
        try:
            decoded = decoder.decode(payloads, None if errors is None else new_errors)
        except DecodeError as e:
            raise self._locate(e, records, part).with_advice(self._advice[part]) from e
        if errors is not None:
            errors += sorted((self._locate(e, records, part) for e in new_errors), key=lambda e: e.row)
        return decoded

    def _report(self, new_errors: list[DecodeError], records: Records, errors: ErrorSink) -> None:
        """Add errors of records to the sink, or raise the first one if there is no sink."""
        new_errors = sorted((self._locate(e, records) for e in new_errors), key=lambda e: e.row)
        if errors is None:
            raise new_errors[0].with_advice(TO_TOLERATE)
        errors += new_errors

    def _locate(self, error: DecodeError, records: Records, part: str = "") -> DecodeError:
        return error.with_location(self.split.describe_offset(int(records.offsets[error.row])) + part)

    def _error_rows(self, records: Records, errors: list[DecodeError]) -> pa.RecordBatch:
        """Return one row per undecodable record: its metadata and the error message; other columns are null."""
        bad_records = records.take(np.array([e.row for e in errors], np.int64))
        columns = {f.name: pa.nulls(len(errors), f.type) for f in self.schema}
        self._read_metadata(bad_records, EACH_RECORD, columns)  # a value that its column cannot have is null
        for c in self.metadata:
            if c.key == ERROR:
                columns[c.name] = pa.array([str(e) for e in errors], pa.string()).cast(self.schema.field(c.name).type)
        return self._batch(columns)


def _join_decodable(
    records: Records, keys: Decoded | None, values: Decoded, errors: ErrorSink
) -> tuple[Decoded | None, Decoded, RowOrigins]:
    """Return the keys and values of the records without an error, and the origins of their rows."""
    bad_records = {e.row for e in errors or ()}
    keys, values = keys and keys.without_payloads(bad_records), values.without_payloads(bad_records)
    return keys, values, join_key_and_value(len(records.offsets), keys, values)


def _whole_records(records: Records, split: Split) -> pa.RecordBatch:
    """Return records as a batch with all fields, for formats that decode more than a payload.

    Returns:
        the columns key, value, topic, partition, offset, timestamp and headers.
    """
    count = len(records.offsets)
    assert records.timestamps is not None
    timestamps = pa.array(records.timestamps, pa.int64(), mask=records.timestamps < 0).cast(pa.timestamp("ms", "UTC"))
    columns = {
        "key": records.keys,
        "value": records.values,
        "topic": pa.repeat(split.topic, count),
        "partition": pa.repeat(pa.scalar(split.partition, pa.int32()), count),
        "offset": pa.array(records.offsets, pa.int64()),
        "timestamp": timestamps,
        "headers": records.headers,
    }
    return pa.RecordBatch.from_pydict(columns)


def decode_in_parts(decode: Callable[[Records], T], records: Records) -> Iterator[T]:
    """Yield what ``decode`` returns for the records: once, or for each half if the values do not fit, and so on.

    A single record never overflows: decoders report it as undecodable.
    """
    try:
        decoded = decode(records)
    except ColumnOverflow:
        indices = np.arange(len(records.offsets))
        for half in np.array_split(indices, 2):
            yield from decode_in_parts(decode, records.take(half))
    else:
        yield decoded
