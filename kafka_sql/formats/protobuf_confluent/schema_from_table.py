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
        arrow_type, form = field.type, "{}"
        value, value_declared = field, declared
        if pt.is_list(arrow_type):
            value, value_declared, form = arrow_type.value_field, declared.child(0), "repeated {}"
        elif pt.is_map(arrow_type):
            key = _key_type(arrow_type.key_type, field_path)
            value, value_declared, form = arrow_type.item_field, declared.child(1), f"map<{key}, {{}}>"
        if pt.is_struct(value.type):
            type_name = f"{field.name}_row"
            fields_inside = [(f, value_declared.child(k)) for k, f in enumerate(value.type)]
            nested.append(_message_text(type_name, fields_inside, field_path, indent + "  "))
        else:
            type_name = _scalar_type(value.type, field_path if value is field else f"{field_path}[]")
            if value is field and type_name != _TIMESTAMP and declared.allows_null(field):
                form = "optional {}"
        lines.append(f"{indent}  {form.format(type_name)} {field.name} = {number};\n")
    return f"{indent}message {name} {{\n{''.join(nested)}{''.join(lines)}{indent}}}\n"


def _key_type(arrow_type: pa.DataType, path: str) -> str:
    if pt.is_string(arrow_type) or pt.is_int32(arrow_type) or pt.is_int64(arrow_type) or pt.is_boolean(arrow_type):
        return _scalar_type(arrow_type, path)
    raise SchemaError(
        f"Protobuf has no map with a key of type {arrow_type} (column '{path}'). Declare it as MAP<STRING, ...>.",
        column=path,
    )


def _scalar_type(arrow_type: pa.DataType, path: str) -> str:
    if pt.is_boolean(arrow_type):
        return "bool"
    if pt.is_int32(arrow_type) or pt.is_int64(arrow_type):
        return f"int{arrow_type.bit_width}"
    if pt.is_float32(arrow_type) or pt.is_float64(arrow_type):
        return "float" if arrow_type.bit_width == 32 else "double"
    if pt.is_string(arrow_type) or pt.is_large_string(arrow_type):
        return "string"
    if pt.is_binary(arrow_type) or pt.is_large_binary(arrow_type):
        return "bytes"
    if pt.is_timestamp(arrow_type):
        return _TIMESTAMP
    raise SchemaError(
        f"Protobuf has no type for {arrow_type} of column '{path}'. Declare it as INT, BIGINT, DOUBLE or STRING, or "
        "set the schema in the option 'schema'.",
        column=path,
    )
