"""Read metadata columns: Flink's metadata keys, and the format's keys with the prefix ``value.``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import DecodeError, SchemaError
from kafka_sql.kafka.record_metadata import (
    ERROR,
    ERROR_COLUMNS,
    KAFKA_CLUSTER,
    TIMESTAMP_LTZ,
    MetadataColumn,
    metadata_keys,
)
from kafka_sql.kafka.records import RecordFields, Records
from kafka_sql.kafka.split import Split
from kafka_sql.runtime import arrow_compute as pc
from kafka_sql.suggestions import did_you_mean
from kafka_sql.table.changelog import DELETE, KINDS, ROW_KIND, UPDATE_AFTER
from kafka_sql.table.metadata_casts import Cast, invalid_type_error, needs_time_zone, read_cast
from kafka_sql.table.table import Column

FORMAT_PREFIX: Final = "value."


@dataclass(frozen=True)
class DeclaredMetadataColumn:
    """A declared metadata column."""

    field: pa.Field  # the column's name and its type for Spark
    declared: str  # its type in Flink's DDL
    key: str
    cast: Cast  # converts the key's type to the column's type
    needs_time_zone: bool  # whether the cast depends on the session's time zone
    from_format: bool  # whether the value comes from the format instead of the record

    @property
    def name(self) -> str:
        return str(self.field.name)

    def convert(self, values: pa.Array, zone: str) -> tuple[pa.Array, list[DecodeError]]:
        """Convert values of the key to the column's type.

        Returns:
            the converted values, with null for each one that the column cannot have, and an error for each of these;
            ``row`` is the value's index.
        """
        array = self.cast(values, zone).cast(self.field.type)
        if array.null_count == (values.null_count if self.field.nullable else 0):
            return array, []
        is_misfit = pc.and_(array.is_null(), values.is_valid()) if self.field.nullable else array.is_null()
        rows = np.flatnonzero(np.asarray(is_misfit)).tolist()
        return array, [DecodeError(row, self.name, self._describe_misfit(values[row])) for row in rows]

    def _describe_misfit(self, value: pa.Scalar) -> str:
        if not value.is_valid:
            return f"metadata '{self.key}' is null, but declared NOT NULL"
        if not pa.types.is_timestamp(value.type):
            return f"metadata '{self.key}' has a header without a value, which is declared NOT NULL"
        number = value.cast(pa.int64()).as_py()
        return f"metadata '{self.key}' is {number} {value.type.unit} since 1970, out of the range of {self.declared}"


def metadata_columns(definition: Definition, schema: pa.Schema) -> list[DeclaredMetadataColumn]:
    """Return the metadata columns of a table, in declaration order.

    Args:
        schema: the source columns, with the types that Spark expects.

    Raises:
        SchemaError: an unknown metadata key, or a type that it cannot be cast to.
    """
    format_metadata = definition.value.format.metadata.items()
    format_keys = {key if key == ROW_KIND else FORMAT_PREFIX + key: key_type for key, key_type in format_metadata}
    columns = [c for c in definition.table.source_columns if c.metadata is not None]
    keys = {**metadata_keys(definition.has_changes, definition.is_dynamic), **ERROR_COLUMNS}
    return [_resolve_column(definition.name, c, schema.field(c.name), format_keys, keys) for c in columns]


def _resolve_column(
    table: str,
    column: Column,
    field: pa.Field,
    format_keys: dict[str, pa.DataType],
    keys: dict[str, MetadataColumn],
) -> DeclaredMetadataColumn:
    key = cast(str, column.metadata)
    if key in format_keys:
        key_type, flink_type = format_keys[key], str(format_keys[key])
    elif key in keys:
        key_type, flink_type = keys[key].type, keys[key].flink_type
    else:
        readable_keys = list({**format_keys, **keys})
        raise SchemaError(
            f"Invalid metadata key '{key}' in column '{column.name}' of table '{table}'. The Kafka source supports the "
            f"following metadata keys for reading: {', '.join(readable_keys)}.{did_you_mean(key, readable_keys)}",
            column=column.name,
            table=table,
        )
    convert = read_cast(key_type, field.type, column.declared)
    if convert is None:
        raise invalid_type_error(table, column.name, key, column.declared, flink_type, is_read=True)
    needs_zone = needs_time_zone(key_type, field.type)
    return DeclaredMetadataColumn(field, column.declared, key, convert, needs_zone, key in format_keys)


def required_fields(columns: list[DeclaredMetadataColumn], keys: bool) -> RecordFields:
    """Return the record fields to fetch for these columns.

    Args:
        keys: whether the table has a key.
    """
    requested = {column.key for column in columns}
    return RecordFields(
        keys=keys or "raw-key" in requested,
        timestamps=bool(requested & {"timestamp", "timestamp-type"}),
        headers=bool(requested & {"headers", "header-list"}),
        leader_epochs="leader-epoch" in requested,
    )


def read_metadata(key: str, records: Records, split: Split) -> pa.Array:
    """Return the values of a metadata key, in the key's type."""
    return _READERS[key](records, split)


def _constant(value: str | int, data_type: pa.DataType, records: Records) -> pa.Array:
    return pa.repeat(pa.scalar(value, data_type), len(records.offsets))


def _upsert_row_kinds(values: pa.Array) -> pa.Array:
    """Return the row kinds of the records of an upsert table: a record without a value deletes the row of its key."""
    return pc.if_else(values.is_valid(), KINDS[UPDATE_AFTER], KINDS[DELETE])


def _as_arrow(values: npt.NDArray[Any] | None, data_type: pa.DataType) -> pa.Array:
    """Return an Arrow array on the same memory. ``pa.array`` would import pandas first."""
    assert values is not None
    return pa.Array.from_buffers(data_type, len(values), [None, pa.py_buffer(values)])


def _null_if_unset(values: pa.Array) -> pa.Array:
    """Return the values, with null for -1."""
    return pc.if_else(pc.equal(values, -1), pa.scalar(None, values.type), values)


_TIMESTAMP_TYPES: Final = ("NoTimestampType", "CreateTime", "LogAppendTime")  # Kafka's TimestampType


def _headers_by_name(records: Records, _: Split) -> pa.Array:
    from kafka_sql.kafka.columns import headers_to_maps  # lazy: compiled kernels, which planning does not need

    return headers_to_maps(records.headers)


_READERS: Final[dict[str, Callable[[Records, Split], pa.Array]]] = {
    KAFKA_CLUSTER: lambda r, s: _constant("" if s.cluster is None else s.cluster.id, pa.string(), r),
    "topic": lambda r, s: _constant(s.topic, pa.string(), r),
    "partition": lambda r, s: _constant(s.partition, pa.int32(), r),
    "headers": _headers_by_name,
    "header-list": lambda r, _: r.headers,
    "leader-epoch": lambda r, _: _null_if_unset(_as_arrow(r.leader_epochs, pa.int32())),
    "offset": lambda r, _: _as_arrow(r.offsets, pa.int64()),
    "timestamp": lambda r, _: _null_if_unset(_as_arrow(r.timestamps, pa.int64())).cast(TIMESTAMP_LTZ),
    "timestamp-type": lambda r, _: pa.array(_TIMESTAMP_TYPES).take(_as_arrow(r.timestamp_types, pa.int32())),
    ERROR: lambda r, _: pa.nulls(len(r.offsets), pa.string()),  # a decoded record has no error
    "raw-key": lambda r, _: r.keys,
    "raw-value": lambda r, _: r.values,
    ROW_KIND: lambda r, _: _upsert_row_kinds(r.values),  # of upsert tables
}
