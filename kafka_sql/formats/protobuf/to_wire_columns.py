"""Convert a table's columns to wire columns, which the encode loop reads: the inverse of from_wire_columns.py."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor

from kafka_sql.errors import EncodeError
from kafka_sql.formats.protobuf import opcodes
from kafka_sql.formats.protobuf.field_mapping import TIMESTAMP, FieldMapping, is_string

_MICROS_PER_SECOND: Final = 1_000_000


def to_wire_columns(mappings: tuple[FieldMapping, ...], arrays: list[pa.Array]) -> list[pa.Array]:
    """Return the wire columns of a message. In a oneof, only the last field that is not null is set, as in Java.

    Raises:
        EncodeError: protobuf cannot represent a value.
    """
    oneofs: dict[str, list[int]] = {}
    for index, mapping in enumerate(mappings):
        oneof = mapping.descriptor.containing_oneof
        if oneof is not None and len(oneof.fields) > 1:
            oneofs.setdefault(oneof.name, []).append(index)
    arrays = list(arrays)
    for members in oneofs.values():
        is_set_later = arrays[members[-1]].is_valid()
        for index in reversed(members[:-1]):
            is_valid = arrays[index].is_valid()
            if pc.any(pc.and_(is_set_later, is_valid)).as_py():
                arrays[index] = pc.if_else(is_set_later, pa.scalar(None, arrays[index].type), arrays[index])
            is_set_later = pc.or_(is_set_later, is_valid)
    return [to_wire_column(mapping, array) for mapping, array in zip(mappings, arrays, strict=True)]


def to_wire_column(mapping: FieldMapping, array: pa.Array) -> pa.Array:
    """Return the wire column of a column.

    Raises:
        EncodeError: protobuf cannot represent a value.
    """
    arrow_type = mapping.column.type
    if mapping.is_repeated:
        return _convert_elements(mapping, array)
    if mapping.opcode in (opcodes.UNSIGNED_32, opcodes.FIXED_4_UNSIGNED, opcodes.UNSIGNED_64, opcodes.FIXED_8_UNSIGNED):
        _check_unsigned(mapping, array)
    if mapping.opcode == opcodes.BYTES and mapping.message is not None:
        return _from_json(mapping, array)
    if mapping.descriptor.type == FieldDescriptor.TYPE_ENUM:
        return _to_enum_numbers(mapping, array)
    if pt.is_large_string(arrow_type) or pt.is_large_binary(arrow_type):
        return array.cast(pa.string() if pt.is_large_string(arrow_type) else pa.binary())
    if mapping.opcode != opcodes.MESSAGE:
        return array
    if not mapping.is_well_known:
        children = to_wire_columns(mapping.children, [array.field(k) for k in range(array.type.num_fields)])
    elif mapping.message is not None and mapping.message.full_name == TIMESTAMP:
        children = _to_seconds_and_nanos(array)
    else:
        children = [to_wire_column(mapping.children[0], array)]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, names=[child.descriptor.name for child in mapping.children], mask=mask)


def _convert_elements(mapping: FieldMapping, array: pa.Array) -> pa.ListArray:
    if pt.is_map(array.type):
        children = [to_wire_column(mapping.children[0], array.keys), to_wire_column(mapping.children[1], array.items)]
        values = pa.StructArray.from_arrays(children, names=["key", "value"])
    else:
        values = to_wire_column(mapping.children[0], array.values)
    return pa.Array.from_buffers(
        pa.list_(values.type), len(array), array.buffers()[:2], offset=array.offset, children=[values]
    )


def _check_unsigned(mapping: FieldMapping, array: pa.Array) -> None:
    limit = 2**32 if mapping.opcode in (opcodes.UNSIGNED_32, opcodes.FIXED_4_UNSIGNED) else 2**64
    extremes = pc.min_max(array).as_py()
    if extremes["min"] is not None and (extremes["min"] < 0 or extremes["max"] >= limit):
        value = extremes["min"] if extremes["min"] < 0 else extremes["max"]
        raise EncodeError(
            f"Field '{mapping.path}': {value} is not a number from 0 to {limit - 1}, the range of "
            f"the field {mapping.descriptor.full_name}.",
            field=mapping.path,
        )


def _to_enum_numbers(mapping: FieldMapping, array: pa.Array) -> pa.Array:
    """Return the numbers of an enum; an unknown value is the enum's first, as in Flink."""
    values = list(mapping.descriptor.enum_type.values)
    first = values[0].number
    if is_string(array.type):
        numbers = pa.array([*(v.number for v in values), first], pa.int32())
        positions = pc.index_in(array, pa.array([v.name for v in values], array.type)).fill_null(len(values))
        result = numbers.take(positions)
    else:
        wide = array.cast(pa.int64())
        is_known = pc.is_in(wide, value_set=pa.array([v.number for v in values], pa.int64()))
        result = pc.if_else(is_known, wide, first).cast(pa.int32())
    return pc.if_else(array.is_valid(), result, pa.scalar(None, pa.int32())) if array.null_count else result


def _to_seconds_and_nanos(array: pa.Array) -> list[pa.Array]:
    micros = array.view(pa.int64()) if not array.null_count else array.cast(pa.int64()).fill_null(0)
    total = micros.to_numpy()
    seconds = total // _MICROS_PER_SECOND
    nanos = (total - seconds * _MICROS_PER_SECOND) * 1000
    return [pa.array(seconds, pa.int64()), pa.array(nanos, pa.int64()).cast(pa.int32())]


def _from_json(mapping: FieldMapping, array: pa.Array) -> pa.BinaryArray:
    """Return serialized Struct, Value or ListValue messages, parsed from JSON."""
    message_class = message_factory.GetMessageClass(mapping.message)

    def serialize(text: str) -> bytes:
        try:
            message = json_format.Parse(text, message_class())
        except json_format.ParseError as e:
            name = mapping.message.full_name if mapping.message is not None else ""
            raise EncodeError(
                f"Field '{mapping.path}': the value is not the JSON of a {name}: {e}", field=mapping.path
            ) from e
        return bytes(message.SerializeToString(deterministic=True))

    return pa.array([None if text is None else serialize(text) for text in array.to_pylist()], pa.binary())
