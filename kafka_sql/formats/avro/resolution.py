"""A writer's schema and a table's columns to a reading program: Avro's schema resolution, done once.

Rules: the specification, "Schema Resolution", as Java's Resolver carries them out: names of records do not matter.
Beyond them, an enum is read as STRING, a fixed as BYTES, and a timestamp by the unit that its writer says.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.formats.avro import opcodes as i
from kafka_sql.formats.avro.schema import NO_DEFAULT, AvroField, AvroType
from kafka_sql.formats.columnar.column_buffers import ColumnNode, build_nodes

_MICROS: Final = {"millis": 1000, "micros": 1, "nanos": -1000}  # what makes microseconds of a unit
_NANOS: Final = {"millis": 1_000_000, "micros": 1000}
_DAY: Final = 86_400_000_000_000


class SchemaMismatch(Exception):
    """A writer's schema that cannot be read as the table's columns; says where and why."""


@dataclass
class DecodePlan:
    """A program.

    Attributes:
        tree: the columns and their slots.
        slots: how many there are.
        paths: the column's path for each instruction.
        reasons: what FAIL says.
        depth: of arrays in arrays.
    """

    tree: list[ColumnNode]
    slots: int
    rows: list[list[int]] = field(default_factory=list)
    jumps: list[int] = field(default_factory=list)
    texts: bytearray = field(default_factory=bytearray)
    places: list[tuple[int, int]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    depth: int = 0

    def __post_init__(self) -> None:
        self.level = 0

    def emit(self, path: str, op: int, slot: int = -1, a: int = 0, b: int = 0, c: int = 0) -> int:
        """Add an instruction; its index."""
        self.rows.append([op, slot, a, b, c, 0])
        self.paths.append(path)
        return len(self.rows) - 1

    def place(self, text: bytes) -> int:
        """The place of a text that no payload has."""
        self.places.append((len(self.texts), len(text)))
        self.texts += text
        return len(self.places) - 1

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Program, jumps, texts and places, as the kernel wants them."""
        return (
            np.array(self.rows, np.int64),
            np.array(self.jumps or [0], np.int64),
            np.frombuffer(bytes(self.texts) or b"\0", np.uint8),
            np.array(self.places or [(0, 0)], np.int64),
        )


def resolve_schemas(writer: AvroType, reader: AvroType, schema: pa.Schema) -> DecodePlan:
    """The program that reads payloads of ``writer`` as the schema's columns.

    Args:
        reader: a record whose fields are the columns, in their order.

    Raises:
        Mismatch: it cannot be done.
    """
    tree, slots = build_nodes(list(schema))
    found = DecodePlan(tree, slots)
    writers = [t for t in (writer.items if writer.type_name == "union" else (writer,)) if t.type_name == "record"]
    if len(writers) != 1:
        raise SchemaMismatch(f"the payload is {writer}, expected a record with the table's columns as its fields")
    if writer.type_name == "union":
        _union(found, writer, lambda branch: _record(found, branch, _bare(reader), tree, ""), "")
    else:
        _record(found, writer, _bare(reader), tree, "")
    found.emit("", i.END)
    return found


def _union(p: DecodePlan, writer: AvroType, read: Any, path: str) -> None:
    """Each branch in its turn; one that cannot be read fails when it is met."""
    base = len(p.jumps)
    p.emit(path, i.UNION, -1, len(writer.items), base)
    p.jumps += [0] * len(writer.items)
    ends = []
    for k, branch in enumerate(writer.items):
        p.jumps[base + k] = len(p.rows)
        mark = len(p.rows), len(p.jumps)
        try:
            read(branch)
        except SchemaMismatch as e:
            del p.rows[mark[0] :], p.paths[mark[0] :], p.jumps[mark[1] :]
            p.reasons.append(str(e))
            p.emit(path, i.FAIL, -1, len(p.reasons) - 1)
        ends.append(p.emit(path, i.JUMP))
    for end in ends:
        p.rows[end][i.A] = len(p.rows)


def _bare(t: AvroType) -> AvroType:
    """A union of null and one other as the other."""
    others = [b for b in t.items if b.type_name != "null"] if t.type_name == "union" else [t]
    if len(others) != 1:
        raise SchemaMismatch(f"{t} is a union of several types, which no column has")
    return others[0]


def _value(p: DecodePlan, writer: AvroType, reader: AvroType, node: ColumnNode, path: str) -> None:
    if writer.type_name == "union":
        _union(p, writer, lambda branch: _value(p, branch, reader, node, path), path)
    elif writer.type_name == "null":
        if not node.field.nullable:
            raise SchemaMismatch("is null, but declared NOT NULL")
        _null(p, node, path)
    else:
        inner = _bare(reader)
        t = node.field.type
        if pt.is_struct(t):
            if writer.type_name != "record":
                raise _expected(writer, node)
            p.emit(path, i.PRESENT, node.slot)
            _record(p, writer, inner, node.children, path)
        elif pt.is_list(t) or pt.is_map(t):
            _array(p, writer, inner, node, path)
        else:
            _scalar(p, writer, inner, node, path)


