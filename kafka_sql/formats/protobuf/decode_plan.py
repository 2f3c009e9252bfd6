"""A message's columns to a reading program."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from kafka_sql.formats.columnar.column_buffers import ColumnNode, build_nodes
from kafka_sql.formats.protobuf import opcodes as i
from kafka_sql.formats.protobuf.field_mapping import FieldMapping, map_fields
from kafka_sql.formats.protobuf.from_wire_columns import columns_converter

_INT64: Final = 2**63
Table: TypeAlias = npt.NDArray[Any]


@dataclass
class DecodePlan:
    """A program.

    Attributes:
        tree: the columns as the loops have them, and their slots.
        finish: makes the table's columns of them.
        slots: how many there are.
        paths: the column's path of each field.
        depth: of messages in messages.
    """

    columns: tuple[FieldMapping, ...]
    tree: list[ColumnNode]
    slots: int
    finish: Callable[[list[pa.Array], int], list[pa.Array]]
    read_defaults: bool
    fields: list[list[int]] = field(default_factory=list)
    messages: list[list[int]] = field(default_factory=list)
    inits: list[list[int]] = field(default_factory=list)
    members: list[int] = field(default_factory=list)
    constants: list[int] = field(default_factory=lambda: [0])
    texts: bytearray = field(default_factory=bytearray)
    places: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    paths: list[str] = field(default_factory=list)
    depth: int = 1

    def arrays(self) -> tuple[Table, Table, Table, Table, Table, Table, Table]:
        """Fields, messages, inits, members, constants, texts and places, as the kernel wants them."""
        return (
            np.array(self.fields, np.int64).reshape(-1, i.FIELD_WIDTH),
            np.array(self.messages, np.int64),
            np.array(self.inits, np.int64).reshape(-1, 3),
            np.array(self.members or [0], np.int64),
            np.array(self.constants, np.int64),
            np.frombuffer(bytes(self.texts) or b"\0", np.uint8),
            np.array(self.places, np.int64),
        )


def plan_decoding(schema: pa.Schema, message: Descriptor, read_defaults: bool, evolving: bool = False) -> DecodePlan:
    """The program that reads messages as the schema's columns.

    Args:
        evolving: as of ``columns``.

    Raises:
        SchemaError: a column has no field, or one of another type.
    """
    found = map_fields(schema, message, "", evolving)
    tree, slots = build_nodes([column.wire for column in found])
    made = DecodePlan(found, tree, slots, columns_converter(schema, found), read_defaults)
    made.messages.append([])  # the whole is the first
    made.messages[0] = _message(made, message, list(zip(found, tree, strict=True)), [], 1)
    return made


def _message(
    p: DecodePlan, message: Descriptor, known: list[tuple[FieldMapping, ColumnNode]], first: list[list[int]], depth: int
) -> list[int]:
    """A message's entry; its fields and those of the messages in it.

    Args:
        first: what is done for an entry of it, besides for its columns.
    """
    p.depth = max(p.depth, depth)
    rows: dict[int, list[int]] = {}
    paths: dict[int, str] = {}
    inits = [*first]
    for column, node in known:
        fd = column.fd
        rows[fd.number] = _repeated(p, column, node, depth) if column.is_repeated else _single(p, column, node, depth)
        paths[fd.number] = column.path
        inits += _init(p, column, node)
    for fd in message.fields:  # what is no column, but counts
        counts = is_required(fd) or any(f.number in rows for f in _oneof(fd))
        if fd.number not in rows and counts:
            rows[fd.number] = [fd.number, i.SKIPPED, -1, 0, 0, -1, 0, 0, 0]
            paths[fd.number] = fd.name
    base, order = len(p.fields), sorted(rows)
    for number in order:
        oneof = [base + order.index(f.number) for f in _oneof(message.fields_by_number[number]) if f.number in rows]
        rows[number][i.MEMBERS], rows[number][i.MEMBER_COUNT] = len(p.members), len(oneof)
        p.members += oneof
        p.fields.append(rows[number])
        p.paths.append(paths[number])
    required = [base + k for k, number in enumerate(order) if is_required(message.fields_by_number[number])]
    entry = [base, len(order), len(p.inits), len(inits), len(p.members), len(required)]
    p.members += required
    p.inits += inits
    return entry


def is_required(fd: FieldDescriptor) -> bool:
    """Whether a message cannot be without a field."""
    return bool(fd.is_required) if hasattr(fd, "is_required") else fd.label == FieldDescriptor.LABEL_REQUIRED


def _oneof(fd: FieldDescriptor) -> list[FieldDescriptor]:
    """The fields of the oneof that a field is in, where it has others."""
    found = list(fd.containing_oneof.fields) if fd.containing_oneof is not None else []
    return found if len(found) > 1 else []


def _single(p: DecodePlan, column: FieldMapping, node: ColumnNode, depth: int) -> list[int]:
    a, b = _arguments(p, column)
    if column.op == i.MESSAGE:
        assert column.message is not None
        a = _add(p, column.message, list(zip(column.children, node.children, strict=True)), [], depth + 1)
    whole = int(column.op == i.BYTES and column.message is not None)
    return [column.fd.number, column.op, node.slot, a, b, -1, 0, 0, whole]


def _add(
    p: DecodePlan, message: Descriptor, known: list[tuple[FieldMapping, ColumnNode]], first: list[list[int]], depth: int
) -> int:
    entry = _message(p, message, known, first, depth)
    p.messages.append(entry)
    return len(p.messages) - 1


def _repeated(p: DecodePlan, column: FieldMapping, node: ColumnNode, depth: int) -> list[int]:
    child = node.children[0]
    a, b = _arguments(p, column.children[0])
    if column.op == i.MESSAGE:
        assert column.message is not None
        if pt.is_map(node.field.type):
            known, first = list(zip(column.children, node.children, strict=True)), []
        else:
            element = column.children[0]
            known, first = list(zip(element.children, child.children, strict=True)), [[i.ROW, child.slot, 0]]
        a = _add(p, column.message, known, first, depth + 1)
    return [column.fd.number, column.op, child.slot, a, b, node.slot, 0, 0, 0]


def _arguments(p: DecodePlan, column: FieldMapping) -> tuple[int, int]:
    if column.op != i.CLOSED_ENUM:
        return 0, 0
    numbers = sorted({value.number for value in column.fd.enum_type.values})
    p.constants += numbers
    return len(p.constants) - len(numbers), len(numbers)


def _init(p: DecodePlan, column: FieldMapping, node: ColumnNode) -> list[list[int]]:
    """What a column is where its field is absent."""
    fd, slot = column.fd, node.slot
    in_entry = fd.containing_type is not None and fd.containing_type.GetOptions().map_entry
    if column.is_repeated:
        return [[i.EMPTY_LIST if p.read_defaults else i.NULL_LIST, slot, node.children[0].slot]]
    if column.op == i.MESSAGE:
        there = (p.read_defaults and not column.is_well_known) or in_entry
        inner = [one for pair in zip(column.children, node.children, strict=True) for one in _init(p, *pair)]
        return [[i.ROW if there else i.NULL_ROW, slot, 0], *inner]
    null = fd.has_presence and not in_entry and not (p.read_defaults and not column.is_well_known)
    if column.op >= i.BYTES:
        if null:
            return [[i.NULL_TEXT, slot, 0]]
        default = fd.default_value if not column.is_well_known else b""
        text = default.encode() if isinstance(default, str) else bytes(default)
        if not text:
            return [[i.TEXT, slot, 0]]
        p.places.append((len(p.texts), len(text)))
        p.texts += text
        return [[i.TEXT, slot, len(p.places) - 1]]
    if null:
        return [[i.NULL_NUMBER, slot, 0]]
    bits = _bits(column, fd.default_value)
    if not bits:
        return [[i.NUMBERS, slot, 0]]
    p.constants.append(bits)
    return [[i.NUMBERS, slot, len(p.constants) - 1]]


def _bits(column: FieldMapping, value: Any) -> int:
    """A number's bits, as a signed word."""
    t = column.wire.type
    if pt.is_floating(t):
        fmt, bits = ("<f", "<i") if t.bit_width == 32 else ("<d", "<q")
        return int(struct.unpack(bits, struct.pack(fmt, value))[0])
    number = int(value)
    if column.op in (i.VARINT_32, i.FIXED_4):
        return (number + 2**31) % 2**32 - 2**31
    return (number + _INT64) % 2**64 - _INT64
