"""Convert wire columns, which the decode loop fills and the encode loop reads, to a table's columns and back.

Their types are those of the wire format: an enum is its number, and a Timestamp a ROW of seconds and nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from google.protobuf.message import DecodeError

from kafka_sql.errors import EncodeError
from kafka_sql.formats.format import ColumnOverflow
from kafka_sql.formats.protobuf import opcodes
from kafka_sql.formats.protobuf.field_mapping import FieldMapping, is_string

# Takes the path of a column, the position of an entry that cannot be converted and becomes null, and the reason
Report: TypeAlias = Callable[[str, int, str], None]

_MAX_BYTES: Final = 2**31 - 1  # of the strings of a column
_MICROS_PER_SECOND: Final = 1_000_000
_MAX_SECONDS: Final = 2**63 // _MICROS_PER_SECOND - 1


def from_wire_columns(
    schema: pa.Schema | pa.DataType,
    mappings: tuple[FieldMapping, ...],
    arrays: list[pa.Array],
    row_count: int,
    report: Report,
) -> list[pa.Array]:
    """Return the columns of a table or ROW; those without a mapping are null.

    Raises:
        ColumnOverflow: a column would be too large.
    """
    wire_columns = {mapping.column.name: (mapping, array) for mapping, array in zip(mappings, arrays, strict=True)}
    return [
        _from_wire_column(*wire_columns[field.name], report)
        if field.name in wire_columns
        else pa.nulls(row_count, field.type)
        for field in schema
    ]


def _from_wire_column(mapping: FieldMapping, array: pa.Array, report: Report) -> pa.Array:
    arrow_type = mapping.column.type
    if mapping.wire.type == arrow_type:
        return array
    if mapping.is_repeated:
        return _from_elements(mapping, array, report)
    if mapping.is_serialized:
        return _to_json(mapping, array, report).cast(arrow_type)
    if mapping.descriptor.type == FieldDescriptor.TYPE_ENUM:
        return _from_enum_numbers(mapping, array) if is_string(arrow_type) else array.cast(arrow_type, safe=False)
    if mapping.is_timestamp:
        return _to_timestamps(mapping, array, report)
    fields = [array.field(k) for k in range(array.type.num_fields)]
    if mapping.is_well_known:  # a wrapper
        values = _from_wire_column(mapping.children[0], fields[0], report)
        return pc.if_else(array.is_valid(), values, None) if array.null_count else values
    children = from_wire_columns(arrow_type, mapping.children, fields, len(array), report)
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(arrow_type), mask=mask)


def _from_elements(mapping: FieldMapping, array: pa.Array, report: Report) -> pa.Array:
    arrow_type, children = mapping.column.type, mapping.children

    def report_element(path: str, entry: int, reason: str) -> None:
        report(path, int(np.searchsorted(np.asarray(array.offsets), entry, side="right")) - 1, reason)

    if pt.is_map(arrow_type):
        entries = [
            _from_wire_column(c, a, report_element) for c, a in zip(children, (array.keys, array.items), strict=True)
        ]
        values = pa.StructArray.from_arrays(entries, fields=[arrow_type.key_field, arrow_type.item_field])
    else:
        values = _from_wire_column(children[0], array.values, report_element)
    return pa.Array.from_buffers(arrow_type, len(array), array.buffers()[:2], offset=array.offset, children=[values])


@lru_cache(maxsize=256)
def _names_by_number(enum: EnumDescriptor) -> tuple[pa.Array, pa.Array]:
    """Return the numbers of an enum, and their first names followed by that of an unknown number in Java's classes."""
    first_names: dict[int, str] = {}
    for value in enum.values:
        first_names.setdefault(value.number, value.name)
    return pa.array(list(first_names), pa.int32()), pa.array([*first_names.values(), "UNRECOGNIZED"], pa.string())


def _from_enum_numbers(mapping: FieldMapping, array: pa.Array) -> pa.Array:
    """Return the names of an enum's numbers."""
    numbers, names = _names_by_number(mapping.descriptor.enum_type)
    positions = pc.index_in(array, numbers).fill_null(len(numbers))
    if array.null_count:
        positions = pc.if_else(array.is_valid(), positions, None)
    if len(array) * pc.max(pc.binary_length(names)).as_py() > _MAX_BYTES:
        _check_size(names.cast(pa.large_string()).take(positions))
    return names.take(positions).cast(mapping.column.type)