def _expected(writer: AvroType, node: ColumnNode) -> SchemaMismatch:
    return SchemaMismatch(f"found {writer}, expected what can be read as {node.field.type}")


def _null(p: DecodePlan, node: ColumnNode, path: str) -> None:
    p.emit(path, i.NULL, node.slot, node.children[0].slot if node.width == -2 else 0)
    if node.width == 0:
        for child in node.children:
            _null(p, child, path)


def _record(p: DecodePlan, writer: AvroType, reader: AvroType, columns: list[ColumnNode], path: str) -> None:
    places = {name: k for k, f in enumerate(reader.fields) for name in (*f.aliases, f.name)}
    names = {f.name for f in writer.fields}
    seen = set()
    for one in writer.fields:
        k = places.get(one.name)
        if k is not None and one.name != reader.fields[k].name and reader.fields[k].name in names:
            k = None  # an alias, where the name itself is there
        if k is None or k in seen:
            _skip(p, one.type, _join(path, one.name))
            continue
        seen.add(k)
        inside = _join(path, reader.fields[k].name)
        try:
            _value(p, one.type, reader.fields[k].type, columns[k], inside)
        except SchemaMismatch as e:
            raise e if str(e).startswith("field '") else SchemaMismatch(f"field '{inside}': {e}") from e
    for k, missing in enumerate(reader.fields):
        if k not in seen:
            _missing(p, missing, columns[k], _join(path, missing.name))


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _missing(p: DecodePlan, reader: AvroField, node: ColumnNode, path: str) -> None:
    if reader.default is NO_DEFAULT:
        raise SchemaMismatch(f"field '{path}': missing required field {reader.name}, which has no default")
    first = reader.type.items[0] if reader.type.type_name == "union" else reader.type
    _default(p, reader.default, first, node, path)


