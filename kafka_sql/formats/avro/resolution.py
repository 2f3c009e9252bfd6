"""Resolve a writer's schema against a table's columns, once, into a plan for the decode loop.

The rules are the specification's "Schema Resolution" as Java's Resolver implements them: names of records do not
matter. In addition, an enum can be read as STRING and a fixed as BYTES, and timestamps are converted from the
writer's unit.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.formats.avro import opcodes
from kafka_sql.formats.avro.schema import NO_DEFAULT, AvroField, AvroType
from kafka_sql.formats.columnar.column_buffers import LIST, STRUCT, VARIABLE, ColumnNode, build_nodes

_TO_MICROS: Final = {"millis": 1000, "micros": 1, "nanos": -1000}  # factors; a divisor is negative
_TO_NANOS: Final = {"millis": 1_000_000, "micros": 1000}
_NANOS_PER_DAY: Final = 86_400_000_000_000


class SchemaMismatch(Exception):
    """A writer's schema cannot be read as the table's columns; the message says where and why."""


class PlanTables(NamedTuple):
    """A plan as the decode loop takes it; see ``decode_kernels.Batch``."""

    operations: npt.NDArray[np.int64]
    jumps: npt.NDArray[np.int64]
    literals: npt.NDArray[np.uint8]
    literal_ranges: npt.NDArray[np.int64]


@dataclass
class DecodePlan:
    """The operations that decode a payload.

    Attributes:
        tree: the columns and their slots.
        slot_count: number of slots.
        operations: rows of OPERATION_CELLS.
        paths: the path of the column, per operation.
        reasons: messages of FAIL operations.
        max_depth: the deepest nesting of arrays in arrays.
        depth: the nesting at the operation that is added next.
    """

    tree: list[ColumnNode]
    slot_count: int
    operations: list[list[int]] = field(default_factory=list)
    jumps: list[int] = field(default_factory=list)
    literals: bytearray = field(default_factory=bytearray)
    literal_ranges: list[tuple[int, int]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    max_depth: int = 0
    depth: int = 0

    def emit(self, path: str, opcode: int, slot: int = -1, a: int = 0, b: int = 0, c: int = 0) -> int:
        """Add an operation; return its number."""
        self.operations.append([opcode, slot, a, b, c])
        self.paths.append(path)
        return len(self.operations) - 1

    def add_literal(self, value: bytes) -> int:
        """Add bytes that do not come from a payload, such as an enum's symbol; return the literal's number."""
        self.literal_ranges.append((len(self.literals), len(value)))
        self.literals += value
        return len(self.literal_ranges) - 1

    def tables(self) -> PlanTables:
        """Return the plan as arrays."""
        return PlanTables(
            np.array(self.operations, np.int64),
            np.array(self.jumps or [0], np.int64),
            np.frombuffer(bytes(self.literals) or b"\0", np.uint8),
            np.array(self.literal_ranges or [(0, 0)], np.int64),
        )


def resolve_schemas(writer: AvroType, reader: AvroType, schema: pa.Schema) -> DecodePlan:
    """Return the plan that decodes payloads of ``writer`` as the schema's columns.

    Args:
        reader: a record whose fields are the columns, in their order.

    Raises:
        SchemaMismatch: the writer's schema cannot be read as the columns.
    """
    tree, slot_count = build_nodes(list(schema))
    plan = DecodePlan(tree, slot_count)
    branches = writer.items if writer.type_name == "union" else (writer,)
    records = [branch for branch in branches if branch.type_name == "record"]
    if len(records) != 1:
        raise SchemaMismatch(f"the payload is {writer}, expected a record with the table's columns as its fields")
    if writer.type_name == "union":
        _resolve_union(plan, writer, lambda branch: _resolve_record(plan, branch, _non_null(reader), tree, ""), "")
    else:
        _resolve_record(plan, writer, _non_null(reader), tree, "")
    plan.emit("", opcodes.END)
    return plan


def _resolve_union(plan: DecodePlan, writer: AvroType, resolve: Callable[[AvroType], None], path: str) -> None:
    """Emit each branch of a union with ``resolve``. If a branch does not match, payloads that have it fail."""
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
            del plan.operations[operation_count:], plan.paths[operation_count:], plan.jumps[jump_count:]
            plan.reasons.append(str(e))
            plan.emit(path, opcodes.FAIL, -1, len(plan.reasons) - 1)
        ends.append(plan.emit(path, opcodes.JUMP))
    for end in ends:
        plan.operations[end][opcodes.A] = len(plan.operations)


def _non_null(avro: AvroType) -> AvroType:
    """Return the non-null branch of a union of null and one type, or the type itself if it is not a union."""
    branches = [b for b in avro.items if b.type_name != "null"] if avro.type_name == "union" else [avro]
    if len(branches) != 1:
        raise SchemaMismatch(f"{avro} is a union of several types, which no column type can hold")
    return branches[0]


def _resolve_value(plan: DecodePlan, writer: AvroType, reader: AvroType, node: ColumnNode, path: str) -> None:
    if writer.type_name == "union":
        _resolve_union(plan, writer, lambda branch: _resolve_value(plan, branch, reader, node, path), path)
    elif writer.type_name == "null":
        if not node.field.nullable:
            raise SchemaMismatch("is null, but declared NOT NULL")
        _emit_null(plan, node, path)
    else:
        non_null_reader, arrow_type = _non_null(reader), node.field.type
        if pt.is_struct(arrow_type):
            if writer.type_name != "record":
                raise _mismatch(writer, node)
            plan.emit(path, opcodes.NOT_NULL, node.slot)
            _resolve_record(plan, writer, non_null_reader, node.children, path)
        elif pt.is_list(arrow_type) or pt.is_map(arrow_type):
            _resolve_list(plan, writer, non_null_reader, node, path)
        else:
            _resolve_scalar(plan, writer, non_null_reader, node, path)


def _mismatch(writer: AvroType, node: ColumnNode) -> SchemaMismatch:
    return SchemaMismatch(f"found {writer}, expected a type that can be read as {node.field.type}")


def _emit_null(plan: DecodePlan, node: ColumnNode, path: str) -> None:
    plan.emit(path, opcodes.NULL, node.slot, node.children[0].slot if node.width == LIST else 0)
    if node.width == STRUCT:
        for child in node.children:
            _emit_null(plan, child, path)


def _resolve_record(plan: DecodePlan, writer: AvroType, reader: AvroType, columns: list[ColumnNode], path: str) -> None:
    positions = {name: index for index, f in enumerate(reader.fields) for name in (*f.aliases, f.name)}
    writer_names = {f.name for f in writer.fields}
    resolved = set()
    for field_ in writer.fields:
        index = positions.get(field_.name)
        if index is not None and field_.name != reader.fields[index].name and reader.fields[index].name in writer_names:
            index = None  # matches an alias only, and another field has the name itself
        if index is None or index in resolved:
            _emit_skip(plan, field_.type, _child_path(path, field_.name))
            continue
        resolved.add(index)
        child_path = _child_path(path, reader.fields[index].name)
        try:
            _resolve_value(plan, field_.type, reader.fields[index].type, columns[index], child_path)
        except SchemaMismatch as e:
            raise e if str(e).startswith("field '") else SchemaMismatch(f"field '{child_path}': {e}") from e
    for index, reader_field in enumerate(reader.fields):
        if index not in resolved:
            _emit_missing(plan, reader_field, columns[index], _child_path(path, reader_field.name))


def _child_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _emit_missing(plan: DecodePlan, reader: AvroField, node: ColumnNode, path: str) -> None:
    if reader.default is NO_DEFAULT:
        raise SchemaMismatch(f"field '{path}': missing required field {reader.name}, which has no default")
    _emit_default(plan, reader.default, _default_type(reader), node, path)


def _default_type(avro_field: AvroField) -> AvroType:
    """Return the type of a field's default: the first branch of a union."""
    avro = avro_field.type
    return avro.items[0] if avro.type_name == "union" else avro


