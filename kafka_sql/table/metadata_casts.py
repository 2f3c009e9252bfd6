"""Cast metadata values between Kafka's types and the declared column types, on Arrow arrays, as Flink's CAST does.

The candidate type pairs are those of LogicalTypeCasts.supportsExplicitCast. Lossless casts are supported and return
Flink's values. The others are rejected, because Flink would silently wrap or truncate. Of a timestamp that the column's
type cannot hold, the cast returns null, and of headers without a value if the column's type requires one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.errors import SchemaError
from kafka_sql.runtime import arrow_compute as pc
from kafka_sql.table.local_times import to_instants, to_local_times

# takes the array and the session's time zone, which only some casts need
Cast: TypeAlias = Callable[[pa.Array, str], pa.Array]

_DIGITS: Final = {pa.int32(): 10, pa.int64(): 19}
_WIDER: Final = {pa.int32(): (pa.int64(), pa.float32(), pa.float64()), pa.int64(): (pa.float32(), pa.float64())}
_UNBOUNDED: Final = ("STRING", "BYTES", "VARCHAR(2147483647)", "VARBINARY(2147483647)", "BINARY")
_FRACTION_DIGITS: Final = {"ms": 3, "us": 6}
_MAX_MICROS: Final = 2**63 - 1  # of Spark's timestamps
_MAX_TEXT_SECONDS: Final = 971_890_963_199  # the end of year 32767: Arrow has years of 16 bits


def needs_time_zone(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether a cast depends on the session's time zone: one of the types is an instant, the other is not."""
    return _is_instant(source) != _is_instant(target)


def read_cast(source: pa.DataType, target: pa.DataType, declared: str) -> Cast | None:
    """Return the cast from a metadata key's type to a column's type, or None if it is not supported.

    Args:
        target: the column's type for Spark.
        declared: the same type in Flink's DDL, which also has lengths and precision.
    """
    if pt.is_timestamp(source):
        return _from_instant(source.unit, target, declared)
    if _has_length_limit(target, declared):
        return None
    if target == source or (source in _WIDER and (target in _WIDER[source] or pt.is_string(target))):
        return lambda array, _: array.cast(target, safe=False)
    if source in _DIGITS and pt.is_decimal(target) and target.precision - target.scale >= _DIGITS[source]:
        return lambda array, _: array.cast(target)
    if pt.is_string(source) and (pt.is_binary(target) or pt.is_string(target)):
        return lambda array, _: array.cast(target)
    if pt.is_map(source) and pt.is_map(target) and _are_strings_or_bytes(target.key_type, target.item_type):
        return lambda array, _: _cast_map(array, target)
    if pt.is_list(source) and _is_list_of_headers(target):
        return lambda array, _: _cast_list(array, target)
    return None


def write_cast(source: pa.DataType, target: pa.DataType, declared: str) -> Cast | None:
    """Return the cast to a writable metadata key's type, or None if it is not supported.

    Header values may stay strings: the producer takes strings and bytes.
    """
    if pt.is_timestamp(target):
        if not pt.is_timestamp(source):
            return None
        return to_instants if source.tz is None else lambda array, _: array
    if pt.is_map(target):
        is_castable = pt.is_map(source) and _are_strings_or_bytes(source.key_type, source.item_type)
    elif pt.is_list(target):
        is_castable = _is_list_of_headers(source)
    else:
        is_castable = source == target and not _has_length_limit(source, declared)
    return (lambda array, _: array) if is_castable else None


def invalid_type_error(table: str, column: str, key: str, declared: str, metadata: str, is_read: bool) -> SchemaError:
    """Return Flink's error for a metadata column of a type that its key cannot be cast to."""
    with_key = "" if key == column else f" with metadata key '{key}'"
    direction = f"from metadata type '{metadata}'" if is_read else f"to metadata type '{metadata}'"
    return SchemaError(
        f"Invalid data type for metadata column '{column}'{with_key} of table '{table}'. The column cannot be declared "
        f"as '{declared}' because the type must be castable {direction}. Only lossless casts are supported: declare "
        f"the column as '{metadata.removesuffix(' NOT NULL')}', and cast in the query.",
        column=column,
        table=table,
    )


