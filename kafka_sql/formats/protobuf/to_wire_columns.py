"""A table's columns as the compiled loops take them: the way back of finishing.py."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor

from kafka_sql.errors import EncodeError
from kafka_sql.formats.protobuf import opcodes as o
from kafka_sql.formats.protobuf.field_mapping import TIMESTAMP, FieldMapping, is_text

_MICRO: Final = 1_000_000


def to_wire_column(column: FieldMapping, array: pa.Array) -> pa.Array:
    """What the loops write of a column.

    Raises:
        EncodeError: a value has no form in protobuf.
    """
    t = column.column.type
    if column.is_repeated:
        return _elements(column, array)
    if column.op in (o.UNSIGNED_32, o.FIXED_4_UNSIGNED, o.UNSIGNED_64, o.FIXED_8_UNSIGNED):
        _check_unsigned(column, array)
    if column.op == o.BYTES and column.message is not None:
        return _documents(column, array)
    if column.fd.type == FieldDescriptor.TYPE_ENUM:
        return _numbers(column, array)
    if pt.is_large_string(t) or pt.is_large_binary(t):
        return array.cast(pa.string() if pt.is_large_string(t) else pa.binary())
    if column.op != o.MESSAGE:
        return array
    if not column.is_well_known:
        children = to_wire_columns(column.children, [array.field(k) for k in range(array.type.num_fields)])
    elif column.message is not None and column.message.full_name == TIMESTAMP:
        children = _timestamp(array)
    else:
        children = [to_wire_column(column.children[0], array)]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, names=[c.fd.name for c in column.children], mask=mask)


def to_wire_columns(columns: tuple[FieldMapping, ...], arrays: list[pa.Array]) -> list[pa.Array]:
    """The columns of a message; of those of one oneof the last that is not null, as Java's setters leave it."""
    by_oneof: dict[str, list[int]] = {}
    for k, column in enumerate(columns):
        oneof = column.fd.containing_oneof
        if oneof is not None and len(oneof.fields) > 1:
            by_oneof.setdefault(oneof.name, []).append(k)
    arrays = list(arrays)
    for places in by_oneof.values():
        later = arrays[places[-1]].is_valid()
        for k in reversed(places[:-1]):
            valid = arrays[k].is_valid()
            if pc.any(pc.and_(later, valid)).as_py():
                arrays[k] = pc.if_else(later, pa.scalar(None, arrays[k].type), arrays[k])
            later = pc.or_(later, valid)
    return [to_wire_column(column, array) for column, array in zip(columns, arrays, strict=True)]


def _elements(column: FieldMapping, array: pa.Array) -> pa.Array:
    if pt.is_map(array.type):
        children = [to_wire_column(column.children[0], array.keys), to_wire_column(column.children[1], array.items)]
        entries = pa.StructArray.from_arrays(children, names=["key", "value"])
        return _list(array, entries)
    return _list(array, to_wire_column(column.children[0], array.values))


def _list(array: pa.Array, values: pa.Array) -> pa.ListArray:
    return pa.Array.from_buffers(
        pa.list_(values.type), len(array), array.buffers()[:2], offset=array.offset, children=[values]
    )


def _check_unsigned(column: FieldMapping, array: pa.Array) -> None:
    limit = 2**32 if column.op in (o.UNSIGNED_32, o.FIXED_4_UNSIGNED) else 2**64
    found = pc.min_max(array).as_py()
    if found["min"] is not None and (found["min"] < 0 or found["max"] >= limit):
        wrong = found["min"] if found["min"] < 0 else found["max"]
        raise EncodeError(
            f"Fail to serialize at field: {column.path}. {wrong} is no number from 0 to {limit - 1}, which the field "
            f"{column.fd.full_name} has.",
            field=column.path,
        )


def _numbers(column: FieldMapping, array: pa.Array) -> pa.Array:
    """The numbers of an enum; what it has not is its first, as in Flink."""
    values = list(column.fd.enum_type.values)
    first = values[0].number
    if is_text(array.type):
        numbers = pa.array([*(v.number for v in values), first], pa.int32())
        places = pc.index_in(array, pa.array([v.name for v in values], array.type)).fill_null(len(values))
        found = numbers.take(places)
    else:
        wide = array.cast(pa.int64())
        known = pc.is_in(wide, value_set=pa.array([v.number for v in values], pa.int64()))
        found = pc.if_else(known, wide, first).cast(pa.int32())
    return pc.if_else(array.is_valid(), found, pa.scalar(None, pa.int32())) if array.null_count else found


def _timestamp(array: pa.Array) -> list[pa.Array]:
    micros = array.view(pa.int64()) if not array.null_count else array.cast(pa.int64()).fill_null(0)
    whole = micros.to_numpy()
    seconds = whole // _MICRO
    return [pa.array(seconds, pa.int64()), pa.array((whole - seconds * _MICRO) * 1000, pa.int64()).cast(pa.int32())]


def _documents(column: FieldMapping, array: pa.Array) -> pa.BinaryArray:
    kind = message_factory.GetMessageClass(column.message)

    def written(text: str) -> bytes:
        try:
            made = json_format.Parse(text, kind())
        except json_format.ParseError as e:
            name = column.message.full_name if column.message is not None else ""
            raise EncodeError(
                f"Fail to serialize at field: {column.path}. The text is no JSON of {name}: {e}", field=column.path
            ) from e
        return bytes(made.SerializeToString(deterministic=True))

    return pa.array([None if text is None else written(text) for text in array.to_pylist()], pa.binary())
