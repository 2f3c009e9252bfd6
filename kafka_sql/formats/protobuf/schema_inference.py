"""Infer the columns of a table from a message: names and Flink SQL types."""

from __future__ import annotations

from typing import Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from kafka_sql.errors import SchemaError
from kafka_sql.formats.inferred_types import size_limit
from kafka_sql.formats.protobuf.field_mapping import JSON_TYPES, TIMESTAMP, WRAPPERS

_MAX_DEPTH: Final = 100  # as protobuf's libraries limit messages
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
        SchemaError: a message contains itself, no column type can hold a field, or the types would be too large.
    """
    return tuple(_Inference().fields(message, (), ""))


class _Inference:
    """Infers types, and limits their size. ``enclosing`` has the names of the messages around a message or field."""

    def __init__(self) -> None:
        self._count = size_limit()

    def fields(self, message: Descriptor, enclosing: tuple[str, ...], path: str) -> list[tuple[str, str]]:
        """Return names and types."""
        name = message.full_name
        if name in enclosing:
            raise SchemaError(
                f"The message contains itself: the recursive type '{name}' (field '{path}'). Declare the table's "
                "columns.",
                column=path,
            )
        if len(enclosing) >= _MAX_DEPTH:
            raise SchemaError(
                f"The message is nested more than {_MAX_DEPTH} levels deep. Declare the table's columns.", column=path
            )
        enclosing, fields = (*enclosing, name), []
        for descriptor in message.fields:
            field_path = f"{path}.{descriptor.name}".lstrip(".")
            self._count(descriptor.name, field_path)
            fields.append((descriptor.name, self._type(descriptor, enclosing, field_path)))
        return fields

    def _type(self, descriptor: FieldDescriptor, enclosing: tuple[str, ...], path: str) -> str:
        if not descriptor.is_repeated:
            return self._element(descriptor, enclosing, path)
        message = descriptor.message_type
        if message is not None and message.GetOptions().map_entry:
            key, value = (self._element(message.fields_by_name[name], enclosing, path) for name in ("key", "value"))
            return f"MAP<{key} NOT NULL, {value}>"
        return f"ARRAY<{self._element(descriptor, enclosing, path)}>"

    def _element(self, descriptor: FieldDescriptor, enclosing: tuple[str, ...], path: str) -> str:
        message = descriptor.message_type
        if descriptor.type == FieldDescriptor.TYPE_GROUP:
            raise SchemaError(
                f"The field '{path}' is a group, which no column type can hold. Declare the table's columns.",
                column=path,
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
            return self._element(message.fields_by_name["value"], enclosing, path)
        fields = self.fields(message, enclosing, path)
        if not fields:
            raise SchemaError(
                f"The field '{path}' is the message {message.full_name}, which has no fields. Declare the table's "
                "columns.",
                column=path,
            )
        return "ROW<" + ", ".join(f"`{name}` {type}" for name, type in fields) + ">"
