"""Which columns a message's fields are, and what the compiled loops hold of them.

Rules: flink-protobuf's PbSchemaValidationUtils. Beyond them: unsigned numbers as wider types, and google.protobuf's
Timestamp, wrappers and JSON values as the types that they stand for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.types as pt
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from kafka_sql.errors import SchemaError
from kafka_sql.formats.protobuf import opcodes as o

TIMESTAMP: Final = "google.protobuf.Timestamp"
WRAPPERS: Final = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
JSON_TYPES: Final = frozenset(f"google.protobuf.{kind}" for kind in ("Struct", "Value", "ListValue"))
_SECONDS: Final = pa.struct([("seconds", pa.int64()), ("nanos", pa.int32())])

F: Final = FieldDescriptor
_INT: Final = {
    F.TYPE_INT32: o.VARINT_32,
    F.TYPE_UINT32: o.VARINT_32,
    F.TYPE_SINT32: o.ZIGZAG_32,
    F.TYPE_FIXED32: o.FIXED_4,
    F.TYPE_SFIXED32: o.FIXED_4,
}
_LONG: Final = {
    F.TYPE_INT64: o.VARINT_64,
    F.TYPE_UINT64: o.VARINT_64,
    F.TYPE_SINT64: o.ZIGZAG_64,
    F.TYPE_FIXED64: o.FIXED_8,
    F.TYPE_SFIXED64: o.FIXED_8,
    F.TYPE_UINT32: o.UNSIGNED_32,
    F.TYPE_FIXED32: o.FIXED_4_UNSIGNED,
}
_DECIMAL: Final = {F.TYPE_UINT64: o.UNSIGNED_64, F.TYPE_FIXED64: o.FIXED_8_UNSIGNED}
_WIDENED: Final = {F.TYPE_INT32: o.VARINT_64, F.TYPE_SINT32: o.ZIGZAG_64}
_UNSIGNED: Final = pa.decimal128(20, 0)


@dataclass(frozen=True)
class FieldMapping:
    """A field as a column.

    Attributes:
        path: for errors.
        column: as the table has it.
        held: the same as the loops have it: an enum as its number, a Timestamp as a ROW.
        op: what its values are.
        message: of a ROW, or of what is read as one.
        inner: its columns; of a MAP key and value, of an ARRAY the element.
        repeated: whether it is an ARRAY or MAP.
        scalar: whether a message is read as something else than a ROW.
    """

    path: str
    fd: FieldDescriptor
    column: pa.Field
    wire: pa.Field
    op: int
    message: Descriptor | None = None
    children: tuple[FieldMapping, ...] = ()
    is_repeated: bool = False
    is_well_known: bool = False


def map_fields(
    schema: pa.Schema | pa.DataType, message: Descriptor, path: str = "", evolving: bool = False
) -> tuple[FieldMapping, ...]:
    """The columns of a message.

    Args:
        evolving: whether the message may be another version of the table's: columns that it does not have are left
            out, and INT is taken for BIGINT.

    Raises:
        SchemaError: a column has no field, or one of another type.
    """
    found = []
    for field in schema:
        inside = f"{path}.{field.name}" if path else field.name
        fd = message.fields_by_name.get(field.name)
        if fd is None and evolving:
            continue
        if fd is None:
            raise SchemaError(
                f"Column {inside} does not exist in definition of proto class: the message {message.full_name} has "
                f"the fields {', '.join(message.fields_by_name) or '(none)'}.",
                column=inside,
            )
        found.append(_column(field, fd, inside, evolving))
    return tuple(found)


def _column(field: pa.Field, fd: FieldDescriptor, path: str, evolving: bool) -> FieldMapping:
    if not is_repeated(fd):
        return _single(field, fd, path, evolving)
    t, message = field.type, fd.message_type
    if message is not None and message.GetOptions().map_entry:
        if not pt.is_map(t):
            raise _mismatch(fd, "MAP", t, path)
        inner = (
            _single(t.key_field, message.fields_by_name["key"], path, evolving),
            _single(t.item_field, message.fields_by_name["value"], f"{path}[]", evolving),
        )
        held = pa.map_(inner[0].wire.with_nullable(False), inner[1].wire)
        return FieldMapping(path, fd, field, pa.field(field.name, held), o.MESSAGE, message, inner, True)
    if not pt.is_list(t):
        raise _mismatch(fd, "ARRAY", t, path)
    element = _single(t.value_field, fd, f"{path}[]", evolving)
    held = pa.list_(element.wire)
    return FieldMapping(path, fd, field, pa.field(field.name, held), element.op, message, (element,), True)


def is_repeated(fd: FieldDescriptor) -> bool:
    """Whether a field is an array or map."""
    return bool(fd.is_repeated) if hasattr(fd, "is_repeated") else fd.label == F.LABEL_REPEATED


def _single(field: pa.Field, fd: FieldDescriptor, path: str, evolving: bool) -> FieldMapping:
    t, kind = field.type, fd.type

    def made(op: int, held: pa.DataType) -> FieldMapping:
        return FieldMapping(path, fd, field, pa.field(field.name, held), op)

    if kind == F.TYPE_GROUP:
        raise SchemaError(
            f"Unsupported type of column '{path}': its field is a group, which no column has.", column=path
        )
    if kind == F.TYPE_MESSAGE:
        return _message(field, fd, path, evolving)
    if kind == F.TYPE_ENUM and (is_text(t) or pt.is_signed_integer(t)):
        closed = bool(getattr(fd.enum_type, "is_closed", is_proto2(fd)))
        return made(o.CLOSED_ENUM if closed else o.VARINT_32, pa.int32())
    if (
        (kind == F.TYPE_BOOL and pt.is_boolean(t))
        or (kind == F.TYPE_FLOAT and pt.is_float32(t))
        or (kind == F.TYPE_DOUBLE and pt.is_float64(t))
    ):
        return made({F.TYPE_BOOL: o.BOOL, F.TYPE_FLOAT: o.FIXED_4, F.TYPE_DOUBLE: o.FIXED_8}[kind], t)
    if pt.is_int32(t) and kind in _INT:
        return made(_INT[kind], t)
    if pt.is_int64(t) and kind in _LONG:
        return made(_LONG[kind], t)
    if evolving and pt.is_int64(t) and kind in _WIDENED:
        return made(_WIDENED[kind], t)
    if t == _UNSIGNED and kind in _DECIMAL:
        return made(_DECIMAL[kind], t)
    if kind == F.TYPE_STRING and is_text(t):
        return made(o.STRING if _checked(fd) else o.BYTES, t)
    if kind == F.TYPE_BYTES and (pt.is_binary(t) or pt.is_large_binary(t)):
        return made(o.BYTES, t)
    raise _mismatch(fd, "", t, path)


def _checked(fd: FieldDescriptor) -> bool:
    """Whether a text must be UTF-8: not in proto2."""
    return not is_proto2(fd)


def is_proto2(fd: FieldDescriptor) -> bool:
    """Whether a field's file is of proto2."""
    found = FileDescriptorProto()
    fd.file.CopyToProto(found)
    return found.syntax in ("", "proto2")


