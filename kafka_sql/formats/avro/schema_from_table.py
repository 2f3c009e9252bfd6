"""Derive the Avro schema of a table's columns, with the names, unions and defaults of Flink's AvroSchemaConverter."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.errors import SchemaError
from kafka_sql.formats.declared_types import DeclaredType, declared_type

NAMESPACE: Final = "org.apache.flink.avro.generated"
RECORD: Final = "record"
_NAME: Final = re.compile(r"[^\W\d]\w*")
_DEFAULT_PRECISION: Final = 6  # of TIMESTAMP


def derive_schema(schema: pa.Schema, legacy: bool, lenient: bool = False) -> str:
    """Return the schema's JSON text, as Java prints it.

    Args:
        legacy: whether TIMESTAMP is timestamp-millis, and TIMESTAMP_LTZ is unsupported
            ('avro.timestamp_mapping.legacy').
        lenient: whether to use the other mapping for types that the legacy mapping does not support.

    Raises:
        SchemaError: Avro has no type for a column.
    """
    strict = legacy and not lenient
    fields = [_field(f, f.name, f"{RECORD}_{f.name}", declared_type(f), legacy, strict) for f in schema]
    record = {"type": "record", "name": RECORD, "namespace": NAMESPACE, "fields": fields}
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False)


def _field(
    field: pa.Field, path: str, record: str, declared: DeclaredType, legacy: bool, strict: bool
) -> dict[str, Any]:
    if not _NAME.fullmatch(field.name):
        raise SchemaError(
            f"Column '{path}' is not a valid name in Avro: Illegal character in: {field.name}. Use "
            "letters, digits and underscores; the first character must not be a digit.",
            column=path,
        )
    avro_field: dict[str, Any] = {"name": field.name, "type": _type(field, path, record, declared, legacy, strict)}
    if declared.allows_null(field):
        avro_field["default"] = None
    return avro_field


def _type(field: pa.Field, path: str, record: str, declared: DeclaredType, legacy: bool, strict: bool) -> Any:
    """
    Args:
        legacy: whether to use the legacy mapping, as Flink always does inside ARRAY and MAP.
        strict: whether to reject types that the legacy mapping does not support.
    """
    arrow_type = field.type
    if pt.is_struct(arrow_type):
        fields = [
            _field(f, f"{path}.{f.name}", f"{record}_{f.name}", declared.child(i), legacy, strict)
            for i, f in enumerate(arrow_type)
        ]
        avro: Any = {"type": "record", "name": record, "fields": fields}
    elif pt.is_list(arrow_type):
        avro = {
            "type": "array",
            "items": _type(arrow_type.value_field, f"{path}[]", record, declared.child(0), True, strict),
        }
    elif pt.is_map(arrow_type):
        if not pt.is_string(arrow_type.key_type):
            raise SchemaError(
                f"Column '{path}' is {arrow_type}, but the keys of an Avro map are strings. Declare it as "
                "MAP<STRING, ...>.",
                column=path,
            )
        avro = {
            "type": "map",
            "values": _type(arrow_type.item_field, f"{path}[]", record, declared.child(1), True, strict),
        }
    else:
        avro = _scalar(arrow_type, path, declared, legacy, strict)
    return ["null", avro] if declared.allows_null(field) else avro


def _scalar(arrow_type: pa.DataType, path: str, declared: DeclaredType, legacy: bool, strict: bool) -> Any:
    if pt.is_boolean(arrow_type):
        return "boolean"
    if pt.is_signed_integer(arrow_type):
        return "long" if arrow_type.bit_width == 64 else "int"
    if pt.is_float32(arrow_type) or pt.is_float64(arrow_type):
        return "float" if arrow_type.bit_width == 32 else "double"
    if pt.is_string(arrow_type) or pt.is_large_string(arrow_type):
        return "string"
    if pt.is_binary(arrow_type) or pt.is_large_binary(arrow_type):
        return "bytes"
    if pt.is_decimal128(arrow_type):
        return {"type": "bytes", "logicalType": "decimal", "precision": arrow_type.precision, "scale": arrow_type.scale}
    if pt.is_date32(arrow_type):
        return {"type": "int", "logicalType": "date"}
    if pt.is_time64(arrow_type):
        if (declared.precision or 0) > 3:
            raise SchemaError(
                f"Column '{path}' is TIME({declared.precision}), but the avro format has milliseconds at most. "
                "Declare it as TIME(3).",
                column=path,
            )
        return {"type": "int", "logicalType": "time-millis"}
    if pt.is_timestamp(arrow_type):
        return {"type": "long", "logicalType": _timestamp(arrow_type, path, declared, legacy, strict)}
    raise SchemaError(f"Column '{path}' is {arrow_type}, for which Avro has no type.", column=path)


def _timestamp(arrow_type: pa.DataType, path: str, declared: DeclaredType, legacy: bool, strict: bool) -> str:
    precision = _DEFAULT_PRECISION if declared.precision is None else declared.precision
    if precision > 6 and not legacy:
        raise SchemaError(
            f"Column '{path}' is TIMESTAMP({precision}), but the avro format has microseconds at most. Declare it as "
            "TIMESTAMP(6).",
            column=path,
        )
    unit = "millis" if precision <= 3 else "micros"
    if legacy and arrow_type.tz is None and precision <= 3:
        return "timestamp-millis"
    if not strict:  # also inside ARRAY and MAP, where Flink does not support types that the legacy mapping lacks
        return f"timestamp-{unit}" if arrow_type.tz is not None else f"local-timestamp-{unit}"
    sql_type = "TIMESTAMP_LTZ" if arrow_type.tz is not None else f"TIMESTAMP({precision})"
    raise SchemaError(
        f"Column '{path}' is {sql_type}, but the avro format has only TIMESTAMP with at most milliseconds while its "
        "option 'timestamp_mapping.legacy' is 'true'. Set the option to 'false', or declare the column as "
        "TIMESTAMP(3).",
        column=path,
    )
