"""Describe a dialect of change events: how it represents inserts, updates and deletes, and its metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.formats.columnar.arrow_buffers import find_uncastable
from kafka_sql.formats.java.text import shorten

SOURCE: Final = pa.map_(pa.string(), pa.string())
MILLIS: Final = pa.timestamp("ms", "UTC")
MICROS: Final = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class Metadata:
    """A metadata key of a dialect."""

    type: pa.DataType  # the type of the metadata column
    document_field: str  # the field of the document that has the value
    document_type: pa.DataType  # the field's type
    # converts the field's values to the metadata column. Raises UnconvertibleValues.
    convert: Callable[[pa.Array], pa.Array] = field(default=lambda values: values)
    outside_payload: bool = False  # whether an envelope has the field beside its payload


@dataclass(frozen=True)
class Dialect:
    """A dialect of change events.

    Example: a Debezium event is ``{"before": {"id": 1}, "after": null, "op": "d"}``: its ``old_field`` is ``before``,
    its ``new_field`` is ``after``, its ``operation_field`` is ``op``, and ``deletes`` has ``d``.

    Attributes:
        name: the name in Flink's errors.
        new_field, old_field: the fields with the row after and before the change.
        operation_field: the field with the operation.
        inserts, updates, deletes: values of the operation field.
        metadata: keys without ``value.``.
        skipped: values of the operation field that change no row.
        deletes_use_old: whether a deleted row is in the old field; otherwise it is in the new one.
        old_is_partial: whether the old field has only the columns that an update changed.
        rows_in_arrays: whether the new and the old field are arrays of rows.
        error_prefix: the start of errors.
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

    @property
    def metadata_types(self) -> dict[str, pa.DataType]:
        """The type of each metadata key."""
        return {key: metadata.type for key, metadata in self.metadata.items()}


class UnconvertibleValues(Exception):
    """Values that cannot be converted to metadata. ``reasons`` has why, by the index of the value."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__("values cannot be converted")
        self.reasons = reasons


def from_millis(values: pa.Array) -> pa.Array:
    """Convert milliseconds since 1970, as BIGINT or strings, to timestamps."""
    return _cast(_cast(values, pa.int64()), MILLIS)


def from_seconds(values: pa.Array) -> pa.Array:
    """Convert seconds since 1970 to timestamps."""
    return _cast(values.cast(pa.timestamp("s", "UTC")), MILLIS)


def from_timestamp_string(values: pa.Array) -> pa.Array:
    """Convert strings such as ``2020-05-13 15:40:06.000000``, or with a ``T``, to timestamps in UTC."""
    return pc.assume_timezone(_cast(values, pa.timestamp("us")), "UTC")


def source_property(key: str) -> Callable[[pa.Array], pa.Array]:
    """Return a converter that extracts a property of the source, which is a ROW of the needed properties or a MAP."""

    def convert(sources: pa.Array) -> pa.Array:
        if pa.types.is_map(sources.type):
            return pc.map_lookup(sources, pa.scalar(key), "first")
        return pc.struct_field(sources, key)

    return convert


def source_timestamp(sources: pa.Array) -> pa.Array:
    """Extract the time of a change from the source."""
    return from_millis(source_property("ts_ms")(sources))


def merge_field_types(first: pa.DataType | None, second: pa.DataType) -> pa.DataType:
    """Merge the types that two metadata keys need of one field: to a MAP, or to a ROW with the properties of both."""
    if first is None or first == second or pa.types.is_map(second):
        return second
    return first if pa.types.is_map(first) else pa.struct(list(dict.fromkeys([*first, *second])))


def _cast(values: pa.Array, target: pa.DataType) -> pa.Array:
    """Cast values; raise UnconvertibleValues."""
    try:
        return values.cast(target)
    except pa.ArrowInvalid:
        rows = find_uncastable(values, target)
        bad = values.take(pa.array(rows))
        bad = bad.cast(pa.int64()) if pa.types.is_timestamp(bad.type) else bad  # it may be any number
        texts = [shorten(repr(value)) for value in bad.to_pylist()]
        reasons = {row: f"the metadata value {text} is not a {target}" for row, text in zip(rows, texts, strict=True)}
        raise UnconvertibleValues(reasons) from None
