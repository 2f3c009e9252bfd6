"""Derive the .proto file of a table's columns."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.errors import SchemaError
from kafka_sql.formats.declared_types import DeclaredType, declared_type

RECORD: Final = "Record"
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_TIMESTAMP: Final = "google.protobuf.Timestamp"


def derive_schema(schema: pa.Schema) -> str:
    """Return the file's text: a proto3 message whose fields are the columns. Nullable columns are ``optional``.

    Raises:
        SchemaError: protobuf has no type for a column.
    """
    body = _message_text(RECORD, [(f, declared_type(f)) for f in schema], "", "")
    imports = '\nimport "google/protobuf/timestamp.proto";\n' if _TIMESTAMP in body else ""
    return f'syntax = "proto3";\n{imports}\n{body}'


def _message_text(name: str, fields: list[tuple[pa.Field, DeclaredType]], path: str, indent: str) -> str:
    lines, nested = [], []
    for number, (field, declared) in enumerate(fields, 1):
        field_path = f"{path}.{field.name}" if path else field.name
        if not _NAME.fullmatch(field.name):
            raise SchemaError(
                f"Column '{field_path}' is not a valid name in protobuf. Use letters, digits and underscores; the "
                "first character must not be a digit.",
                column=field_path,
            )
        t, label = field.type, ""
        row = f"{field.name}_row"
        if pt.is_list(t):
            label, type_name, element = "repeated ", _field_type(t.value_field, row, f"{field_path}[]"), t.value_field
            nested += _nested_messages(element, declared.child(0), row, field_path, indent)
        elif pt.is_map(t):
            key = _key_type(t.key_type, field_path)
            type_name = f"map<{key}, {_field_type(t.item_field, row, f'{field_path}[]')}>"
            nested += _nested_messages(t.item_field, declared.child(1), row, field_path, indent)
        else:
            type_name = _field_type(field, row, field_path)
            is_scalar = not pt.is_struct(t) and type_name != _TIMESTAMP
            label = "optional " if is_scalar and declared.allows_null(field) else ""
            nested += _nested_messages(field, declared, row, field_path, indent)
        lines.append(f"{indent}  {label}{type_name} {field.name} = {number};\n")
    return f"{indent}message {name} {{\n{''.join(nested)}{''.join(lines)}{indent}}}\n"


def _nested_messages(field: pa.Field, declared: DeclaredType, name: str, path: str, indent: str) -> list[str]:
    if not pt.is_struct(field.type):
        return []
    fields = [(f, declared.child(k)) for k, f in enumerate(field.type)]
    return [_message_text(name, fields, path, indent + "  ")]


def _key_type(t: pa.DataType, path: str) -> str:
    if pt.is_string(t) or pt.is_int32(t) or pt.is_int64(t) or pt.is_boolean(t):
        return _scalar_type(t, path)
    raise SchemaError(
        f"Protobuf has no map with a key of type {t} (column '{path}'). Declare it as MAP<STRING, ...>.", column=path
    )


def _field_type(field: pa.Field, row: str, path: str) -> str:
    return row if pt.is_struct(field.type) else _scalar_type(field.type, path)


def _scalar_type(t: pa.DataType, path: str) -> str:
    if pt.is_boolean(t):
        return "bool"
    if pt.is_int32(t) or pt.is_int64(t):
        return f"int{t.bit_width}"
    if pt.is_float32(t) or pt.is_float64(t):
        return "float" if t.bit_width == 32 else "double"
    if pt.is_string(t) or pt.is_large_string(t):
        return "string"
    if pt.is_binary(t) or pt.is_large_binary(t):
        return "bytes"
    if pt.is_timestamp(t):
        return _TIMESTAMP
    raise SchemaError(
        f"Protobuf has no type for {t} of column '{path}'. Declare it as INT, BIGINT, DOUBLE or STRING, or set the "
        "schema in the option 'schema'.",
        column=path,
    )
