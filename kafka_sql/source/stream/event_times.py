"""Read the event times of records on the driver, so that a limited stream can be read in their order."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.kafka.records import BatchSize, RecordFields, Records
from kafka_sql.kafka.split import Split
from kafka_sql.options import connector as opt
from kafka_sql.runtime import arrow_compute as pc
from kafka_sql.source.client_config import ENUMERATOR, client_config
from kafka_sql.source.stream.event_time_order import UNKNOWN_TIME, EventTimeOrder, EventTimes, Numbers
from kafka_sql.source.table_log import warn
from kafka_sql.table.table import Column

if TYPE_CHECKING:
    from kafka_sql.formats.format import ErrorSink
    from kafka_sql.source.reader.row_decoder import RowDecoder

_LOG = logging.getLogger("kafka_sql.source")

_TIMESTAMP: Final = "timestamp"  # Kafka's metadata key
_TIMESTAMP_TYPE: Final = pa.timestamp("us", "UTC")
_MICROS_PER_MILLI: Final = 1e3
_MICROS_PER_DAY: Final = 86_400e6
_SIZE: Final = BatchSize(max_bytes=1 << 20)  # also bounds a fetch, which usually reads a few hundred records
# formats whose payloads have field names that are looked up, so that other fields can be skipped
_SELF_DESCRIBING: Final = ("json", "json-confluent", "debezium-json", "canal-json", "maxwell-json", "ogg-json")
_DIGITS: Final = r"^\d{4}\D?\d\d\D?\d\d(\D?\d\d(\D?\d\d(\D?\d\d(\D?\d{1,9})?)?)?)?Z?$"  # of a date or timestamp
_INTEGER: Final = r"^-?\d{1,18}$"


def event_time_order(definition: Definition, schema: pa.Schema) -> EventTimeOrder | None:
    """Return what orders a stream's micro-batches by event time; None if the table's options do not ask for it."""
    options, watermark = definition.options, definition.table.watermark
    is_limited = options.get(opt.MAX_OFFSETS) is not None or options.get(opt.MAX_BYTES) is not None
    if watermark is None or not is_limited or not options[opt.WATERMARK_ALIGNMENT]:
        return None
    reader = EventTimeReader(definition, schema)
    return EventTimeOrder(reader.read, options[opt.WATERMARK_DRIFT] * 1000 if reader.has_microseconds else 0)


class EventTimeReader:
    """Reads the event times of a table's records.

    They are those of the watermark's column, or of the column that it is computed from. Kafka's timestamps are used
    instead if it is computed in a way that ``EventTimeSource`` does not describe.

    Attributes:
        has_microseconds: whether the times are microseconds, and not numbers of an unknown unit.
    """

    def __init__(self, definition: Definition, schema: pa.Schema) -> None:
        watermark = definition.table.watermark
        assert watermark is not None
        self._definition, self._schema = definition, schema
        self._source = watermark.source
        self._column = next(
            (c for c in definition.table.source_columns if self._source is not None and c.name == self._source.path[0]),
            None,
        )
        self._decoder: RowDecoder | None = None
        self._reads_timestamps = self._column is None or self._column.metadata == _TIMESTAMP
        self.has_microseconds = self._reads_timestamps or (self._source is not None and self._source.unit is not None)
        self._is_logged = False

    def read(self, split: Split) -> Iterator[EventTimes]:
        """Read the event times of a split. Undecodable records have none; the tasks will report them."""
        from kafka_sql.kafka.fetch import read_records  # lazy: for limited batches only

        self._log()
        fields = RecordFields(timestamps=True)
        if not self._reads_timestamps:
            fields = replace(self._row_decoder(split).record_fields, timestamps=False)
        if self._definition.options.get(opt.MAX_BYTES) is not None:
            fields = replace(fields, keys=True)
        batches = read_records(
            client_config(self._definition, ENUMERATOR, split.cluster),
            split,
            fields,
            _SIZE,
            lambda *_: None,  # the tasks report that records were deleted
            self._definition.options[opt.SCAN_CLIENT],
        )
        for records in batches:
            yield EventTimes(records.offsets, self._times(records), _sizes(records))

    def _times(self, records: Records) -> Numbers:
        if self._reads_timestamps:
            assert records.timestamps is not None
            timestamps = pa.array(records.timestamps, mask=records.timestamps == -1)
            return to_microseconds(timestamps, _MICROS_PER_MILLI)
        assert self._decoder is not None
        assert self._source is not None
        errors: ErrorSink = []
        rows = self._decoder.decode(records, errors)
        values = rows.batch.column(self._source.path[0])
        for name in self._source.path[1:]:
            values = pc.struct_field(values, name)
        times = to_microseconds(values, self._source.unit)
        indices = rows.origins.records
        if indices is None:
            return times
        latest = np.full(len(records.offsets), UNKNOWN_TIME)
        np.maximum.at(latest, np.asarray(indices), times)
        return latest

    def _row_decoder(self, split: Split) -> RowDecoder:
        from kafka_sql.source.reader.row_decoder import RowDecoder  # lazy: compiled loops, for limited batches only

        if self._decoder is None:
            assert self._column is not None
            self._decoder = RowDecoder(*_reduce(self._definition, self._schema, self._column), split)
        return self._decoder

    def _log(self) -> None:
        if self._is_logged:
            return
        self._is_logged = True
        name, watermark = self._definition.name, self._definition.table.watermark
        assert watermark is not None
        if self._column is not None:
            fields = {"table": name}
            _LOG.info("table '%s': partitions are read in the order of '%s'", name, watermark.column, extra=fields)
            return
        warn(
            name,
            "partitions are read in the order of Kafka's timestamps, because the order of '%s' cannot be determined "
            "from its expression. Rows can be late if it differs from them by more than the watermark's delay",
            watermark.column,
        )


def to_microseconds(values: pa.Array, unit: float | None) -> Numbers:
    """Return values as microseconds, or as other numbers in their order; ``UNKNOWN_TIME`` for null and invalid ones.

    Args:
        values: timestamps, dates, numbers, or strings with timestamps or numbers.
        unit: microseconds per unit of a number. If it is neither 1 nor None, strings are parsed as numbers.
    """
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        values = _parse_timestamps(values) if unit in (1.0, None) else _parse_integers(values)
    if pa.types.is_timestamp(values.type):
        values, unit = values.cast(pa.int64()), None
    elif pa.types.is_date(values.type):
        values, unit = values.cast(pa.int32()), _MICROS_PER_DAY
    numbers = values.cast(pa.float64()) if not pa.types.is_integer(values.type) else values.cast(pa.int64())
    known = np.asarray(numbers.is_valid())
    result = numbers.fill_null(0).to_numpy(zero_copy_only=False)
    if result.dtype == np.float64:
        result = result * (unit or 1e6)  # fractions of a number without a unit count, too
        known &= np.abs(result) < np.iinfo(np.int64).max
        return np.where(known, np.where(known, result, 0).astype(np.int64), UNKNOWN_TIME)
    factor = unit or 1.0
    if factor < 1:
        return np.where(known, result // round(1 / factor), UNKNOWN_TIME)
    largest = np.iinfo(np.int64).max // round(factor)
    known &= (-largest <= result) & (result <= largest)
    return np.where(known, result * round(factor), UNKNOWN_TIME)


def _parse_integers(texts: pa.Array) -> pa.Array:
    is_integer = pc.match_substring_regex(texts, _INTEGER)
    return pc.if_else(is_integer, texts, pa.scalar(None, texts.type)).cast(pa.int64())


def _parse_timestamps(texts: pa.Array) -> pa.Array:
    """Parse strings such as ``2026-03-02 08:00:00.5`` or ``20260302`` to microseconds."""
    texts = pc.if_else(pc.match_substring_regex(texts, _DIGITS), texts, pa.scalar(None, texts.type))
    digits = pc.utf8_rpad(pc.replace_substring_regex(texts, r"\D", ""), 20, "0")
    seconds = pc.strptime(pc.utf8_slice_codeunits(digits, 0, 14), "%Y%m%d%H%M%S", "s", error_is_null=True)
    fractions = pc.utf8_slice_codeunits(digits, 14, 20).cast(pa.int64())
    return pc.add(pc.multiply(seconds.cast(pa.int64()), 1_000_000), fractions)


def _sizes(records: Records) -> Numbers:
    sizes = np.asarray(pc.binary_length(records.values).fill_null(0)).astype(np.int64)
    return sizes if records.keys is None else sizes + np.asarray(pc.binary_length(records.keys).fill_null(0))


def _reduce(definition: Definition, schema: pa.Schema, column: Column) -> tuple[Definition, pa.Schema]:
    """Return the table with as few columns as its format needs to decode one of them."""
    value, key = definition.value, definition.key
    if column.metadata is None and column.name in value.columns and value.format.identifier in _SELF_DESCRIBING:
        field = value.fields[value.columns.index(column.name)]
        value, key = replace(value, columns=(column.name,), fields=(field,)), None
    elif column.metadata is not None and value.format.identifier in _SELF_DESCRIBING:
        value, key = replace(value, columns=(), fields=()), None
    names = {*value.columns, *(key.columns if key is not None else ()), column.name}
    columns = tuple(c for c in definition.table.source_columns if c.name in names)
    types: Mapping[str, pa.DataType] = {} if column.metadata is None else {column.name: _TIMESTAMP_TYPE}
    fields = [schema.field(c.name) for c in columns]
    reduced = replace(definition, table=replace(definition.table, columns=columns), value=value, key=key)
    return reduced, pa.schema([f.with_type(types.get(f.name, f.type)) for f in fields])
