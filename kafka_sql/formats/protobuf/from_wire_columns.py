"""Convert wire columns, which the decode loop fills, to a table's columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError

from kafka_sql.formats.protobuf import opcodes
from kafka_sql.formats.protobuf.field_mapping import TIMESTAMP, FieldMapping, is_string


def columns_converter(
    schema: pa.Schema | pa.DataType, mappings: tuple[FieldMapping, ...]
) -> Callable[[list[pa.Array], int], list[pa.Array]]:
    """Return a function that takes wire columns and the number of rows, and returns the schema's columns.

    A column without a mapping is null.
    """
    converters = {mapping.column.name: (k, column_converter(mapping)) for k, mapping in enumerate(mappings)}

    def convert(arrays: list[pa.Array], row_count: int) -> list[pa.Array]:
        columns = []
        for field in schema:
            if field.name in converters:
                position, convert_column = converters[field.name]
                columns.append(convert_column(arrays[position]))
            else:
                columns.append(pa.nulls(row_count, field.type))
        return columns

    return convert


def column_converter(mapping: FieldMapping) -> Callable[[pa.Array], pa.Array]:
    """Return a function that converts a wire column to the table's column."""
    arrow_type = mapping.column.type
    if mapping.wire.type == arrow_type:
        return lambda array: array
    if mapping.is_repeated:
        return _repeated_converter(mapping)
    if mapping.opcode == opcodes.BYTES and mapping.message is not None:
        return lambda array: _to_json(array, mapping).cast(arrow_type)
    if mapping.descriptor.type == FieldDescriptor.TYPE_ENUM:
        return (
            _enum_name_converter(mapping) if is_string(arrow_type) else lambda array: array.cast(arrow_type, safe=False)
        )
    if not mapping.is_well_known:
        return _row_converter(mapping)
    if mapping.message is not None and mapping.message.full_name == TIMESTAMP:
        return lambda array: _to_timestamps(array, arrow_type)
    convert_value = column_converter(mapping.children[0])

    def unwrap(array: pa.StructArray) -> pa.Array:
        values = convert_value(array.field(0))
        return pc.if_else(array.is_valid(), values, None) if array.null_count else values

    return unwrap


def _row_converter(mapping: FieldMapping) -> Callable[[pa.Array], pa.Array]:
    arrow_type = mapping.column.type
    convert_children, fields = columns_converter(arrow_type, mapping.children), list(arrow_type)

    def convert(array: pa.StructArray) -> pa.StructArray:
        children = convert_children([array.field(k) for k in range(array.type.num_fields)], len(array))
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)

    return convert


def _repeated_converter(mapping: FieldMapping) -> Callable[[pa.Array], pa.Array]:
    converters, arrow_type = [column_converter(child) for child in mapping.children], mapping.column.type

    def convert(array: pa.Array) -> pa.Array:
        buffers = array.buffers()[:2]
        if pt.is_map(arrow_type):
            children = [converters[0](array.keys), converters[1](array.items)]
            values = pa.StructArray.from_arrays(children, fields=[arrow_type.key_field, arrow_type.item_field])
        else:
            values = converters[0](array.values)
        return pa.Array.from_buffers(arrow_type, len(array), buffers, offset=array.offset, children=[values])

    return convert


def _enum_name_converter(mapping: FieldMapping) -> Callable[[pa.Array], pa.Array]:
    """Return a function that converts numbers to names; an unknown number is UNRECOGNIZED, as in Java's classes."""
    first_names: dict[int, str] = {}
    for value in mapping.descriptor.enum_type.values:
        first_names.setdefault(value.number, value.name)
    numbers = pa.array(list(first_names), pa.int32())
    names = pa.array([*first_names.values(), "UNRECOGNIZED"], pa.string())

    def convert(array: pa.Array) -> pa.Array:
        positions = pc.index_in(array, numbers).fill_null(len(first_names))
        if array.null_count:
            positions = pc.if_else(array.is_valid(), positions, None)
        return names.take(positions).cast(mapping.column.type)

    return convert


def _to_timestamps(array: pa.StructArray, arrow_type: pa.DataType) -> pa.Array:
    seconds = array.field(0).fill_null(0).to_numpy()
    nanos = array.field(1).fill_null(0).to_numpy().astype(np.int64)
    micros = seconds * 1_000_000 + nanos // 1000
    mask = None if not array.null_count else array.is_null().to_numpy(zero_copy_only=False)
    return pa.array(micros, pa.int64(), mask=mask).cast(pa.timestamp("us")).cast(pa.int64()).view(arrow_type)


def _to_json(array: pa.BinaryArray, mapping: FieldMapping) -> pa.StringArray:
    """Return the JSON of serialized Struct, Value and ListValue messages. They are rare, so convert one by one."""
    message_class = message_factory.GetMessageClass(mapping.message)
    payloads = array.to_pylist()
    return pa.array([None if p is None else _message_json(message_class.FromString(p)) for p in payloads], pa.string())


def _message_json(message: object) -> Any:
    """Return a message's JSON, its keys sorted: the library's order differs between processes.

    Raises:
        DecodeError: of protobuf's library: a number is not finite, which JSON does not have.
    """
    try:
        return json_format.MessageToJson(message, indent=None, sort_keys=True, ensure_ascii=False)
    except ValueError as e:
        raise DecodeError(str(e)) from e
