"""Plan the decoding of a message's columns, once, as tables for the decode loop."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from kafka_sql.formats.columnar.column_buffers import ColumnNode, build_nodes
from kafka_sql.formats.protobuf import opcodes
from kafka_sql.formats.protobuf.field_mapping import FieldMapping, map_fields

_TWO_63: Final = 2**63
_WIRE_TYPES: Final = {  # those that are not VARINT
    FieldDescriptor.TYPE_FIXED32: opcodes.I32,
    FieldDescriptor.TYPE_SFIXED32: opcodes.I32,
    FieldDescriptor.TYPE_FLOAT: opcodes.I32,
    FieldDescriptor.TYPE_FIXED64: opcodes.I64,
    FieldDescriptor.TYPE_SFIXED64: opcodes.I64,
    FieldDescriptor.TYPE_DOUBLE: opcodes.I64,
    FieldDescriptor.TYPE_STRING: opcodes.LEN,
    FieldDescriptor.TYPE_BYTES: opcodes.LEN,
    FieldDescriptor.TYPE_MESSAGE: opcodes.LEN,
    FieldDescriptor.TYPE_GROUP: opcodes.SGROUP,
}


@dataclass
class ProtobufDecodePlan:
    """The tables of a message and of the messages inside it.

    The other attributes are tables of the decode loop; ``decode_kernels.Batch`` describes them.
    """

    tree: list[ColumnNode]  # the wire columns and their slots
    slot_count: int  # number of slots
    mappings: tuple[FieldMapping, ...]  # how the wire columns become the table's columns
    read_defaults: bool  # whether an absent field is its default, not null
    fields: list[list[int]] = field(default_factory=list)
    messages: list[list[int]] = field(default_factory=list)
    defaults: list[list[int]] = field(default_factory=list)
    field_indices: list[int] = field(default_factory=list)
    constants: list[int] = field(default_factory=lambda: [0])
    literals: bytearray = field(default_factory=bytearray)
    literal_ranges: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    paths: list[str] = field(default_factory=list)  # the path of the column, per field
    oneof_count: int = 0  # number of oneofs
    max_depth: int = 1  # the deepest nesting of messages in messages

    def tables(self) -> dict[str, npt.NDArray[Any]]:
        """Return the tables of the decode loop."""
        return {
            "fields": np.array(self.fields, np.int64).reshape(-1, opcodes.FIELD_CELLS),
            "messages": np.array(self.messages, np.int64).reshape(-1, opcodes.MESSAGE_CELLS),
            "defaults": np.array(self.defaults, np.int64).reshape(-1, opcodes.DEFAULT_CELLS),
            "field_indices": np.array(self.field_indices or [0], np.int64),
            "constants": np.array(self.constants, np.int64),
            "literals": np.frombuffer(bytes(self.literals) or b"\0", np.uint8),
            "literal_ranges": np.array(self.literal_ranges, np.int64),
        }


def plan_decoding(
    schema: pa.Schema, message: Descriptor, read_defaults: bool, allow_evolution: bool = False
) -> ProtobufDecodePlan:
    """Return the plan that decodes messages as the schema's columns.

    Args:
        allow_evolution: see ``map_fields``.

    Raises:
        SchemaError: a column has no field, or its type does not match.
    """
    mappings = map_fields(schema, message, "", allow_evolution)
    tree, slot_count = build_nodes([mapping.wire for mapping in mappings])
    plan = ProtobufDecodePlan(tree, slot_count, mappings, read_defaults)
    plan.messages.append([])  # the payload's message comes first
    plan.messages[0] = _plan_message(plan, message, list(zip(mappings, tree, strict=True)), [], 1)
    return plan


def _plan_message(
    plan: ProtobufDecodePlan,
    message: Descriptor,
    columns: list[tuple[FieldMapping, ColumnNode]],
    row_defaults: list[list[int]],
    depth: int,
    list_slot: int = -1,
) -> list[int]:
    """Add a message's fields, and the messages inside it; return the message's cells.

    Args:
        row_defaults: the default of the ROW that the message becomes, if that is the element of an ARRAY.
        list_slot: the slot of the ARRAY or MAP whose element or entry the message is.
    """
    plan.max_depth = max(plan.max_depth, depth)
    cells: dict[int, list[int]] = {}
    paths: dict[int, str] = {}
    defaults = [*row_defaults]
    for mapping, node in columns:
        cells[mapping.descriptor.number] = _plan_field(plan, mapping, node, depth)
        paths[mapping.descriptor.number] = mapping.path
        defaults += _defaults(plan, mapping, node)
    mapped_oneofs = {oneof_of(message.fields_by_number[number]) for number in cells} - {-1}
    for descriptor in message.fields:  # fields without a column that the loop must see
        if descriptor.number not in cells and (descriptor.is_required or oneof_of(descriptor) in mapped_oneofs):
            wire_type = _WIRE_TYPES.get(descriptor.type, opcodes.VARINT)
            cells[descriptor.number] = _field_cells(descriptor, opcodes.UNMAPPED, wire_type)
            paths[descriptor.number] = descriptor.name
    first, numbers = len(plan.fields), sorted(cells)
    oneofs = dict[int, int]()  # numbers in the plan, by the index in the message
    for number in numbers:
        oneof = oneof_of(message.fields_by_number[number])
        if oneof >= 0:
            cells[number][opcodes.ONEOF] = oneofs.setdefault(oneof, plan.oneof_count + len(oneofs))
        plan.fields.append(cells[number])
        plan.paths.append(paths[number])
    plan.oneof_count += len(oneofs)
    required = [first + k for k, number in enumerate(numbers) if message.fields_by_number[number].is_required]
    message_cells = [first, len(numbers), len(plan.defaults), len(defaults), len(plan.field_indices), len(required)]
    has_closed_value = message.GetOptions().map_entry and plan.fields[-1][opcodes.OPCODE] == opcodes.CLOSED_ENUM
    message_cells += [len(plan.fields) - 1 if has_closed_value else -1, list_slot]
    plan.field_indices += required
    plan.defaults += defaults
    return message_cells


def oneof_of(descriptor: FieldDescriptor) -> int:
    """Return the index of a field's oneof in its message; -1 if the oneof has no other field, or there is none."""
    oneof = descriptor.containing_oneof
    return oneof.index if oneof is not None and len(oneof.fields) > 1 else -1