def _emit_default(plan: DecodePlan, value: Any, avro: AvroType, node: ColumnNode, path: str) -> None:
    column_type = node.field.type
    if value is None:
        _emit_null(plan, node, path)
    elif isinstance(value, str) and node.width == VARIABLE:
        charset = "latin-1" if avro.type_name in ("bytes", "fixed") else "utf-8"
        plan.emit(path, opcodes.LITERAL, node.slot, plan.add_literal(value.encode(charset)))
    elif not value and node.width == LIST:
        plan.emit(path, opcodes.EMPTY, node.slot, node.children[0].slot)
    elif pt.is_floating(column_type) and isinstance(value, int | float | str):
        source, target = ("<f", "<i") if column_type.bit_width == 32 else ("<d", "<q")
        plan.emit(path, opcodes.CONSTANT, node.slot, struct.unpack(target, struct.pack(source, float(value)))[0])
    elif isinstance(value, int) and node.width in (1, 2, 4, 8):
        factor = read_factor(avro, avro, column_type) if pt.is_timestamp(column_type) or pt.is_time(column_type) else 1
        plan.emit(path, opcodes.CONSTANT, node.slot, value * factor if factor > 0 else value // -factor)
    elif isinstance(value, dict) and node.width == STRUCT:
        plan.emit(path, opcodes.NOT_NULL, node.slot)
        for f, child in zip(avro.fields, node.children, strict=True):
            child_path = _child_path(path, f.name)
            if f.name in value:
                _emit_default(plan, value[f.name], _default_type(f), child, child_path)
            else:
                _emit_missing(plan, f, child, child_path)
    else:
        raise SchemaMismatch(f"field '{path}': the default {value!r} is not supported")


def _resolve_list(plan: DecodePlan, writer: AvroType, reader: AvroType, node: ColumnNode, path: str) -> None:
    is_map = pt.is_map(node.field.type)
    if writer.type_name != ("map" if is_map else "array") or reader.type_name != writer.type_name:
        raise _mismatch(writer, node)
    if not is_map and minimum_size(writer.element) == 0:
        raise SchemaMismatch("an array whose elements take no bytes is not supported")

    def emit_body() -> None:
        if is_map:
            plan.emit(path, opcodes.BYTES, node.children[0].slot)
        _resolve_value(plan, writer.element, reader.element, node.children[-1], f"{path}[]")

    _emit_loop(plan, node.slot, node.children[0].slot, emit_body, path)


def _emit_loop(plan: DecodePlan, slot: int, child_slot: int, emit_body: Callable[[], None], path: str) -> None:
    depth = plan.depth
    plan.depth += 1
    plan.max_depth = max(plan.max_depth, plan.depth)
    start = plan.emit(path, opcodes.ARRAY, slot, child_slot, 0, depth)
    emit_body()
    plan.emit(path, opcodes.NEXT, slot, start + 1, len(plan.operations) + 1, depth)
    plan.operations[start][opcodes.B] = len(plan.operations)
    plan.depth -= 1


def _resolve_scalar(plan: DecodePlan, writer: AvroType, reader: AvroType, node: ColumnNode, path: str) -> None:
    arrow_type, type_name = node.field.type, writer.type_name
    is_int = int(type_name == "int")
    is_number = type_name in ("int", "long")
    if pt.is_boolean(arrow_type) and type_name == "boolean":
        plan.emit(path, opcodes.BOOLEAN, node.slot)
    elif (pt.is_integer(arrow_type) and arrow_type.bit_width < 64) or pt.is_date(arrow_type):
        if type_name != "int":
            raise _mismatch(writer, node)
        plan.emit(path, {8: opcodes.BYTE, 16: opcodes.SHORT, 32: opcodes.INT}[arrow_type.bit_width], node.slot)
    elif pt.is_integer(arrow_type) and is_number:
        plan.emit(path, opcodes.LONG, node.slot, is_int)
    elif pt.is_floating(arrow_type) and is_number:
        plan.emit(
            path, opcodes.LONG_TO_FLOAT if arrow_type.bit_width == 32 else opcodes.LONG_TO_DOUBLE, node.slot, is_int
        )
    elif pt.is_floating(arrow_type) and type_name == "float":
        plan.emit(path, opcodes.FLOAT if arrow_type.bit_width == 32 else opcodes.FLOAT_TO_DOUBLE, node.slot)
    elif pt.is_float64(arrow_type) and type_name == "double":
        plan.emit(path, opcodes.DOUBLE, node.slot)
    elif pt.is_timestamp(arrow_type) and is_number:
        plan.emit(path, opcodes.SCALED, node.slot, read_factor(writer, reader, arrow_type), is_int)
    elif pt.is_time(arrow_type) and is_number:
        plan.emit(path, opcodes.TIME, node.slot, read_factor(writer, reader, arrow_type), is_int, _NANOS_PER_DAY)
    elif pt.is_decimal(arrow_type) and type_name in ("bytes", "fixed"):
        _emit_decimal(plan, writer, node, path)
    elif node.width == VARIABLE and type_name in ("string", "bytes"):
        plan.emit(path, opcodes.BYTES, node.slot)
    elif (pt.is_binary(arrow_type) or pt.is_large_binary(arrow_type)) and type_name == "fixed":
        plan.emit(path, opcodes.FIXED, node.slot, writer.size)
    elif (pt.is_string(arrow_type) or pt.is_large_string(arrow_type)) and type_name == "enum":
        _emit_enum(plan, writer, reader, node, path)
    else:
        raise _mismatch(writer, node)


def read_factor(writer: AvroType, reader: AvroType, arrow_type: pa.DataType) -> int:
    """Return the factor from the writer's time unit to the column's; a divisor is negative.

    If the writer's schema has no unit, it is the reader's.
    """
    units = _TO_NANOS if pt.is_time(arrow_type) else _TO_MICROS
    for avro in (writer, reader):
        unit = avro.logical_type.rpartition("-")[2]
        if unit in units:
            return units[unit]
    return units["millis"]


def _emit_decimal(plan: DecodePlan, writer: AvroType, node: ColumnNode, path: str) -> None:
    arrow_type = node.field.type
    if writer.logical_type == "decimal" and writer.scale != arrow_type.scale:
        raise SchemaMismatch(
            f"found a decimal of scale {writer.scale}, expected DECIMAL({arrow_type.precision}, {arrow_type.scale})"
        )
    opcode = opcodes.DECIMAL if writer.type_name == "bytes" else opcodes.DECIMAL_FIXED
    plan.emit(path, opcode, node.slot, writer.size, 0, int(node.field.nullable))


def _emit_enum(plan: DecodePlan, writer: AvroType, reader: AvroType, node: ColumnNode, path: str) -> None:
    first_literal = len(plan.literal_ranges)
    for symbol in writer.symbols:
        is_known = reader.type_name != "enum" or symbol in reader.symbols
        value = symbol if is_known else reader.default
        plan.add_literal((value or "").encode())
        if value is None:
            plan.literal_ranges[-1] = (0, -1)
    plan.emit(path, opcodes.ENUM, node.slot, len(writer.symbols), first_literal)


def _emit_skip(plan: DecodePlan, avro: AvroType, path: str) -> None:
    if avro.type_name in ("int", "long", "enum"):
        plan.emit(path, opcodes.SKIP_NUMBER)
    elif avro.type_name in ("bytes", "string"):
        plan.emit(path, opcodes.SKIP_BYTES)
    elif avro.type_name == "record":
        for f in avro.fields:
            _emit_skip(plan, f.type, path)
    elif avro.type_name == "union":
        _resolve_union(plan, avro, lambda branch: _emit_skip(plan, branch, path), path)
    elif avro.type_name == "map":

        def emit_entry() -> None:
            plan.emit(path, opcodes.SKIP_BYTES)
            _emit_skip(plan, avro.element, path)

        _emit_loop(plan, -1, 0, emit_entry, path)
    elif avro.type_name == "array":
        if minimum_size(avro.element) == 0:
            plan.emit(path, opcodes.SKIP_BLOCKS)
        else:
            _emit_loop(plan, -1, 0, lambda: _emit_skip(plan, avro.element, path), path)
    elif avro.type_name != "null":
        plan.emit(
            path, opcodes.SKIP_FIXED, -1, {"boolean": 1, "float": 4, "double": 8, "fixed": avro.size}[avro.type_name]
        )


def minimum_size(avro: AvroType) -> int:
    """Return the smallest number of bytes that a value takes."""
    if avro.type_name == "record":
        return sum(minimum_size(f.type) for f in avro.fields)
    return {"null": 0, "fixed": avro.size, "float": 4, "double": 8}.get(avro.type_name, 1)
