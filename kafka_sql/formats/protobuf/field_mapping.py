"""Map a message's fields to columns, and to wire columns, which the compiled loops read and write.

The rules are those of flink-protobuf's PbSchemaValidationUtils. In addition, an unsigned number can be a column of a
wider type, and google.protobuf's Timestamp, wrappers and JSON values can be columns of the types that they represent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.types as pt
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FeatureSet

from kafka_sql.errors import SchemaError
from kafka_sql.formats.protobuf import opcodes

TIMESTAMP: Final = "google.protobuf.Timestamp"
WRAPPERS: Final = frozenset(
    f"google.protobuf.{type_name}Value"
    for type_name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
JSON_TYPES: Final = frozenset({"google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue"})
_SECONDS_AND_NANOS: Final = pa.struct([("seconds", pa.int64()), ("nanos", pa.int32())])

_DECIMAL_20: Final = pa.decimal128(20, 0)

# Opcodes by column type and protobuf type, and for INT fields read as BIGINT
_OPCODES: Final = {
    pa.bool_(): {FieldDescriptor.TYPE_BOOL: opcodes.BOOL},
    pa.float32(): {FieldDescriptor.TYPE_FLOAT: opcodes.FIXED_4},
    pa.float64(): {FieldDescriptor.TYPE_DOUBLE: opcodes.FIXED_8},
    pa.int32(): {
        FieldDescriptor.TYPE_INT32: opcodes.VARINT_32,
        FieldDescriptor.TYPE_UINT32: opcodes.VARINT_32,
        FieldDescriptor.TYPE_SINT32: opcodes.ZIGZAG_32,
        FieldDescriptor.TYPE_FIXED32: opcodes.FIXED_4,
        FieldDescriptor.TYPE_SFIXED32: opcodes.FIXED_4,
    },
    pa.int64(): {
        FieldDescriptor.TYPE_INT64: opcodes.VARINT_64,
        FieldDescriptor.TYPE_UINT64: opcodes.VARINT_64,
        FieldDescriptor.TYPE_SINT64: opcodes.ZIGZAG_64,
        FieldDescriptor.TYPE_FIXED64: opcodes.FIXED_8,
        FieldDescriptor.TYPE_SFIXED64: opcodes.FIXED_8,
        FieldDescriptor.TYPE_UINT32: opcodes.UNSIGNED_32,
        FieldDescriptor.TYPE_FIXED32: opcodes.FIXED_4_UNSIGNED,
    },
    _DECIMAL_20: {
        FieldDescriptor.TYPE_UINT64: opcodes.UNSIGNED_64,
        FieldDescriptor.TYPE_FIXED64: opcodes.FIXED_8_UNSIGNED,
    },
}
_WIDENED_OPCODES: Final = {
    FieldDescriptor.TYPE_INT32: opcodes.VARINT_64,
    FieldDescriptor.TYPE_SINT32: opcodes.ZIGZAG_64,
}
_MAX_NAME_SIZE: Final = 255  # of the values of an enum


@dataclass(frozen=True)
class FieldMapping:
    """A field and its column."""

    path: str  # the column's path, for errors
    descriptor: FieldDescriptor  # the field's descriptor
    column: pa.Field  # the table's column
    wire: pa.Field  # the wire column: for example, an enum is its number, and a Timestamp a ROW of seconds and nanos
    opcode: int  # how its values are decoded
    message: Descriptor | None = None  # the message type of a field that is a message
    children: tuple[FieldMapping, ...] = ()  # fields of a ROW, key and value of a MAP, or the element of an ARRAY
    is_repeated: bool = False  # whether it is an ARRAY or MAP
    is_well_known: bool = False  # whether it is a message of google.protobuf that is not a ROW

    @property
    def is_serialized(self) -> bool:
        """Whether it is a message, and its wire column has the message's bytes."""
        return self.opcode == opcodes.BYTES and self.message is not None

    @property
    def is_timestamp(self) -> bool:
        """Whether it is a google.protobuf.Timestamp that is not a ROW."""
        return self.is_well_known and self.message is not None and self.message.full_name == TIMESTAMP

    @property
    def wire_type(self) -> int:
        """The wire type of a value that is not packed."""
        if self.opcode < opcodes.FIXED_4:
            return opcodes.VARINT
        if self.opcode < opcodes.FIXED_8:
            return opcodes.I32
        return opcodes.I64 if self.opcode < opcodes.BYTES else opcodes.LEN


