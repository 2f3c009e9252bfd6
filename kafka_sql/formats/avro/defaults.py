"""Emit the defaults of fields that the writer's schema does not have.

Their form in JSON is defined in the specification ("Schema Declaration", "Complex Types", "default").
"""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.formats.avro import opcodes
from kafka_sql.formats.avro.decode_plan import IS_NULL, AvroDecodePlan, SchemaMismatch, child_path, non_null_branch
from kafka_sql.formats.avro.logical_types import read_factor, represents
from kafka_sql.formats.avro.schema import NO_DEFAULT, AvroField, AvroType, shorten
from kafka_sql.formats.columnar.column_buffers import LIST, STRUCT, VARIABLE, ColumnNode


def emit_missing(plan: AvroDecodePlan, reader: AvroField, node: ColumnNode, path: str) -> None:
    """Emit the default of a field.

    Raises:
        SchemaMismatch: there is no default, or the column's type cannot hold it.
    """
    if reader.default is NO_DEFAULT:
        raise SchemaMismatch(f"field '{path}': missing required field {reader.name}, which has no default")
    _emit_default(plan, reader.default, reader.type, node, path)


def emit_null(plan: AvroDecodePlan, node: ColumnNode, path: str) -> None:
    """Emit null, also for the fields of a ROW."""
    plan.emit(path, opcodes.NULL, node.slot, node.children[0].slot if node.width == LIST else 0)
    if node.width == STRUCT:
        for child in node.children:
            emit_null(plan, child, path)


def _emit_default(plan: AvroDecodePlan, value: Any, avro: AvroType, node: ColumnNode, path: str) -> None:
    if value is None:
        if not node.field.nullable:
            raise SchemaMismatch(f"field '{path}': the default {IS_NULL}")
        emit_null(plan, node, path)
        return
    avro = non_null_branch(avro)
    if node.width == LIST and (avro.type_name, type(value)) in (("map", dict), ("array", list)):
        _emit_elements(plan, value, avro.element, node, path)
    elif node.width == STRUCT and avro.type_name == "record" and isinstance(value, dict):
        plan.emit(path, opcodes.NOT_NULL, node.slot)
        for f, child in zip(avro.fields, node.children, strict=True):
            if f.name in value:
                _emit_default(plan, value[f.name], f.type, child, child_path(path, f.name))
            else:
                emit_missing(plan, f, child, child_path(path, f.name))
    else:
        _emit_scalar(plan, value, avro, node, path)


def _emit_elements(plan: AvroDecodePlan, value: Any, avro: AvroType, node: ColumnNode, path: str) -> None:
    """Emit the elements of an array, or the entries of a map."""
    for element in value:
        if isinstance(value, dict):
            plan.emit(path, opcodes.LITERAL, node.children[0].slot, plan.add_literal(element.encode()))
        item = value[element] if isinstance(value, dict) else element
        _emit_default(plan, item, avro, node.children[-1], f"{path}[]")
    plan.emit(path, opcodes.END_LIST, node.slot, node.children[0].slot)


def _emit_scalar(plan: AvroDecodePlan, value: Any, avro: AvroType, node: ColumnNode, path: str) -> None:
    column_type = node.field.type
    if not represents(avro, column_type):
        constant = None
    elif avro.type_name in ("string", "enum", "bytes", "fixed"):
        literal = _literal(value, avro)
        if literal is not None and node.width == VARIABLE:
            plan.emit(path, opcodes.LITERAL, node.slot, plan.add_literal(literal))
            return
        constant = _decimal_words(literal, avro, column_type) if literal and pt.is_decimal(column_type) else None
    else:
        constant = _number_words(value, avro, column_type)
    if constant is None:
        raise SchemaMismatch(
            f"field '{path}': the default {shorten(repr(value))} is not {avro} that can be read as {column_type}"
        )
    plan.emit(path, opcodes.CONSTANT, node.slot, *constant)


def _literal(value: Any, avro: AvroType) -> bytes | None:
    """Return the bytes of a text, or of bytes, which are written as the characters U+0000 to U+00FF."""
    try:
        literal = value.encode("latin-1" if avro.type_name in ("bytes", "fixed") else "utf-8")
    except (AttributeError, UnicodeEncodeError):
        return None
    return literal if avro.type_name != "fixed" or len(literal) == avro.size else None


def _decimal_words(literal: bytes, avro: AvroType, column_type: pa.DataType) -> tuple[int, int] | None:
    """Return the lower and the upper word of a DECIMAL."""
    number = int.from_bytes(literal, "big", signed=True)
    if abs(number) >= 10**column_type.precision or (avro.logical_type and avro.scale != column_type.scale):
        return None
    low, high = struct.unpack("<qq", number.to_bytes(16, "little", signed=True))
    return low, high


def _number_words(value: Any, avro: AvroType, column_type: pa.DataType) -> tuple[int, int] | None:
    """Return the bits of a number or boolean, and 0."""
    if pt.is_boolean(column_type) or isinstance(value, bool) or avro.type_name == "boolean":
        matches = pt.is_boolean(column_type) and isinstance(value, bool) and avro.type_name == "boolean"
        return (int(value), 0) if matches else None
    if pt.is_floating(column_type):
        source, target = ("<f", "<i") if column_type.bit_width == 32 else ("<d", "<q")
        try:
            return (struct.unpack(target, struct.pack(source, float(value)))[0], 0)
        except (TypeError, ValueError, OverflowError):
            return None
    is_time = pt.is_timestamp(column_type) or pt.is_time(column_type)
    if not isinstance(value, int) or not (is_time or pt.is_integer(column_type) or pt.is_date(column_type)):
        return None
    factor = read_factor(avro, avro, column_type) if is_time else 1
    number, limit = value * factor if factor > 0 else value // -factor, 1 << (int(column_type.bit_width) - 1)
    return (number, 0) if -limit <= number < limit else None
