"""Metadata columns as they are read: Flink's keys, and the format's own under ``value.``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.definition import Definition
from kafka_sql.errors import SchemaError, did_you_mean
from kafka_sql.kafka.record_metadata import ERROR, INLINE, TIMESTAMP, Metadata, metadata_keys
from kafka_sql.kafka.records import RecordFields, Records
from kafka_sql.kafka.types import Split
from kafka_sql.table.changelog import ROW_KIND
from kafka_sql.table.declaration import Column
from kafka_sql.table.metadata_casts import Cast, invalid_type_error, needs_time_zone, read_cast

FORMAT_PREFIX: Final = "value."


@dataclass(frozen=True)
class MetadataColumn:
    """A declared metadata column.

    Attributes:
        name: the column's.
        key: Flink's key.
        zoned: whether its value depends on the session's time zone.
        of_format: whether the format gives it, and not the record.
    """

    name: str
    key: str
    cast: Cast
    needs_time_zone: bool
    from_format: bool


def metadata_columns(definition: Definition, schema: pa.Schema) -> list[MetadataColumn]:
    """The metadata columns of a table, in its order.

    Args:
        schema: the stored columns, as Spark wants them.

    Raises:
        SchemaError: a key that does not exist, or a type that it cannot have.
    """
    known = definition.value.format.metadata.items()
    formats = {key if key == ROW_KIND else FORMAT_PREFIX + key: kind for key, kind in known}
    columns = [c for c in definition.table.stored_columns if c.metadata is not None]
    keys = {**metadata_keys(definition.is_upsert or definition.is_changelog), **INLINE}
    return [_column(definition.name, c, schema.field(c.name).type, formats, keys) for c in columns]


def _column(
    table: str, column: Column, target: pa.DataType, formats: dict[str, pa.DataType], keys: dict[str, Metadata]
) -> MetadataColumn:
    key = cast(str, column.metadata)
    if key in formats:
        kind, shown = formats[key], str(formats[key])
    elif key in keys:
        kind, shown = keys[key].type, keys[key].declared
    else:
        known = [*formats, *keys]
        raise SchemaError(
            f"Invalid metadata key '{key}' in column '{column.name}' of table '{table}'. The Kafka source supports the "
            f"following metadata keys for reading: {', '.join(known)}.{did_you_mean(key, known)}"
        )
    convert = read_cast(kind, target, column.declared)
    if convert is None:
        raise invalid_type_error(table, column.name, key, column.declared, shown, is_read=True)
    return MetadataColumn(column.name, key, convert, needs_time_zone(kind, target), key in formats)


def required_fields(columns: list[MetadataColumn], keys: bool) -> RecordFields:
    """What must be read of the records for these columns, and for columns of the key, and no more."""
    asked = {column.key for column in columns}
    return RecordFields(
        keys=keys or "raw-key" in asked,
        timestamps=bool(asked & {"timestamp", "timestamp-type"}),
        headers=bool(asked & {"headers", "header-list"}),
        leader_epochs="leader-epoch" in asked,
    )


def read_metadata(key: str, records: Records, split: Split) -> pa.Array:
    """The values of one of Kafka's keys, in the key's own type."""
    return _READERS[key](records, split)


def _constant(value: str | int, kind: pa.DataType, records: Records) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), len(records.offsets))


def _numbers(values: npt.NDArray[Any] | None, kind: pa.DataType) -> pa.Array:
    """The array's own memory; ``pa.array`` would load pandas first."""
    assert values is not None
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def _without(values: pa.Array, marks: pa.Array) -> pa.Array:
    """The values, null where the mark is -1."""
    return pc.if_else(pc.less(marks, 0), pa.scalar(None, values.type), values)


def _timestamps(records: Records, _: Split) -> pa.Array:
    return _without(_numbers(records.timestamps, TIMESTAMP), _numbers(records.timestamps, pa.int64()))


def _epochs(records: Records, _: Split) -> pa.Array:
    epochs = _numbers(records.leader_epochs, pa.int32())
    return _without(epochs, epochs)


_TIMESTAMP_TYPES: Final = ("NoTimestampType", "CreateTime", "LogAppendTime")  # Kafka's TimestampType


def _timestamp_types(records: Records, _: Split) -> pa.Array:
    return pa.array(_TIMESTAMP_TYPES).take(_numbers(records.timestamp_types, pa.int32()))


def _last_values(records: Records, _: Split) -> pa.Array:
    from kafka_sql.kafka.headers import last_values  # compiled loops, which planners do without

    return last_values(records.headers)


_READERS: Final[dict[str, Callable[[Records, Split], pa.Array]]] = {
    "topic": lambda r, s: _constant(s.topic, pa.string(), r),
    "partition": lambda r, s: _constant(s.partition, pa.int32(), r),
    "headers": _last_values,
    "header-list": lambda r, _: r.headers,
    "leader-epoch": _epochs,
    "offset": lambda r, _: _numbers(r.offsets, pa.int64()),
    "timestamp": _timestamps,
    "timestamp-type": _timestamp_types,
    ERROR: lambda r, _: pa.nulls(len(r.offsets), pa.string()),  # what has been read has none
    "raw-key": lambda r, _: r.keys,
    "raw-value": lambda r, _: r.values,
    ROW_KIND: lambda r, _: _constant("+I", pa.string(), r),  # what a batch reads are rows that there are
}