def _plan_field(plan: ProtobufDecodePlan, mapping: FieldMapping, node: ColumnNode, depth: int) -> list[int]:
    """Return the cells of a field, after adding the message that it contains."""
    is_array = pt.is_list(node.field.type)
    value, value_node = (mapping.children[0], node.children[0]) if is_array else (mapping, node)
    slot, list_slot = (node.children[0].slot, node.slot) if mapping.is_repeated else (node.slot, -1)
    operands = _enum_numbers(plan, value)
    if mapping.opcode == opcodes.MESSAGE:
        assert mapping.message is not None
        columns = list(zip(value.children, value_node.children, strict=True))
        row_defaults = [[opcodes.ROW_DEFAULT, slot, 0]] if is_array else []
        plan.messages.append(_plan_message(plan, mapping.message, columns, row_defaults, depth + 1, list_slot))
        operands = len(plan.messages) - 1, 0
    descriptor = mapping.descriptor
    return _field_cells(descriptor, mapping.opcode, mapping.wire_type, slot, list_slot, operands, value.is_serialized)


def _field_cells(
    descriptor: FieldDescriptor,
    opcode: int,
    wire_type: int,
    slot: int = -1,
    list_slot: int = -1,
    operands: tuple[int, int] = (0, 0),
    is_serialized: bool = False,
) -> list[int]:
    """Return the cells of a field, without its oneof."""
    in_map = descriptor.containing_type.GetOptions().map_entry
    return [descriptor.number, opcode, slot, *operands, list_slot, -1, int(in_map), int(is_serialized), wire_type]


def _enum_numbers(plan: ProtobufDecodePlan, mapping: FieldMapping) -> tuple[int, int]:
    """Return where the numbers of a closed enum start in the constants, and how many there are."""
    if mapping.opcode != opcodes.CLOSED_ENUM:
        return 0, 0
    numbers = sorted({value.number for value in mapping.descriptor.enum_type.values})
    plan.constants += numbers
    return len(plan.constants) - len(numbers), len(numbers)


def _defaults(plan: ProtobufDecodePlan, mapping: FieldMapping, node: ColumnNode) -> list[list[int]]:
    """Return the defaults of a column's slots.

    They are appended when the column's message starts, and remain if the field is absent.
    """
    descriptor, slot = mapping.descriptor, node.slot
    in_map = descriptor.containing_type.GetOptions().map_entry
    if mapping.is_repeated:
        return [[opcodes.LIST_DEFAULT if plan.read_defaults else opcodes.LIST_NULL, slot, node.children[0].slot]]
    reads_default = (plan.read_defaults and not mapping.is_well_known) or in_map
    if mapping.opcode == opcodes.MESSAGE:
        children = zip(mapping.children, node.children, strict=True)
        nested = [default for child, child_node in children for default in _defaults(plan, child, child_node)]
        return [[opcodes.ROW_DEFAULT if reads_default else opcodes.ROW_NULL, slot, 0], *nested]
    is_null = descriptor.has_presence and not reads_default
    if mapping.opcode >= opcodes.BYTES:
        return [
            [opcodes.BYTES_NULL, slot, 0] if is_null else [opcodes.BYTES_DEFAULT, slot, _default_literal(plan, mapping)]
        ]
    return [
        [opcodes.NUMBER_NULL, slot, 0] if is_null else [opcodes.NUMBER_DEFAULT, slot, _default_constant(plan, mapping)]
    ]


def _default_literal(plan: ProtobufDecodePlan, mapping: FieldMapping) -> int:
    """Return the number of the literal with a field's default; 0 is the empty one."""
    default = b"" if mapping.is_well_known else mapping.descriptor.default_value
    literal = default.encode() if isinstance(default, str) else bytes(default)
    if not literal:
        return 0
    plan.literal_ranges.append((len(plan.literals), len(literal)))
    plan.literals += literal
    return len(plan.literal_ranges) - 1


def _default_constant(plan: ProtobufDecodePlan, mapping: FieldMapping) -> int:
    """Return the number of the constant with a field's default; 0 is zero."""
    bits = signed_bits(mapping, mapping.descriptor.default_value)
    if not bits:
        return 0
    plan.constants.append(bits)
    return len(plan.constants) - 1


def signed_bits(mapping: FieldMapping, value: Any) -> int:
    """Return a number's bits as a signed integer."""
    arrow_type = mapping.wire.type
    if pt.is_floating(arrow_type):
        source, target = ("<f", "<i") if arrow_type.bit_width == 32 else ("<d", "<q")
        return int(struct.unpack(target, struct.pack(source, value))[0])
    number = int(value)
    if mapping.opcode in (opcodes.VARINT_32, opcodes.FIXED_4):
        return (number + 2**31) % 2**32 - 2**31
    return (number + _TWO_63) % 2**64 - _TWO_63
