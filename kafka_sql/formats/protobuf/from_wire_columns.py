"""Convert wire columns, which the decode loop fills, to a table's columns.

A converter takes the wire column, and a function that it calls with the path of a column, the position of an entry that
cannot be converted, and the reason. The entry becomes null.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError

from kafka_sql.formats.format import ColumnOverflow
from kafka_sql.formats.protobuf import opcodes
from kafka_sql.formats.protobuf.field_mapping import TIMESTAMP, FieldMapping, is_string

Report: TypeAlias = Callable[[str, int, str], None]
Converter: TypeAlias = Callable[[pa.Array, Report], pa.Array]
Convert: TypeAlias = Callable[[list[pa.Array], int, Report], list[pa.Array]]

_MAX_BYTES: Final = 2**31 - 1  # of the strings of a column
_MAX_SECONDS: Final = 2**63 // 1_000_000 - 1


def columns_converter(schema: pa.Schema | pa.DataType, mappings: tuple[FieldMapping, ...]) -> Convert:
    """Return a function that takes wire columns, the number of rows and a report, and returns the schema's columns.

    A column without a mapping is null. The function raises ColumnOverflow if a column would be too large.
    """
    converters = {mapping.column.name: (k, column_converter(mapping)) for k, mapping in enumerate(mappings)}

    def convert(arrays: list[pa.Array], row_count: int, report: Report) -> list[pa.Array]:
        columns = []
        for field in schema:
            if field.name in converters:
                position, convert_column = converters[field.name]
                columns.append(convert_column(arrays[position], report))
            else:
                columns.append(pa.nulls(row_count, field.type))
        return columns

    return convert


def column_converter(mapping: FieldMapping) -> Converter:
    """Return a function that converts a wire column to the table's column."""
    arrow_type = mapping.column.type
    if mapping.wire.type == arrow_type:
        return lambda array, report: array
    if mapping.is_repeated:
        return _repeated_converter(mapping)
    if mapping.opcode == opcodes.BYTES and mapping.message is not None:
        return lambda array, report: _to_json(array, mapping, report).cast(arrow_type)
    if mapping.descriptor.type == FieldDescriptor.TYPE_ENUM:
        if is_string(arrow_type):
            return _enum_name_converter(mapping)
        return lambda array, report: array.cast(arrow_type, safe=False)
    if not mapping.is_well_known:
        return _row_converter(mapping)
    if mapping.message is not None and mapping.message.full_name == TIMESTAMP:
        return lambda array, report: _to_timestamps(array, mapping, report)
    convert_value = column_converter(mapping.children[0])

    def unwrap(array: pa.StructArray, report: Report) -> pa.Array:
        values = convert_value(array.field(0), report)
        return pc.if_else(array.is_valid(), values, None) if array.null_count else values

    return unwrap


def _row_converter(mapping: FieldMapping) -> Converter:
    arrow_type = mapping.column.type
    convert_children, fields = columns_converter(arrow_type, mapping.children), list(arrow_type)

    def convert(array: pa.StructArray, report: Report) -> pa.StructArray:
        children = convert_children([array.field(k) for k in range(array.type.num_fields)], len(array), report)
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)

    return convert


def _repeated_converter(mapping: FieldMapping) -> Converter:
    converters, arrow_type = [column_converter(child) for child in mapping.children], mapping.column.type

    def convert(array: pa.Array, report: Report) -> pa.Array:
        buffers = array.buffers()[:2]

        def report_element(path: str, entry: int, reason: str) -> None:
            report(path, int(np.searchsorted(np.asarray(array.offsets), entry, side="right")) - 1, reason)

        if pt.is_map(arrow_type):
            children = [converters[0](array.keys, report_element), converters[1](array.items, report_element)]
            values = pa.StructArray.from_arrays(children, fields=[arrow_type.key_field, arrow_type.item_field])
        else:
            values = converters[0](array.values, report_element)
        return pa.Array.from_buffers(arrow_type, len(array), buffers, offset=array.offset, children=[values])

    return convert


def _enum_name_converter(mapping: FieldMapping) -> Converter:
    """Return a function that converts numbers to names; an unknown number is UNRECOGNIZED, as in Java's classes."""
    first_names: dict[int, str] = {}
    for value in mapping.descriptor.enum_type.values:
        first_names.setdefault(value.number, value.name)
    numbers = pa.array(list(first_names), pa.int32())
    names = pa.array([*first_names.values(), "UNRECOGNIZED"], pa.string())
    largest = max(pc.binary_length(names).to_pylist())

    def convert(array: pa.Array, report: Report) -> pa.Array:
        positions = pc.index_in(array, numbers).fill_null(len(first_names))
        if array.null_count:
            positions = pc.if_else(array.is_valid(), positions, None)
        if len(array) * largest > _MAX_BYTES:
            _check_size(names.cast(pa.large_string()).take(positions))
        return names.take(positions).cast(mapping.column.type)

    return convert


def _check_size(strings: pa.LargeStringArray) -> pa.LargeStringArray:
    """Return strings that fit a column.

    Raises:
        ColumnOverflow: they do not.
    """
    if (pc.sum(pc.binary_length(strings)).as_py() or 0) > _MAX_BYTES:
        raise ColumnOverflow
    return strings


def _to_timestamps(array: pa.StructArray, mapping: FieldMapping, report: Report) -> pa.Array:
    seconds = array.field(0).fill_null(0).to_numpy()
    nanos = array.field(1).fill_null(0).to_numpy().astype(np.int64)
    is_null: npt.NDArray[np.bool_] = array.is_null().to_numpy(zero_copy_only=False)
    is_unrepresentable = ~is_null & (np.abs(seconds.astype(np.float64)) > _MAX_SECONDS)
    for entry in np.flatnonzero(is_unrepresentable).tolist():
        report(mapping.path, entry, f"is a Timestamp out of range: {seconds[entry]} seconds")
    seconds = np.where(is_unrepresentable, 0, seconds)
    micros = seconds * 1_000_000 + nanos // 1000
    mask = is_null | is_unrepresentable
    timestamps = pa.array(micros, pa.int64(), mask=mask if mask.any() else None)
    return timestamps.cast(pa.timestamp("us")).cast(pa.int64()).view(mapping.column.type)


def _to_json(array: pa.BinaryArray, mapping: FieldMapping, report: Report) -> pa.StringArray:
    """Return the JSON of serialized Struct, Value and ListValue messages. They are rare, so convert one by one.

    Raises:
        ColumnOverflow: the texts do not fit a column.
    """
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