def _check_size(strings: pa.LargeStringArray) -> pa.LargeStringArray:
    """Return strings that fit a column.

    Raises:
        ColumnOverflow: they do not.
    """
    if (pc.sum(pc.binary_length(strings)).as_py() or 0) > _MAX_BYTES:
        raise ColumnOverflow
    return strings


def _to_timestamps(mapping: FieldMapping, array: pa.StructArray, report: Report) -> pa.Array:
    seconds = array.field(0).fill_null(0).to_numpy()
    nanos = array.field(1).fill_null(0).to_numpy().astype(np.int64)
    is_null: npt.NDArray[np.bool_] = array.is_null().to_numpy(zero_copy_only=False)
    is_unrepresentable = ~is_null & (np.abs(seconds.astype(np.float64)) > _MAX_SECONDS)
    for entry in np.flatnonzero(is_unrepresentable).tolist():
        report(mapping.path, entry, f"is a Timestamp out of range: {seconds[entry]} seconds")
    seconds = np.where(is_unrepresentable, 0, seconds)
    micros = seconds * _MICROS_PER_SECOND + nanos // 1000
    mask = is_null | is_unrepresentable
    timestamps = pa.array(micros, pa.int64(), mask=mask if mask.any() else None)
    return timestamps.cast(pa.timestamp("us")).cast(pa.int64()).view(mapping.column.type)


def _to_json(mapping: FieldMapping, array: pa.BinaryArray, report: Report) -> pa.StringArray:
    """Return the JSON of serialized Struct, Value and ListValue messages. They are rare, so convert one by one."""
    message_class = message_factory.GetMessageClass(mapping.message)
    texts: list[str | None] = []
    for entry, payload in enumerate(array.to_pylist()):
        try:
            texts.append(None if payload is None else _message_json(message_class.FromString(payload)))
        except DecodeError as e:
            report(mapping.path, entry, f"a nested message is malformed: {e}")
            texts.append(None)
    return _check_size(pa.array(texts, pa.large_string())).cast(pa.string())


def _message_json(message: object) -> Any:
    """Return a message's JSON, its keys sorted: the library's order differs between processes.

    Raises:
        DecodeError: of protobuf's library: a number is not finite, which JSON does not have.
    """
    try:
        return json_format.MessageToJson(message, indent=None, sort_keys=True, ensure_ascii=False)
    except ValueError as e:
        raise DecodeError(str(e)) from e


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
    return [_to_wire_column(mapping, array) for mapping, array in zip(mappings, arrays, strict=True)]


def _to_wire_column(mapping: FieldMapping, array: pa.Array) -> pa.Array:
    if mapping.is_repeated:
        return _to_elements(mapping, array)
    if mapping.opcode in (opcodes.UNSIGNED_32, opcodes.FIXED_4_UNSIGNED, opcodes.UNSIGNED_64, opcodes.FIXED_8_UNSIGNED):
        _check_unsigned(mapping, array)
    if mapping.is_serialized:
        return _from_json(mapping, array)
    if mapping.descriptor.type == FieldDescriptor.TYPE_ENUM:
        return _to_enum_numbers(mapping, array)
    if mapping.opcode != opcodes.MESSAGE:
        return array
    if not mapping.is_well_known:
        children = to_wire_columns(mapping.children, [array.field(k) for k in range(array.type.num_fields)])
    elif mapping.is_timestamp:
        children = _to_seconds_and_nanos(array)
    else:
        children = [_to_wire_column(mapping.children[0], array)]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, names=[child.descriptor.name for child in mapping.children], mask=mask)


def _to_elements(mapping: FieldMapping, array: pa.Array) -> pa.ListArray:
    if pt.is_map(array.type):
        children = [_to_wire_column(c, a) for c, a in zip(mapping.children, (array.keys, array.items), strict=True)]
        values = pa.StructArray.from_arrays(children, names=["key", "value"])
    else:
        values = _to_wire_column(mapping.children[0], array.values)
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
            reason = f"the value is not the JSON of a {mapping.descriptor.message_type.full_name}: {e}"
            raise EncodeError(f"Field '{mapping.path}': {reason}", field=mapping.path) from e
        return bytes(message.SerializeToString(deterministic=True))

    return pa.array([None if text is None else serialize(text) for text in array.to_pylist()], pa.binary())