def _default(p: DecodePlan, value: Any, t: AvroType, node: ColumnNode, path: str) -> None:
    kind = node.field.type
    if value is None:
        _null(p, node, path)
    elif isinstance(value, str) and node.width == -1:
        p.emit(
            path, i.TEXT, node.slot, p.place(value.encode("latin-1" if t.type_name in ("bytes", "fixed") else "utf-8"))
        )
    elif not value and node.width == -2:
        p.emit(path, i.EMPTY, node.slot, node.children[0].slot)
    elif pt.is_floating(kind) and isinstance(value, int | float | str):
        fmt, bits = ("<f", "<i") if kind.bit_width == 32 else ("<d", "<q")
        p.emit(path, i.CONSTANT, node.slot, struct.unpack(bits, struct.pack(fmt, float(value)))[0])
    elif isinstance(value, int) and node.width in (1, 2, 4, 8):
        scale = read_factor(t, t, kind) if pt.is_timestamp(kind) or pt.is_time(kind) else 1
        p.emit(path, i.CONSTANT, node.slot, value * scale if scale > 0 else value // -scale)
    elif isinstance(value, dict) and node.width == 0:
        p.emit(path, i.PRESENT, node.slot)
        for f, child in zip(t.fields, node.children, strict=True):
            inside = _join(path, f.name)
            if f.name in value:
                first = f.type.items[0] if f.type.type_name == "union" else f.type
                _default(p, value[f.name], first, child, inside)
            else:
                _missing(p, f, child, inside)
    else:
        raise SchemaMismatch(f"field '{path}': the default {value!r} is not supported")


def _array(p: DecodePlan, writer: AvroType, reader: AvroType, node: ColumnNode, path: str) -> None:
    is_map = pt.is_map(node.field.type)
    if writer.type_name != ("map" if is_map else "array") or reader.type_name != writer.type_name:
        raise _expected(writer, node)
    if not is_map and minimum_size(writer.element) == 0:
        raise SchemaMismatch("an array whose elements have no bytes is not supported")
    item = node.children[-1]

    def body() -> None:
        if is_map:
            p.emit(path, i.BYTES, node.children[0].slot)
        _value(p, writer.element, reader.element, item, f"{path}[]")

    _loop(p, node.slot, node.children[0].slot, body, path)


def _loop(p: DecodePlan, slot: int, child: int, body: Any, path: str) -> None:
    level = p.level
    p.level += 1
    p.depth = max(p.depth, p.level)
    start = p.emit(path, i.ARRAY, slot, child, 0, level)
    body()
    p.emit(path, i.NEXT, slot, start + 1, len(p.rows) + 1, level)
    p.rows[start][i.B] = len(p.rows)
    p.level -= 1


def _scalar(p: DecodePlan, writer: AvroType, reader: AvroType, node: ColumnNode, path: str) -> None:
    t, kind = node.field.type, writer.type_name
    short = int(kind == "int")
    number = kind in ("int", "long")
    if pt.is_boolean(t) and kind == "boolean":
        p.emit(path, i.BOOLEAN, node.slot)
    elif (pt.is_integer(t) and t.bit_width < 64) or pt.is_date(t):
        if kind != "int":
            raise _expected(writer, node)
        p.emit(path, {8: i.BYTE, 16: i.SHORT, 32: i.INT}[t.bit_width], node.slot)
    elif pt.is_integer(t) and number:
        p.emit(path, i.LONG, node.slot, short)
    elif pt.is_floating(t) and number:
        p.emit(path, i.LONG_TO_FLOAT if t.bit_width == 32 else i.LONG_TO_DOUBLE, node.slot, short)
    elif pt.is_floating(t) and kind == "float":
        p.emit(path, i.FLOAT if t.bit_width == 32 else i.FLOAT_TO_DOUBLE, node.slot)
    elif pt.is_float64(t) and kind == "double":
        p.emit(path, i.DOUBLE, node.slot)
    elif pt.is_timestamp(t) and number:
        p.emit(path, i.SCALED, node.slot, read_factor(writer, reader, t), short)
    elif pt.is_time(t) and number:
        p.emit(path, i.TIME, node.slot, read_factor(writer, reader, t), short, _DAY)
    elif pt.is_decimal(t) and kind in ("bytes", "fixed"):
        _decimal(p, writer, node, path)
    elif node.width == -1 and kind in ("string", "bytes"):
        p.emit(path, i.BYTES, node.slot)
    elif (pt.is_binary(t) or pt.is_large_binary(t)) and kind == "fixed":
        p.emit(path, i.FIXED, node.slot, writer.size)
    elif (pt.is_string(t) or pt.is_large_string(t)) and kind == "enum":
        _enum(p, writer, reader, node, path)
    else:
        raise _expected(writer, node)


def read_factor(writer: AvroType, reader: AvroType, t: pa.DataType) -> int:
    """What makes the column's unit of the writer's: a factor, or a divisor below zero.

    Where the writer has no unit, it is the reader's.
    """
    units = _NANOS if pt.is_time(t) else _MICROS
    for one in (writer, reader):
        unit = one.logical_type.rpartition("-")[2]
        if unit in units:
            return units[unit]
    return units["millis"]


def _decimal(p: DecodePlan, writer: AvroType, node: ColumnNode, path: str) -> None:
    t = node.field.type
    if writer.logical_type == "decimal" and writer.scale != t.scale:
        raise SchemaMismatch(f"found a decimal of scale {writer.scale}, expected DECIMAL({t.precision}, {t.scale})")
    op = i.DECIMAL if writer.type_name == "bytes" else i.DECIMAL_FIXED
    p.emit(path, op, node.slot, writer.size, 0, int(node.field.nullable))


def _enum(p: DecodePlan, writer: AvroType, reader: AvroType, node: ColumnNode, path: str) -> None:
    base = len(p.places)
    for symbol in writer.symbols:
        known = reader.type_name != "enum" or symbol in reader.symbols
        text = symbol if known else reader.default
        p.place((text or "").encode())
        if text is None:
            p.places[-1] = (0, -1)
    p.emit(path, i.ENUM, node.slot, len(writer.symbols), base)


def _skip(p: DecodePlan, t: AvroType, path: str) -> None:
    if t.type_name in ("int", "long", "enum"):
        p.emit(path, i.SKIP_NUMBER)
    elif t.type_name in ("bytes", "string"):
        p.emit(path, i.SKIP_BYTES)
    elif t.type_name == "record":
        for f in t.fields:
            _skip(p, f.type, path)
    elif t.type_name == "union":
        _union(p, t, lambda branch: _skip(p, branch, path), path)
    elif t.type_name == "map":

        def entry() -> None:
            p.emit(path, i.SKIP_BYTES)
            _skip(p, t.element, path)

        _loop(p, -1, 0, entry, path)
    elif t.type_name == "array":
        if minimum_size(t.element) == 0:
            p.emit(path, i.SKIP_BLOCKS)
        else:
            _loop(p, -1, 0, lambda: _skip(p, t.element, path), path)
    elif t.type_name != "null":
        p.emit(path, i.SKIP_FIXED, -1, {"boolean": 1, "float": 4, "double": 8, "fixed": t.size}[t.type_name])


def minimum_size(t: AvroType) -> int:
    """The least number of bytes that a value takes."""
    if t.type_name == "record":
        return sum(minimum_size(f.type) for f in t.fields)
    return {"null": 0, "fixed": t.size, "float": 4, "double": 8}.get(t.type_name, 1)