def _from_instant(unit: str, target: pa.DataType, declared: str) -> Cast | None:
    digits = _FRACTION_DIGITS[unit]
    limit = _MAX_MICROS // 10 ** (6 - digits)
    if pt.is_timestamp(target):
        step = 10 ** max(0, digits - _precision(declared))
        if target.tz is not None:
            return lambda array, _: _truncate(_null_beyond(limit, array), step).cast(target)
        return lambda array, zone: _truncate(_to_local_time(array, zone, limit), step).cast(target)
    if pt.is_date32(target):
        return lambda array, zone: _to_local_time(array, zone, limit).cast(target)
    if pt.is_string(target) and not _has_length_limit(target, declared):
        limit = min(limit, _MAX_TEXT_SECONDS * 10**digits)
        return lambda array, zone: pc.strftime(_to_local_time(array, zone, limit), "%Y-%m-%d %H:%M:%S")
    return None


def _to_local_time(array: pa.Array, zone: str, limit: int) -> pa.Array:
    instants = _null_beyond(limit, array)
    return _null_beyond(limit, to_local_times(instants, zone))


def _null_beyond(limit: int, array: pa.Array) -> pa.Array:
    """Return the timestamps, with null for those whose number is not between ``-limit`` and ``limit``."""
    numbers = array.cast(pa.int64())
    smallest, largest = (bound.as_py() for bound in pc.min_max(numbers).values())
    if smallest is None or (-limit <= smallest and largest <= limit):
        return array
    fits = pc.and_(pc.less_equal(numbers, limit), pc.greater_equal(numbers, -limit))
    return pc.if_else(fits, array, pa.scalar(None, array.type))


def _truncate(array: pa.Array, step: int) -> pa.Array:
    """Return the timestamps as multiples of ``step``: those before 1970 become later ones, as in Flink."""
    if step == 1:
        return array
    return pc.multiply(pc.divide(array.cast(pa.int64()), step), step).cast(array.type)


def _precision(declared: str) -> int:
    match = re.search(r"\(\s*(\d+)\s*\)", declared)
    return int(match[1]) if match else 6


def _has_length_limit(target: pa.DataType, declared: str) -> bool:
    """Return whether the declared type limits the length, so that Flink would truncate or pad."""
    if not (pt.is_string(target) or pt.is_binary(target)):
        return False
    return re.sub(r"\s", "", declared).upper() not in _UNBOUNDED


def _is_instant(data_type: pa.DataType) -> bool:
    return pt.is_timestamp(data_type) and data_type.tz is not None


def _are_strings_or_bytes(*data_types: pa.DataType) -> bool:
    return all(pt.is_string(t) or pt.is_binary(t) for t in data_types)


def _is_list_of_headers(data_type: pa.DataType) -> bool:
    return (
        pt.is_list(data_type)
        and pt.is_struct(data_type.value_type)
        and data_type.value_type.num_fields == 2
        and _are_strings_or_bytes(data_type.value_type.field(0).type, data_type.value_type.field(1).type)
    )


def _cast_map(array: pa.MapArray, target: pa.MapType) -> pa.MapArray:
    names, values = _cast_strings(array.keys, target.key_type), _cast_strings(array.items, target.item_type)
    starts = pa.Array.from_buffers(pa.int32(), len(array) + 1, [None, array.buffers()[1]], offset=array.offset)
    return pa.MapArray.from_arrays(starts, names, values).cast(target)


def _cast_list(array: pa.ListArray, target: pa.ListType) -> pa.ListArray:
    header = target.value_type
    names, values = (_cast_strings(array.values.field(i), header.field(i).type) for i in range(2))
    entries = pa.StructArray.from_arrays([names, values], fields=[header.field(0), header.field(1)])
    headers = pa.Array.from_buffers(target, len(array), array.buffers()[:2], offset=array.offset, children=[entries])
    if header.field(1).nullable or not values.null_count:
        return headers
    nulls = np.concatenate(([0], np.cumsum(np.asarray(values.is_null()))))[np.asarray(array.offsets)]
    return pc.if_else(pa.array(np.diff(nulls) > 0), pa.scalar(None, target), headers)


def _cast_strings(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Cast between bytes and strings. Bytes that are not UTF-8 become U+FFFD."""
    try:
        return array.cast(target)
    except pa.ArrowInvalid:
        strings = [None if value is None else value.decode("utf-8", "replace") for value in array.to_pylist()]
        return pa.array(strings, target)
