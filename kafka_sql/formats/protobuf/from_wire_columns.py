"""A table's columns of what the compiled loops hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor

from kafka_sql.formats.protobuf import opcodes as o
from kafka_sql.formats.protobuf.field_mapping import TIMESTAMP, FieldMapping, is_text


def column_converter(column: FieldMapping) -> Callable[[pa.Array], pa.Array]:
    """What makes the table's column of what the loops hold."""
    t = column.column.type
    if column.wire.type == t:
        return lambda array: array
    if column.is_repeated:
        return _elements(column)
    if column.op == o.BYTES and column.message is not None:
        return lambda array: _documents(array, column).cast(t)
    if column.fd.type == FieldDescriptor.TYPE_ENUM:
        return _symbols(column) if is_text(t) else lambda array: array.cast(t, safe=False)
    if not column.is_well_known:
        inner, fields = columns_converter(t, column.children), list(t)

        def row(array: pa.StructArray) -> pa.StructArray:
            made = inner([array.field(k) for k in range(array.type.num_fields)], len(array))
            mask = array.is_null() if array.null_count else None
            return pa.StructArray.from_arrays(made, fields=fields, mask=mask)

        return row
    if column.message is not None and column.message.full_name == TIMESTAMP:
        return lambda array: _timestamps(array, t)
    value = column_converter(column.children[0])
    return lambda array: (
        pc.if_else(array.is_valid(), value(array.field(0)), None) if array.null_count else value(array.field(0))
    )


def columns_converter(
    schema: pa.Schema | pa.DataType, known: tuple[FieldMapping, ...]
) -> Callable[[list[pa.Array], int], list[pa.Array]]:
    """What makes columns of what the loops hold, and nulls of those that they do not know; of so many rows."""
    places = {column.column.name: (k, column_converter(column)) for k, column in enumerate(known)}

    def made(arrays: list[pa.Array], rows: int) -> list[pa.Array]:
        found = []
        for field in schema:
            if field.name in places:
                place, finish = places[field.name]
                found.append(finish(arrays[place]))
            else:
                found.append(pa.nulls(rows, field.type))
        return found

    return made


def _elements(column: FieldMapping) -> Callable[[pa.Array], pa.Array]:
    inner, t = [column_converter(c) for c in column.children], column.column.type

    def made(array: pa.Array) -> pa.Array:
        buffers = array.buffers()[:2]
        if pt.is_map(t):
            children = [inner[0](array.keys), inner[1](array.items)]
            entries = pa.StructArray.from_arrays(children, fields=[t.key_field, t.item_field])
        else:
            entries = inner[0](array.values)
        return pa.Array.from_buffers(t, len(array), buffers, offset=array.offset, children=[entries])

    return made


def _symbols(column: FieldMapping) -> Callable[[pa.Array], pa.Array]:
    """Names of numbers; a number that has none is UNRECOGNIZED, as Java's classes say it."""
    enum = column.fd.enum_type
    first: dict[int, str] = {}
    for value in enum.values:
        first.setdefault(value.number, value.name)
    numbers = pa.array(list(first), pa.int32())
    names = pa.array([*first.values(), "UNRECOGNIZED"], pa.string())

    def made(array: pa.Array) -> pa.Array:
        places = pc.index_in(array, numbers).fill_null(len(first))
        if array.null_count:
            places = pc.if_else(array.is_valid(), places, None)
        return names.take(places).cast(column.column.type)

    return made


def _timestamps(array: pa.StructArray, t: pa.DataType) -> pa.Array:
    seconds = array.field(0).fill_null(0).to_numpy()
    nanos = array.field(1).fill_null(0).to_numpy().astype(np.int64)
    micros = seconds * 1_000_000 + nanos // 1000
    mask = None if not array.null_count else array.is_null().to_numpy(zero_copy_only=False)
    return pa.array(micros, pa.int64(), mask=mask).cast(pa.timestamp("us")).cast(pa.int64()).view(t)


def _documents(array: pa.BinaryArray, column: FieldMapping) -> pa.StringArray:
    """JSON of google.protobuf's Struct, Value and ListValue; they are rare enough to be made one by one."""
    kind = message_factory.GetMessageClass(column.message)
    texts = []
    for payload in array.to_pylist():
        texts.append(None if payload is None else _json(kind.FromString(payload)))
    return pa.array(texts, pa.string())


def _json(message: object) -> Any:
    return json_format.MessageToJson(message, indent=None, ensure_ascii=False)
