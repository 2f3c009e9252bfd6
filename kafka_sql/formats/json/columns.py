"""The fast way: a buffer of payloads through pyarrow's JSON reader, and its columns to the declared types.

What the reader cannot make itself (dates, times, base64) it reads as text, which is converted here a column at a time.
Only the plainest forms are taken; any other form is left to the exact way.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
import pyarrow.types as pt

from kafka_sql.formats.json import base64
from kafka_sql.formats.json.record import Rules


def read_type(t: pa.DataType) -> pa.DataType | None:
    """The type as which the reader is to read a column; None where it has none (MAP)."""
    if pt.is_list(t):
        inner = read_type(t.value_type)
        return None if inner is None else pa.list_(inner)
    if pt.is_struct(t):
        inners = [(field.name, read_type(field.type)) for field in t]
        return None if not inners or any(i is None for _, i in inners) else pa.struct(inners)
    if pt.is_map(t):
        return None
    if pt.is_decimal(t):
        return _with_room(t.precision, t.scale)
    return t if pt.is_boolean(t) or pt.is_integer(t) or pt.is_floating(t) else pa.string()


def _with_room(precision: int, scale: int) -> pa.DataType:
    """A decimal type in which the reader cannot overflow.

    It checks the digits of a number against the precision, and then multiplies it up to the scale without a check. So
    the precision leaves room for that: all products of these types fit in 38 and 76 digits.
    """
    room = 38 - scale
    return pa.decimal128(room, scale) if precision <= room else pa.decimal256(76 - scale, scale)


def read(text: pa.Buffer, schema: pa.Schema) -> list[pa.Array] | None:
    """One array a field of ``schema`` (of ``read_type``s), or None where the reader refuses the text."""
    try:
        table = pyarrow.json.read_json(
            pa.BufferReader(text),
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=text.size + 1),
            parse_options=pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):  # the latter where the message cuts a character in two
        return None
    return [column.combine_chunks() if column.num_chunks != 1 else column.chunk(0) for column in table.columns]


def holds(field: pa.Field, array: pa.Array, rules: Rules) -> bool:
    """Whether no value is null or missing that must not be, at any depth.

    The reader does not tell a missing field from a null one: either is taken to be missing.
    """
    if array.null_count and not field.nullable:
        return False
    if pt.is_struct(field.type):
        present = array.drop_null()
        children = zip(field.type, present.flatten(), strict=True)
        return all(
            holds(inner, child, rules) and not (rules.fail_on_missing and child.null_count) for inner, child in children
        )
    return not pt.is_list(field.type) or holds(field.type.value_field, array.flatten(), rules)


def convert(array: pa.Array, t: pa.DataType, rules: Rules) -> pa.Array:
    """An array of ``read_type(t)`` as one of ``t``.

    Raises:
        ValueError: a value has not the plainest form, and must go the exact way.
    """
    if pt.is_list(t):
        values = convert(array.values, t.value_type, rules)
        return pa.Array.from_buffers(t, len(array), array.buffers()[:2], offset=array.offset, children=[values])
    if pt.is_struct(t):
        children = [convert(array.field(i), t.field(i).type, rules) for i in range(t.num_fields)]
        return pa.Array.from_buffers(t, len(array), array.buffers()[:1], children=children)
    if pt.is_decimal(t):
        decimals = array.cast(t)
        decimals.validate(full=True)  # where the type is the same, the cast has not looked at the digits
        return decimals
    if pt.is_date(t):
        return _require(array, 10, 10).cast(t)
    if pt.is_time(t):
        return _times(array, t)
    if pt.is_timestamp(t):
        return _timestamps(array, t, rules.iso)
    if pt.is_binary(t) or pt.is_large_binary(t):
        return base64.decode(array).cast(t)
    return array if array.type == t else array.cast(t)


def _require(array: pa.Array, shortest: int, longest: int) -> pa.Array:
    lengths = pc.min_max(pc.binary_length(array)).as_py()
    if lengths["min"] is not None and not shortest <= lengths["min"] <= lengths["max"] <= longest:
        raise ValueError("not the plain form")
    return array


def _times(array: pa.Array, t: pa.DataType) -> pa.Array:
    # There is no cast of text to a time: it goes by way of a timestamp of the first day.
    _require_points(_require(array, 8, 18), 8)
    stamps = pc.binary_join_element_wise("1970-01-01 ", array, "").cast(pa.timestamp("ns"))
    return stamps.cast(pa.timestamp("ms"), safe=False).cast(pa.time32("ms")).cast(t)


def _timestamps(array: pa.Array, t: pa.DataType, iso: bool) -> pa.Array:
    zone = 0 if t.tz is None else 1
    _require(array, 19 + zone, 26 + zone)
    offsets, data = base64.parts(array)
    starts, ends = offsets[:-1][np.diff(offsets) > 0], offsets[1:][np.diff(offsets) > 0]
    if (data[starts + 10] != ord("T" if iso else " ")).any() or (zone and (data[ends - 1] != ord("Z")).any()):
        raise ValueError("not the plain form")
    _require_points(array, 19, zone)
    return array.cast(pa.timestamp("us", "UTC" if zone else None)).cast(t)


def _require_points(array: pa.Array, at: int, tail: int = 0) -> None:
    """Require that each text ends at ``at`` (before a tail), or has a point and at least one more character there."""
    offsets, data = base64.parts(array)
    lengths = np.diff(offsets) - tail
    longer = offsets[:-1][lengths > at]
    if (lengths == at + 1).any() or (data[longer + at] != ord(".")).any():
        raise ValueError("not the plain form")
