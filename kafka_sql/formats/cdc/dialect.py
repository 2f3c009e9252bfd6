"""How a dialect says that a row was inserted, updated or deleted, and what else it tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.errors import DecodeError

SOURCE: Final = pa.map_(pa.string(), pa.string())
MILLIS: Final = pa.timestamp("ms", "UTC")
MICROS: Final = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class Metadata:
    """One key of a dialect's metadata.

    Attributes:
        type: as it is read by a query.
        document_field: the field of the document that it is in.
        document_type: its type.
        convert: the field's values to the key's.
        outside: whether the field stands beside the payload where that has an envelope with its schema.
    """

    type: pa.DataType
    document_field: str
    document_type: pa.DataType
    convert: Callable[[pa.Array], pa.Array] = field(default=lambda values: values)
    outside_payload: bool = False


@dataclass(frozen=True)
class Dialect:
    """A dialect of changes.

    Attributes:
        name: as Flink's errors say it.
        corrupt: what an error begins with.
        new, old: the fields with the row, or its state after and before an update.
        operation: the field that says what happened.
        inserts, updates, deletes: the values of it.
        skipped: those that are no change of a row.
        old_when_deleted: whether a deleted row stands in ``old``; otherwise in ``new``.
        partial_old: whether ``old`` has only the columns that an update changed: what is absent is as in ``new``.
        many: whether ``new`` and ``old`` are arrays of rows.
        metadata: keys without ``value.``.
    """

    name: str
    new_field: str
    old_field: str
    operation_field: str
    inserts: tuple[str, ...]
    updates: tuple[str, ...]
    deletes: tuple[str, ...]
    metadata: Mapping[str, Metadata]
    skipped: tuple[str, ...] = ()
    deletes_use_old: bool = False
    old_is_partial: bool = False
    rows_in_arrays: bool = False
    error_prefix: str = "Corrupt {name} JSON message:"


def from_millis(values: pa.Array) -> pa.Array:
    """Milliseconds since 1970 as a time; BIGINT, or text of it."""
    return _cast(_cast(values, pa.int64()), MILLIS)


def from_seconds(values: pa.Array) -> pa.Array:
    """Seconds since 1970 as a time."""
    return _cast(values.cast(pa.timestamp("s", "UTC")), MILLIS)


def from_timestamp_string(values: pa.Array) -> pa.Array:
    """``2020-05-13 15:40:06.000000`` or with a ``T``, in UTC, as a time."""
    return pc.assume_timezone(_cast(values, pa.timestamp("us")), "UTC")


def source_property(key: str) -> Callable[[pa.Array], pa.Array]:
    """One property of the source, which is read as a ROW of what is asked for, or as a MAP of all."""

    def convert(sources: pa.Array) -> pa.Array:
        if pa.types.is_map(sources.type):
            return pc.map_lookup(sources, pa.scalar(key), "first")
        return pc.struct_field(sources, key)

    return convert


def merge_field_types(one: pa.DataType | None, other: pa.DataType) -> pa.DataType:
    """The type in which a field is read that two keys are from: a MAP if one of them is all of it."""
    if one is None or one == other or pa.types.is_map(other):
        return other
    return one if pa.types.is_map(one) else pa.struct(list(dict.fromkeys([*one, *other])))


def _cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        return values.cast(kind)
    except pa.ArrowInvalid:
        if len(values) == 1:
            raise DecodeError(0, None, f"{values[0].as_py()!r} in the metadata is no {kind}") from None
        middle = len(values) // 2
        _cast(values[:middle], kind)
        try:
            _cast(values[middle:], kind)
        except DecodeError as e:
            raise DecodeError(middle + e.row, None, e.reason) from e
        raise