def map_fields(
    schema: pa.Schema | pa.DataType, message: Descriptor, path: str = "", allow_evolution: bool = False
) -> tuple[FieldMapping, ...]:
    """Return the mappings of a message's columns.

    Args:
        path: the message's path.
        allow_evolution: whether the message may be another version of the table's: columns without a field are
            omitted, and INT can be read as BIGINT.

    Raises:
        SchemaError: a column has no field, or its type does not match.
    """
    mappings = []
    for field in schema:
        field_path = f"{path}.{field.name}" if path else field.name
        descriptor = message.fields_by_name.get(field.name)
        if descriptor is None and allow_evolution:
            continue
        if descriptor is None:
            raise SchemaError(
                f"Column {field_path} does not exist in definition of proto class: the message {message.full_name} "
                f"has the fields {', '.join(message.fields_by_name) or '(none)'}.",
                column=field_path,
            )
        mappings.append(_map_field(field, descriptor, field_path, allow_evolution))
    return tuple(mappings)


def _map_field(field: pa.Field, descriptor: FieldDescriptor, path: str, allow_evolution: bool) -> FieldMapping:
    if not descriptor.is_repeated:
        return _map_single(field, descriptor, path, allow_evolution)
    arrow_type, message = field.type, descriptor.message_type
    if message is not None and message.GetOptions().map_entry:
        if not pt.is_map(arrow_type):
            raise _mismatch(descriptor, "MAP", arrow_type, path)
        key = _map_single(arrow_type.key_field, message.fields_by_name["key"], path, allow_evolution)
        value = _map_single(arrow_type.item_field, message.fields_by_name["value"], f"{path}[]", allow_evolution)
        wire = pa.field(field.name, pa.map_(key.wire.with_nullable(False), value.wire))
        return FieldMapping(path, descriptor, field, wire, opcodes.MESSAGE, message, (key, value), is_repeated=True)
    if not pt.is_list(arrow_type):
        raise _mismatch(descriptor, "ARRAY", arrow_type, path)
    element = _map_single(arrow_type.value_field, descriptor, f"{path}[]", allow_evolution)
    wire = pa.field(field.name, pa.list_(element.wire))
    return FieldMapping(path, descriptor, field, wire, element.opcode, message, (element,), is_repeated=True)


def _map_single(field: pa.Field, descriptor: FieldDescriptor, path: str, allow_evolution: bool) -> FieldMapping:
    """Map a field, or the element of a repeated field."""
    if descriptor.type == FieldDescriptor.TYPE_GROUP:
        raise SchemaError(
            f"Unsupported type of column '{path}': its field is a group, which no column type can hold.", column=path
        )
    if descriptor.type == FieldDescriptor.TYPE_MESSAGE:
        return _map_message(field, descriptor, path, allow_evolution)
    opcode = _scalar_opcode(field.type, descriptor, allow_evolution)
    if opcode is None:
        raise _mismatch(descriptor, "", field.type, path)
    wire_type = pa.int32() if descriptor.type == FieldDescriptor.TYPE_ENUM else field.type
    return FieldMapping(path, descriptor, field, pa.field(field.name, wire_type), opcode)


