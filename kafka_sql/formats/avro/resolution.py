"""Resolve a writer's schema against a table's columns, once, into a plan for the decode loop.

The rules are the specification's "Schema Resolution" as Java's Resolver implements them: names of records do not
matter. In addition, an enum can be read as STRING and a fixed as BYTES, and timestamps are converted from the
writer's unit. A logical type can be read as the column type that it represents, and as the number or bytes that it
annotates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.formats.avro import opcodes
from kafka_sql.formats.avro.decode_plan import IS_NULL, AvroDecodePlan, SchemaMismatch, child_path, non_null_branch
from kafka_sql.formats.avro.defaults import emit_missing, emit_null
from kafka_sql.formats.avro.logical_types import read_factor, represents
from kafka_sql.formats.avro.schema import AvroType, shorten
from kafka_sql.formats.columnar.column_buffers import VARIABLE, ColumnNode, build_nodes

_NANOS_PER_DAY: Final = 86_400_000_000_000


def resolve_schemas(writer: AvroType, reader: AvroType, schema: pa.Schema) -> AvroDecodePlan:
    """Return the plan that decodes payloads of ``writer`` as the schema's columns.

    Args:
        reader: a record whose fields are the columns, in their order.

    Raises:
        SchemaMismatch: the writer's schema cannot be read as the columns.
        SchemaTooLarge: the writer's schema has too many parts.
    """
    tree, slot_count = build_nodes(list(schema))
    plan = AvroDecodePlan(tree, slot_count)
    branches = writer.items if writer.type_name == "union" else (writer,)
    records = [branch for branch in branches if branch.type_name == "record"]
    if len(records) != 1:
        raise SchemaMismatch(f"the payload is {writer}, expected a record with the table's columns as its fields")

    def resolve(branch: AvroType) -> None:
        if branch.type_name != "record":
            raise SchemaMismatch(f"the payload is {branch}, expected a record with the table's columns as its fields")
        _resolve_record(plan, branch, non_null_branch(reader), tree, "")

    if writer.type_name == "union":
        _resolve_union(plan, writer, resolve, "")
    else:
        resolve(writer)
    plan.emit("", opcodes.END)
    return plan


def _resolve_union(plan: AvroDecodePlan, writer: AvroType, resolve: Callable[[AvroType], None], path: str) -> None:
    """Emit each branch of a union with ``resolve``. If a branch does not match, payloads that have it fail."""
    has_alternatives = sum(branch.type_name != "null" for branch in writer.items) > 1
    plan.alternatives += has_alternatives
    first_jump = len(plan.jumps)
    plan.emit(path, opcodes.UNION, -1, len(writer.items), first_jump)
    plan.jumps += [0] * len(writer.items)
    ends = []
    for k, branch in enumerate(writer.items):
        plan.jumps[first_jump + k] = len(plan.operations)
        operation_count, jump_count = len(plan.operations), len(plan.jumps)
        try:
            resolve(branch)
        except SchemaMismatch as e:
            plan.remove(operation_count, jump_count)
            plan.reasons.append(str(e))
            plan.emit(path, opcodes.FAIL, -1, len(plan.reasons) - 1)
        ends.append(plan.emit(path, opcodes.JUMP))
    for end in ends:
        plan.operations[end][opcodes.A] = len(plan.operations)
    plan.alternatives -= has_alternatives


def _resolve_value(plan: AvroDecodePlan, writer: AvroType, reader: AvroType, node: ColumnNode, path: str) -> None:
    if writer.type_name == "union":
        _resolve_union(plan, writer, lambda branch: _resolve_value(plan, branch, reader, node, path), path)
    elif writer.type_name == "null":
        if not node.field.nullable:
            raise SchemaMismatch(IS_NULL)
        emit_null(plan, node, path)
    else:
        non_null_reader, arrow_type = non_null_branch(reader), node.field.type
        if pt.is_struct(arrow_type):
            if writer.type_name != "record":
                raise _mismatch(writer, node)

            def emit_record() -> None:
                plan.emit(path, opcodes.NOT_NULL, node.slot)
                _resolve_record(plan, writer, non_null_reader, node.children, path)

            if plan.alternatives and writer.is_reused:
                plan.call(writer, node.slot, path, emit_record)
            else:
                emit_record()
        elif pt.is_list(arrow_type) or pt.is_map(arrow_type):
            _resolve_list(plan, writer, non_null_reader, node, path)
        else:
            _resolve_scalar(plan, writer, non_null_reader, node, path)


def _mismatch(writer: AvroType, node: ColumnNode) -> SchemaMismatch:
    return SchemaMismatch(f"found {writer}, expected a type that can be read as {node.field.type}")


def _resolve_record(
    plan: AvroDecodePlan, writer: AvroType, reader: AvroType, columns: list[ColumnNode], path: str
) -> None:
    plan.count(len(writer.fields))
    positions = {name: index for index, f in enumerate(reader.fields) for name in (*f.aliases, f.name)}
    writer_names = {f.name for f in writer.fields}
    resolved = set()
    for field_ in writer.fields:
        index = positions.get(field_.name)
        if index is not None and field_.name != reader.fields[index].name and reader.fields[index].name in writer_names:
            index = None  # matches an alias only, and another field has the name itself
        if index is None or index in resolved:
            _emit_skip(plan, field_.type, child_path(path, shorten(field_.name)))
            continue
        resolved.add(index)
        field_path = child_path(path, reader.fields[index].name)
        try:
            _resolve_value(plan, field_.type, reader.fields[index].type, columns[index], field_path)
        except SchemaMismatch as e:
            raise e if str(e).startswith("field '") else SchemaMismatch(f"field '{field_path}': {e}") from e
    for index, reader_field in enumerate(reader.fields):
        if index not in resolved:
            emit_missing(plan, reader_field, columns[index], child_path(path, reader_field.name))


def _resolve_list(plan: AvroDecodePlan, writer: AvroType, reader: AvroType, node: ColumnNode, path: str) -> None:
    is_map = pt.is_map(node.field.type)
    if writer.type_name != ("map" if is_map else "array") or reader.type_name != writer.type_name:
        raise _mismatch(writer, node)
    if not is_map and writer.element.minimum_size == 0:
        raise SchemaMismatch("an array whose elements take no bytes is not supported")

    def emit_body() -> None:
        if is_map:
            plan.emit(path, opcodes.BYTES, node.children[0].slot)
        _resolve_value(plan, writer.element, reader.element, node.children[-1], f"{path}[]")

    _emit_loop(plan, node.slot, node.children[0].slot, emit_body, path)


def _emit_loop(plan: AvroDecodePlan, slot: int, child_slot: int, emit_body: Callable[[], None], path: str) -> None:
    cell = plan.add_cell()
    start = plan.emit(path, opcodes.ARRAY, slot, child_slot, 0, cell)
    emit_body()
    plan.emit(path, opcodes.NEXT, slot, start + 1, len(plan.operations) + 1, cell)
    plan.operations[start][opcodes.B] = len(plan.operations)


def _resolve_scalar(plan: AvroDecodePlan, writer: AvroType, reader: AvroType, node: ColumnNode, path: str) -> None:
    arrow_type, type_name = node.field.type, writer.type_name
    size = opcodes.INT_SIZE if type_name == "int" else opcodes.LONG_SIZE
    is_number, holds_int = type_name in ("int", "long"), pt.is_integer(arrow_type) or pt.is_date(arrow_type)
    if not represents(writer, arrow_type):
        raise _mismatch(writer, node)
    if pt.is_boolean(arrow_type) and type_name == "boolean":
        plan.emit(path, opcodes.BOOLEAN, node.slot)
    elif (pt.is_int64(arrow_type) and is_number) or (holds_int and type_name == "int"):
        plan.emit(path, opcodes.INTEGER, node.slot, size)
    elif pt.is_floating(arrow_type) and is_number:
        opcode = opcodes.INTEGER_TO_FLOAT if arrow_type.bit_width == 32 else opcodes.INTEGER_TO_DOUBLE
        plan.emit(path, opcode, node.slot, size)
    elif pt.is_floating(arrow_type) and type_name == "float":
        plan.emit(path, opcodes.FLOAT if arrow_type.bit_width == 32 else opcodes.FLOAT_TO_DOUBLE, node.slot)
    elif pt.is_float64(arrow_type) and type_name == "double":
        plan.emit(path, opcodes.DOUBLE, node.slot)
    elif pt.is_timestamp(arrow_type) and is_number:
        plan.emit(path, opcodes.SCALED, node.slot, size, read_factor(writer, reader, arrow_type))
    elif pt.is_time(arrow_type) and is_number:
        plan.emit(path, opcodes.TIME, node.slot, size, read_factor(writer, reader, arrow_type), _NANOS_PER_DAY)
    elif pt.is_decimal(arrow_type) and type_name in ("bytes", "fixed"):
        _emit_decimal(plan, writer, node, path)
    elif node.width == VARIABLE and type_name in ("string", "bytes"):
        plan.emit(path, opcodes.BYTES, node.slot)
    elif (pt.is_binary(arrow_type) or pt.is_large_binary(arrow_type)) and type_name == "fixed":
        plan.emit(path, opcodes.FIXED, node.slot, writer.size)
    elif (pt.is_string(arrow_type) or pt.is_large_string(arrow_type)) and type_name == "enum":
        plan.emit(path, opcodes.ENUM, node.slot, len(writer.symbols), plan.add_symbols(writer, reader))
    else:
        raise _mismatch(writer, node)


def _emit_decimal(plan: AvroDecodePlan, writer: AvroType, node: ColumnNode, path: str) -> None:
    arrow_type = node.field.type
    if writer.logical_type == "decimal" and writer.scale != arrow_type.scale:
        raise SchemaMismatch(
            f"found a decimal of scale {writer.scale}, expected DECIMAL({arrow_type.precision}, {arrow_type.scale})"
        )
    opcode = opcodes.DECIMAL if writer.type_name == "bytes" else opcodes.DECIMAL_FIXED
    plan.emit(path, opcode, node.slot, writer.size, 0, int(node.field.nullable))


def _emit_skip(plan: AvroDecodePlan, avro: AvroType, path: str) -> None:
    is_reused = avro.is_reused
    while len(avro.parts) == 1:  # so that no operation is for less than a byte
        avro = avro.parts[0]
        is_reused |= avro.is_reused
    if avro.minimum_size == 0:
        return
    if avro.type_name in ("int", "long", "enum"):
        plan.emit(path, opcodes.SKIP_NUMBER)
    elif avro.type_name in ("bytes", "string"):
        plan.emit(path, opcodes.SKIP_BYTES)
    elif avro.depth and is_reused:
        plan.call(avro, -1, path, lambda: _emit_skip_parts(plan, avro, path))
    elif avro.depth:
        _emit_skip_parts(plan, avro, path)
    else:
        plan.emit(path, opcodes.SKIP_FIXED, -1, avro.minimum_size)


def _emit_skip_parts(plan: AvroDecodePlan, avro: AvroType, path: str) -> None:
    """Emit what skips a type that contains others."""

    def emit_element() -> None:
        if avro.type_name == "map":
            plan.emit(path, opcodes.SKIP_BYTES)
        _emit_skip(plan, avro.element, path)

    if avro.type_name == "record":
        for part in avro.parts:
            _emit_skip(plan, part, path)
    elif avro.type_name == "union":
        _resolve_union(plan, avro, lambda branch: _emit_skip(plan, branch, path), path)
    elif avro.type_name == "array" and avro.element.minimum_size == 0:
        plan.emit(path, opcodes.SKIP_BLOCKS)
    else:
        _emit_loop(plan, -1, 0, emit_element, path)
