"""The Avro schema of a table's columns: Flink's AvroSchemaConverter, names, unions, defaults and all."""

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
_MICROS: Final = 6  # the precision of a TIMESTAMP that says none


def derive_schema(schema: pa.Schema, legacy: bool, lenient: bool = False) -> str:
    """The schema's JSON text, as Java prints it.

    Args:
        legacy: whether TIMESTAMP becomes timestamp-millis, and TIMESTAMP_LTZ has no form
            ('avro.timestamp_mapping.legacy').
        lenient: whether what the legacy mapping does not have takes the other one, instead of being refused.

    Raises:
        SchemaError: names the column that has no form in Avro.
    """
    refuse = legacy and not lenient
    fields = [_field(f, f.name, f"{RECORD}_{f.name}", declared_type(f), legacy, refuse) for f in schema]
    record = {"type": "record", "name": RECORD, "namespace": NAMESPACE, "fields": fields}
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False)


def _field(field: pa.Field, path: str, record: str, known: DeclaredType, legacy: bool, refuse: bool) -> dict[str, Any]:
    if not _NAME.fullmatch(field.name):
        raise SchemaError(
            f"Column '{path}' has no form in Avro: Illegal character in: {field.name}. Avro's names have "
            "letters, digits and underscores, and begin with no digit.",
            column=path,
        )
    found: dict[str, Any] = {"name": field.name, "type": _type(field, path, record, known, legacy, refuse)}
    if known.allows_null(field):
        found["default"] = None
    return found


def _type(field: pa.Field, path: str, record: str, known: DeclaredType, legacy: bool, refuse: bool) -> Any:
    """
    Args:
        legacy: the mapping here: Flink takes the legacy one inside ARRAY and MAP, whatever the option says.
        refuse: whether what that one does not have is refused.
    """
    t = field.type
    if pt.is_struct(t):
        fields = [
            _field(f, f"{path}.{f.name}", f"{record}_{f.name}", known.child(i), legacy, refuse) for i, f in enumerate(t)
        ]
        found: Any = {"type": "record", "name": record, "fields": fields}
    elif pt.is_list(t):
        found = {"type": "array", "items": _type(t.value_field, f"{path}[]", record, known.child(0), True, refuse)}
    elif pt.is_map(t):
        if not pt.is_string(t.key_type):
            raise SchemaError(
                "Avro format doesn't support non-string as key type of map. "
                f"The type of column '{path}' is: {t}. Declare it as MAP<STRING, ...>.",
                column=path,
            )
        found = {"type": "map", "values": _type(t.item_field, f"{path}[]", record, known.child(1), True, refuse)}
    else:
        found = _scalar(t, path, known, legacy, refuse)
    return ["null", found] if known.allows_null(field) else found


def _scalar(t: pa.DataType, path: str, known: DeclaredType, legacy: bool, refuse: bool) -> Any:
    if pt.is_boolean(t):
        return "boolean"
    if pt.is_signed_integer(t):
        return "long" if t.bit_width == 64 else "int"
    if pt.is_float32(t) or pt.is_float64(t):
        return "float" if t.bit_width == 32 else "double"
    if pt.is_string(t) or pt.is_large_string(t):
        return "string"
    if pt.is_binary(t) or pt.is_large_binary(t):
        return "bytes"
    if pt.is_decimal128(t):
        return {"type": "bytes", "logicalType": "decimal", "precision": t.precision, "scale": t.scale}
    if pt.is_date32(t):
        return {"type": "int", "logicalType": "date"}
    if pt.is_time64(t):
        if (known.precision or 0) > 3:
            raise SchemaError(
                f"Avro does not support TIME type with precision: {known.precision}, it only supports precision less "
                f"than 3. Declare column '{path}' as TIME(3).",
                column=path,
            )
        return {"type": "int", "logicalType": "time-millis"}
    if pt.is_timestamp(t):
        return {"type": "long", "logicalType": _timestamp(t, path, known, legacy, refuse)}
    raise SchemaError(f"Unsupported to derive Schema for type: {t} of column '{path}'.", column=path)


def _timestamp(t: pa.DataType, path: str, known: DeclaredType, legacy: bool, refuse: bool) -> str:
    precision = _MICROS if known.precision is None else known.precision
    unit = "millis" if precision <= 3 else "micros"
    if legacy and t.tz is None and precision <= 3:
        return "timestamp-millis"
    if not refuse:  # also inside ARRAY and MAP, where Flink refuses what the legacy mapping does not have
        return f"timestamp-{unit}" if t.tz is not None else f"local-timestamp-{unit}"
    remedy = "or set the format's option 'timestamp_mapping.legacy' to 'false'"
    if t.tz is not None:
        raise SchemaError(
            f"Unsupported to derive Schema for type: TIMESTAMP_LTZ of column '{path}'. Take TIMESTAMP(3), {remedy}.",
            column=path,
        )
    raise SchemaError(
        f"Avro does not support TIMESTAMP type with precision: {precision}, it only supports precision less than 3. "
        f"Declare column '{path}' as TIMESTAMP(3), {remedy}.",
        column=path,
    )
