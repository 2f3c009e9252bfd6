"""Encode columns as protobuf messages."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from kafka_sql.errors import EncodeError, SchemaError
from kafka_sql.formats.columnar.array_kernels import data_size, input_table
from kafka_sql.formats.columnar.arrow_buffers import pass_addresses
from kafka_sql.formats.columnar.encode_plan import EncodePlan, Steps
from kafka_sql.formats.protobuf import encode_kernels, opcodes
from kafka_sql.formats.protobuf.field_mapping import FieldMapping, map_fields
from kafka_sql.formats.protobuf.wire_columns import to_wire_columns

_MAX_BYTES: Final = 2**31 - 1  # as 32-bit offsets can address
_MAX_VALUE_SIZE: Final = 22  # bytes, with the tag, without the content of strings
_TYPES: Final = {
    opcodes.VARINT_32: encode_kernels.INT,
    opcodes.ZIGZAG_32: encode_kernels.ZIGZAG,
    opcodes.VARINT_64: encode_kernels.LONG,
    opcodes.ZIGZAG_64: encode_kernels.ZIGZAG_LONG,
    opcodes.BOOL: encode_kernels.BOOLEAN,
    opcodes.UNSIGNED_32: encode_kernels.LONG,
    opcodes.UNSIGNED_64: encode_kernels.DECIMAL,
    opcodes.CLOSED_ENUM: encode_kernels.INT,
    opcodes.FIXED_4: encode_kernels.FIXED32,
    opcodes.FIXED_4_UNSIGNED: encode_kernels.LONG_AS_FIXED32,
    opcodes.FIXED_8: encode_kernels.FIXED64,
    opcodes.FIXED_8_UNSIGNED: encode_kernels.DECIMAL_AS_FIXED64,
    opcodes.BYTES: encode_kernels.BYTES,
    opcodes.STRING: encode_kernels.BYTES,
}


class ProtobufWriter:
    """Encodes rows as messages of one type, with the fields in the order of their numbers."""

    def __init__(self, schema: pa.Schema, message: Descriptor, null_literal: str = "") -> None:
        """
        Args:
            null_literal: what a null string in an array or map is written as.

        Raises:
            SchemaError: a column has no field, its type does not match, or a required field has no column.
        """
        self._mappings = map_fields(schema, message)
        self._plan, self._null_literal = EncodePlan(encode_kernels.OPERATION_CELLS), null_literal.encode()
        _emit_fields(self._plan, message, [(m, (index,)) for index, m in enumerate(self._mappings)], 0, 1)
        self._plan.emit("", encode_kernels.END, 0, 0)
        self._operations = np.array(self._plan.operations, np.int64)

    def encode(self, batch: pa.RecordBatch, header: bytes = b"") -> pa.BinaryArray:
        """Return one payload per row, each with ``header`` before it.

        Raises:
            EncodeError: a value does not fit the message.
        """
        count, plan = batch.num_rows, self._plan
        prefix, literal = np.frombuffer(header, np.uint8), np.frombuffer(self._null_literal, np.uint8)
        columns = to_wire_columns(self._mappings, batch.columns)
        arrays = plan.find_arrays(columns)
        size = count * (len(prefix) + 1)
        for array in arrays:
            size += (_MAX_VALUE_SIZE + (len(literal) if array.null_count else 0)) * len(array) + data_size(array)
        if size > _MAX_BYTES:
            if count < 2:
                raise EncodeError(f"A row of more than {_MAX_BYTES} bytes cannot be encoded as Protobuf.")
            middle = count // 2
            return pa.concat_arrays([self.encode(batch[:middle], header), self.encode(batch[middle:], header)])
        inputs, output, offsets = input_table(arrays), np.empty(size, np.uint8), np.zeros(count + 1, np.int64)
        positions, firsts, message_ends = np.zeros((3, plan.max_depth + 1), np.int64)
        failed_operation = np.zeros(1, np.int64)
        outcome = encode_kernels.encode_rows(
            pass_addresses(
                encode_kernels.Batch, operations=self._operations, inputs=inputs, row_count=count, header=prefix,
                header_size=len(prefix), literal=literal, literal_size=len(literal), output=output, output_size=size,
                offsets=offsets, positions=positions, firsts=firsts, message_ends=message_ends,
                failed_operation=failed_operation,
            )
        )  # fmt: skip
        if outcome < 0:
            path = plan.paths[failed_operation[0]]
            raise EncodeError(f"Field '{path}': the value is NULL, and the field is required.", field=path)
        data = output[offsets[0] :].copy()  # a copy frees the unused memory
        payload_offsets = (offsets - offsets[0]).astype(np.int32)
        return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(payload_offsets), pa.py_buffer(data)])


def _emit_fields(
    plan: EncodePlan, message: Descriptor, fields: list[tuple[FieldMapping, Steps]], depth: int, message_depth: int
) -> None:
    """Emit the operations of a message's fields, from the last to the first.

    Args:
        depth: number of arrays around the message.
        message_depth: number of enclosing messages, including this one.
    """
    plan.max_depth = max(plan.max_depth, message_depth)
    names = {mapping.descriptor.name for mapping, _ in fields}
    missing = [
        descriptor.name for descriptor in message.fields if descriptor.is_required and descriptor.name not in names
    ]
    if missing:
        raise SchemaError(
            f"The message {message.full_name} requires the field '{missing[0]}', but the table has no such column.",
            column=missing[0],
        )
    for mapping, steps in sorted(fields, key=lambda pair: -pair[0].descriptor.number):
        emit_field = _emit_repeated if mapping.is_repeated else _emit_single
        emit_field(plan, mapping, steps, depth, message_depth)


def presence_of(mapping: FieldMapping) -> int:
    descriptor = mapping.descriptor
    if descriptor.containing_type.GetOptions().map_entry:
        return encode_kernels.ALWAYS
    if descriptor.is_required:
        return encode_kernels.REQUIRED
    return encode_kernels.EXPLICIT if descriptor.has_presence else encode_kernels.IMPLICIT


def _emit_single(plan: EncodePlan, mapping: FieldMapping, steps: Steps, depth: int, message_depth: int) -> None:
    input_ = plan.add_input(steps)
    if mapping.opcode != opcodes.MESSAGE:
        tag, value = _tag(mapping, mapping.wire_type), (value_type(mapping), null_bits(mapping))
        plan.emit(mapping.path, encode_kernels.FIELD, input_, depth, tag, presence_of(mapping), 0, *value)
        return
    children = [(child, (*steps, index)) for index, child in enumerate(mapping.children)]
    _emit_message(plan, mapping, input_, children, depth, message_depth, presence_of(mapping))


def _emit_message(
    plan: EncodePlan,
    mapping: FieldMapping,
    input_: int,
    children: list[tuple[FieldMapping, Steps]],
    depth: int,
    message_depth: int,
    presence: int,
) -> None:
    assert mapping.message is not None
    tag = _tag(mapping, opcodes.LEN)
    enter = plan.emit(mapping.path, encode_kernels.ENTER, input_, depth, tag, presence)
    _emit_fields(plan, mapping.message, children, depth, message_depth + 1)
    plan.emit(mapping.path, encode_kernels.LEAVE, input_, depth, tag)
    plan.operations[enter][encode_kernels.TARGET] = len(plan.operations)


def _emit_repeated(plan: EncodePlan, mapping: FieldMapping, steps: Steps, depth: int, message_depth: int) -> None:
    input_, element, element_steps = plan.add_input(steps), mapping.children[0], (*steps, "values")
    is_map = len(mapping.children) == 2
    if mapping.opcode != opcodes.MESSAGE:
        is_packed = bool(mapping.descriptor.is_packed)
        elements = plan.add_input(element_steps)
        tag = _tag(mapping, opcodes.LEN if is_packed else element.wire_type)
        opcode, bits = encode_kernels.PACKED if is_packed else encode_kernels.ELEMENTS, null_bits(element)
        plan.emit(mapping.path, opcode, input_, depth, tag, 0, elements, value_type(element), bits)
        return
    start = plan.emit(mapping.path, encode_kernels.LOOP, input_, depth)
    elements = plan.add_input(element_steps)
    fields = mapping.children if is_map else element.children
    children = [(child, (*element_steps, index)) for index, child in enumerate(fields)]
    _emit_message(plan, mapping, elements, children, depth + 1, message_depth, encode_kernels.ALWAYS)
    plan.emit(mapping.path, encode_kernels.NEXT, elements, depth + 1, 0, 0, start + 1)
    plan.operations[start][encode_kernels.TARGET] = len(plan.operations)


def value_type(mapping: FieldMapping) -> int:
    is_unsigned = mapping.descriptor.type == FieldDescriptor.TYPE_UINT32 and mapping.opcode == opcodes.VARINT_32
    return encode_kernels.UNSIGNED if is_unsigned else _TYPES[mapping.opcode]


def _tag(mapping: FieldMapping, wire_type: int) -> int:
    return int(mapping.descriptor.number << 3 | wire_type)


def null_bits(mapping: FieldMapping) -> int:
    """Return what null is written as in an array or map: an enum's first number, 1 (the literal) for a string, or 0."""
    if mapping.descriptor.type == FieldDescriptor.TYPE_ENUM:
        return int(mapping.descriptor.enum_type.values[0].number)
    return int(mapping.descriptor.type == FieldDescriptor.TYPE_STRING)