def _scalar_opcode(arrow_type: pa.DataType, descriptor: FieldDescriptor, allow_evolution: bool) -> int | None:
    """Return how a field that is not a message is decoded as a type, None if it cannot be."""
    field_type = descriptor.type
    if field_type == FieldDescriptor.TYPE_ENUM and (is_string(arrow_type) or pt.is_signed_integer(arrow_type)):
        if is_string(arrow_type):
            _check_names(descriptor)
        return opcodes.CLOSED_ENUM if descriptor.enum_type.is_closed else opcodes.VARINT_32
    if field_type == FieldDescriptor.TYPE_STRING and is_string(arrow_type):
        return opcodes.STRING if _must_be_utf8(descriptor) else opcodes.BYTES
    if field_type == FieldDescriptor.TYPE_BYTES and (pt.is_binary(arrow_type) or pt.is_large_binary(arrow_type)):
        return opcodes.BYTES
    if allow_evolution and pt.is_int64(arrow_type) and field_type in _WIDENED_OPCODES:
        return _WIDENED_OPCODES[field_type]
    return _OPCODES.get(arrow_type, {}).get(field_type)


def _check_names(descriptor: FieldDescriptor) -> None:
    """
    Raises:
        SchemaError: a name of the field's enum is too long. A byte of a message can become a name.
    """
    longest = max((value.name for value in descriptor.enum_type.values), key=len)
    if len(longest) > _MAX_NAME_SIZE:
        raise SchemaError(
            f"Unsupported enum {descriptor.enum_type.full_name[:_MAX_NAME_SIZE]}: its value '{longest[:60]}...' has "
            f"more than {_MAX_NAME_SIZE} characters. Declare an integer instead of STRING."
        )


def _must_be_utf8(descriptor: FieldDescriptor) -> bool:
    """Return whether strings must be UTF-8: in proto3, and in editions unless the feature utf8_validation is NONE."""
    return bool(descriptor._GetFeatures().utf8_validation == FeatureSet.VERIFY)


def _map_message(field: pa.Field, descriptor: FieldDescriptor, path: str, allow_evolution: bool) -> FieldMapping:
    arrow_type, message = field.type, descriptor.message_type
    name = message.full_name
    if name in JSON_TYPES and is_string(arrow_type):
        wire = pa.field(field.name, pa.binary())
        return FieldMapping(path, descriptor, field, wire, opcodes.BYTES, message, is_well_known=True)
    if pt.is_struct(arrow_type):
        children = map_fields(arrow_type, message, path, allow_evolution)
    elif name == TIMESTAMP and pt.is_timestamp(arrow_type):
        children = map_fields(_SECONDS_AND_NANOS, message, path)
    elif name in WRAPPERS:
        children = map_fields(pa.struct([field.with_name("value")]), message, path, allow_evolution)
    else:
        raise _mismatch(descriptor, "ROW", arrow_type, path)
    wire = pa.field(field.name, pa.struct([child.wire for child in children]))
    return FieldMapping(
        path, descriptor, field, wire, opcodes.MESSAGE, message, children, is_well_known=not pt.is_struct(arrow_type)
    )


def is_string(arrow_type: pa.DataType) -> bool:
    """Return whether a type is STRING."""
    return bool(pt.is_string(arrow_type) or pt.is_large_string(arrow_type))


def _mismatch(descriptor: FieldDescriptor, expected: str, arrow_type: pa.DataType, path: str) -> SchemaError:
    type_name = (
        descriptor.message_type.full_name
        if descriptor.message_type is not None
        else _TYPE_NAMES.get(descriptor.type, str(descriptor.type))
    )
    if descriptor.is_repeated:
        type_name = f"repeated {type_name}"
    remedy = f" It should be {expected}." if expected else ""
    return SchemaError(
        f"Protobuf field type does not match column type: {type_name} (protobuf, field {descriptor.full_name}) is not "
        f"compatible with {arrow_type} (column '{path}').{remedy}",
        column=path,
    )


_TYPE_NAMES: Final = {
    getattr(FieldDescriptor, name): name.removeprefix("TYPE_")
    for name in dir(FieldDescriptor)
    if name.startswith("TYPE_")
}