def _message(field: pa.Field, fd: FieldDescriptor, path: str, evolving: bool) -> FieldMapping:
    t, message = field.type, fd.message_type
    name = message.full_name
    if pt.is_struct(t):
        inner = map_fields(t, message, path, evolving)
        return FieldMapping(path, fd, field, pa.field(field.name, _row(inner)), o.MESSAGE, message, inner)
    if name == TIMESTAMP and pt.is_timestamp(t):
        inner = map_fields(_SECONDS, message, path)
    elif name in WRAPPERS:
        inner = map_fields(pa.struct([field.with_name("value")]), message, path, evolving)
    elif name in JSON_TYPES and is_text(t):
        return FieldMapping(path, fd, field, pa.field(field.name, pa.binary()), o.BYTES, message, (), False, True)
    else:
        raise _mismatch(fd, "ROW", t, path)
    return FieldMapping(path, fd, field, pa.field(field.name, _row(inner)), o.MESSAGE, message, inner, False, True)


def _row(inner: tuple[FieldMapping, ...]) -> pa.DataType:
    return pa.struct([column.wire for column in inner])


def is_text(t: pa.DataType) -> bool:
    """Whether a type is STRING."""
    return bool(pt.is_string(t) or pt.is_large_string(t))


def _mismatch(fd: FieldDescriptor, expected: str, t: pa.DataType, path: str) -> SchemaError:
    kind = fd.message_type.full_name if fd.message_type is not None else _TYPES.get(fd.type, str(fd.type))
    if is_repeated(fd):
        kind = f"repeated {kind}"
    also = f" It should be {expected}." if expected else ""
    return SchemaError(
        f"Protobuf field type does not match column type: {kind} (protobuf, field {fd.full_name}) is not compatible "
        f"with {t} (column '{path}').{also}",
        column=path,
    )


_TYPES: Final = {getattr(F, name): name.removeprefix("TYPE_") for name in dir(F) if name.startswith("TYPE_")}
