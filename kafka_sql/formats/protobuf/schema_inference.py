"""Infer the columns of a table from a message: names and Flink SQL types."""

from __future__ import annotations

from typing import Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from kafka_sql.errors import SchemaError
from kafka_sql.formats.protobuf.field_mapping import JSON_TYPES, TIMESTAMP, WRAPPERS

_SCALARS: Final = {
    FieldDescriptor.CPPTYPE_BOOL: "BOOLEAN",
    FieldDescriptor.CPPTYPE_INT32: "INT",
    FieldDescriptor.CPPTYPE_INT64: "BIGINT",
    FieldDescriptor.CPPTYPE_UINT32: "BIGINT",
    FieldDescriptor.CPPTYPE_UINT64: "DECIMAL(20, 0)",
    FieldDescriptor.CPPTYPE_FLOAT: "FLOAT",
    FieldDescriptor.CPPTYPE_DOUBLE: "DOUBLE",
    FieldDescriptor.CPPTYPE_ENUM: "STRING",
    FieldDescriptor.CPPTYPE_STRING: "STRING",
}


def infer_columns(message: Descriptor) -> tuple[tuple[str, str], ...]:
    """Return names and types of all fields.

    Raises:
        SchemaError: a message contains itself, or no column type can hold a field.
    """
    return tuple(_infer_fields(message, (), ""))


def _infer_fields(message: Descriptor, enclosing: tuple[str, ...], path: str) -> list[tuple[str, str]]:
    """
    Args:
        enclosing: names of the messages around this one.
    """
    name = message.full_name
    if name in enclosing:
        raise SchemaError(
            f"The message contains itself: the recursive type '{name}' (field '{path}'). Declare the table's columns.",
            column=path,
        )
    enclosing = (*enclosing, name)
    return [
        (descriptor.name, _infer_type(descriptor, enclosing, f"{path}.{descriptor.name}".lstrip(".")))
        for descriptor in message.fields
    ]


def _infer_type(descriptor: FieldDescriptor, enclosing: tuple[str, ...], path: str) -> str:
    if not descriptor.is_repeated:
        return _infer_element(descriptor, enclosing, path)
    message = descriptor.message_type
    if message is not None and message.GetOptions().map_entry:
        key, value = (_infer_element(message.fields_by_name[name], enclosing, path) for name in ("key", "value"))
        return f"MAP<{key} NOT NULL, {value}>"
    return f"ARRAY<{_infer_element(descriptor, enclosing, path)}>"


def _infer_element(descriptor: FieldDescriptor, enclosing: tuple[str, ...], path: str) -> str:
    message = descriptor.message_type
    if descriptor.type == FieldDescriptor.TYPE_GROUP:
        raise SchemaError(
            f"The field '{path}' is a group, which no column type can hold. Declare the table's columns.", column=path
        )
    if descriptor.type == FieldDescriptor.TYPE_BYTES:
        return "BYTES"
    if message is None:
        return _SCALARS[descriptor.cpp_type]
    if message.full_name == TIMESTAMP:
        return "TIMESTAMP_LTZ(6)"
    if message.full_name in JSON_TYPES:
        return "STRING"
    if message.full_name in WRAPPERS:
        return _infer_element(message.fields_by_name["value"], enclosing, path)
    fields = _infer_fields(message, enclosing, path)
    if not fields:
        raise SchemaError(f"The field '{path}' is the message {message.full_name}, which has no fields. Declare the "
                          "table's columns.", column=path)  # fmt: skip
    return "ROW<" + ", ".join(f"`{name}` {type}" for name, type in fields) + ">"
