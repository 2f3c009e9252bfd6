"""Flink's CAST between the type of a metadata key and the type that a column declares, on Arrow arrays.

Which pairs there are: LogicalTypeCasts.supportsExplicitCast. Of those, the ones that lose nothing are carried out, with
Flink's values; the others are refused, because Flink would wrap or cut silently.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from kafka_sql.errors import SchemaError

# the array, and the session's time zone where the cast needs one
Cast: TypeAlias = Callable[[pa.Array, str], pa.Array]

_DIGITS: Final = {pa.int32(): 10, pa.int64(): 19}
_WIDER: Final = {pa.int32(): (pa.int64(), pa.float32(), pa.float64()), pa.int64(): (pa.float32(), pa.float64())}
_UNBOUNDED: Final = ("STRING", "BYTES", "VARCHAR(2147483647)", "VARBINARY(2147483647)", "BINARY")
_MILLISECONDS: Final = 3


def needs_time_zone(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether the cast between an instant and ``target`` depends on the session's time zone."""
    return _instant(source) != _instant(target) and (pt.is_timestamp(source) or pt.is_timestamp(target))


def read_cast(source: pa.DataType, target: pa.DataType, declared: str) -> Cast | None:
    """The cast from a metadata key's type; None where it is refused.

    Args:
        target: the column's type as Spark wants it.
        declared: the same as Flink spells it, for what Spark's type does not say (lengths, precision).
    """
    if pt.is_timestamp(source):
        return _from_instant(target, declared)
    if _cut(target, declared):
        return None
    if target == source or (source in _WIDER and (target in _WIDER[source] or pt.is_string(target))):
        return lambda array, _: array.cast(target, safe=False)
    if source in _DIGITS and pt.is_decimal(target) and target.precision - target.scale >= _DIGITS[source]:
        return lambda array, _: array.cast(target)
    if pt.is_string(source) and (pt.is_binary(target) or pt.is_string(target)):
        return lambda array, _: array.cast(target)
    if pt.is_map(source) and pt.is_map(target) and _texts_or_bytes(target.key_type, target.item_type):
        return lambda array, _: _map(array, target)
    if pt.is_list(source) and _is_list_of_headers(target):
        return lambda array, _: _list(array, target)
    return None


def write_cast(source: pa.DataType, target: pa.DataType, declared: str) -> Cast | None:
    """The cast to a writable metadata key's type; None where it is refused. Headers may stay texts, the producer takes
    both.
    """
    if pt.is_timestamp(target):
        return _to_instant(source)
    if pt.is_map(target):
        fits = pt.is_map(source) and _texts_or_bytes(source.key_type, source.item_type)
    elif pt.is_list(target):
        fits = _is_list_of_headers(source)
    else:
        fits = source == target and not _cut(source, declared)
    return (lambda array, _: array) if fits else None


def _from_instant(target: pa.DataType, declared: str) -> Cast | None:
    if pt.is_timestamp(target):
        unit = 10 ** max(0, _MILLISECONDS - _precision(declared))
        if target.tz is not None:
            return lambda array, _: _floor(array, unit).cast(target)
        return lambda array, zone: _local(_floor(array, unit), zone).cast(target)
    if pt.is_date32(target):
        return lambda array, zone: _local(array, zone).cast(target)
    if pt.is_string(target) and not _cut(target, declared):
        return lambda array, zone: pc.strftime(_local(array, zone), "%Y-%m-%d %H:%M:%S")
    return None


def _to_instant(source: pa.DataType) -> Cast | None:
    if not pt.is_timestamp(source):
        return None
    if source.tz is not None:
        return lambda array, _: array
    # Java, too, takes the earlier of two instants when clocks go back; where they go forward there is none to take
    return lambda array, zone: pc.assume_timezone(array, zone, ambiguous="earliest", nonexistent="raise")


def _local(array: pa.Array, zone: str) -> pa.Array:
    """Wall-clock time of an instant."""
    return pc.local_timestamp(array.cast(pa.timestamp(array.type.unit, zone)))


def _floor(array: pa.Array, unit: int) -> pa.Array:
    if unit == 1:
        return array
    numbers = array.cast(pa.int64())
    return pc.multiply(pc.divide(numbers, unit), unit).cast(array.type)


def _precision(declared: str) -> int:
    match = re.search(r"\(\s*(\d+)\s*\)", declared)
    return int(match[1]) if match else 6


def _cut(target: pa.DataType, declared: str) -> bool:
    """Whether the declared type bounds the length, which Flink would cut or fill to."""
    if not (pt.is_string(target) or pt.is_binary(target)):
        return False
    return re.sub(r"\s", "", declared).upper() not in _UNBOUNDED


def _instant(kind: pa.DataType) -> bool:
    return pt.is_timestamp(kind) and kind.tz is not None


def _texts_or_bytes(*kinds: pa.DataType) -> bool:
    return all(pt.is_string(kind) or pt.is_binary(kind) for kind in kinds)


def _is_list_of_headers(kind: pa.DataType) -> bool:
    return (
        pt.is_list(kind)
        and pt.is_struct(kind.value_type)
        and kind.value_type.num_fields == 2
        and _texts_or_bytes(kind.value_type.field(0).type, kind.value_type.field(1).type)
    )


def _map(array: pa.MapArray, target: pa.MapType) -> pa.MapArray:
    names, values = _as(array.keys, target.key_type), _as(array.items, target.item_type)
    starts = pa.Array.from_buffers(pa.int32(), len(array) + 1, [None, array.buffers()[1]], offset=array.offset)
    return pa.MapArray.from_arrays(starts, names, values).cast(target)


def _list(array: pa.ListArray, target: pa.ListType) -> pa.ListArray:
    kind = target.value_type
    names, values = (_as(array.values.field(i), kind.field(i).type) for i in range(2))
    entries = pa.StructArray.from_arrays([names, values], fields=[kind.field(0), kind.field(1)])
    return pa.Array.from_buffers(target, len(array), array.buffers()[:2], offset=array.offset, children=[entries])


def _as(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Bytes as text, with U+FFFD for what is no UTF-8, and back."""
    try:
        return array.cast(kind)
    except pa.ArrowInvalid:
        texts = [None if value is None else value.decode("utf-8", "replace") for value in array.to_pylist()]
        return pa.array(texts, kind)


def invalid_type_error(table: str, column: str, key: str, declared: str, metadata: str, reading: bool) -> SchemaError:
    """Flink's words for a type that a metadata column cannot have."""
    of = "" if key == column else f" with metadata key '{key}'"
    way = f"from metadata type '{metadata}'" if reading else f"to metadata type '{metadata}'"
    return SchemaError(
        f"Invalid data type for metadata column '{column}'{of} of table '{table}'. The column cannot be declared as "
        f"'{declared}' because the type must be castable {way}. Here that is a cast that loses nothing: declare it as "
        f"'{metadata.removesuffix(' NOT NULL')}', and cast in the query."
    )
