"""The JSON Schema of a table: of what formats/json writes of its columns.

What JSON Schema has no word for is told by those that Kafka Connect and Confluent's Flink use: ``connect.type``,
``connect.index`` (the order of the columns), ``flink.type`` and ``flink.precision``.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.errors import SchemaError
from kafka_sql.formats.confluent.options import RegistryOptions
from kafka_sql.formats.declared_types import DeclaredType, declared_type
from kafka_sql.options import Options

DRAFT: Final = "http://json-schema.org/draft-07/schema#"
DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
PRECISION: Final = "connect.decimal.precision"
_MICROS: Final = 6


def table_schema(schema: pa.Schema, known: RegistryOptions, options: Options) -> str:
    """The schema's text: what the options give, or what the columns make.

    Raises:
        SchemaError: the given schema is none, or does not fit the columns.
    """
    given = options.get(known.schema)
    if given is None:
        return derive_schema(schema)
    what = f"The JSON Schema of option '{known.schema.key}'"
    try:
        found = json.loads(given)
    except ValueError as e:
        raise SchemaError(f"{what} is not JSON: {e}.") from e
    if not isinstance(found, dict):
        raise SchemaError(f"{what} is no object.")
    properties, required = found.get("properties", {}), found.get("required", [])
    if "$ref" not in found and (not set(schema.names) <= set(properties) or not set(required) <= set(schema.names)):
        raise SchemaError(
            f"Schema provided for '{known.format}' format (option '{known.schema.key}') does not match the table "
            f"schema: it has the properties [{', '.join(properties)}], required [{', '.join(required)}], expected "
            f"[{', '.join(schema.names)}]."
        )
    return given


def derive_schema(schema: pa.Schema) -> str:
    """The schema's JSON text."""
    record = {"$schema": DRAFT, "title": "Record", **_object([(f, declared_type(f)) for f in schema])}
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False)


def _object(fields: list[tuple[pa.Field, DeclaredType]]) -> dict[str, Any]:
    properties = {f.name: {"connect.index": i, **_value(f, known)} for i, (f, known) in enumerate(fields)}
    required = [f.name for f, known in fields if not known.allows_null(f)]
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def _value(field: pa.Field, known: DeclaredType) -> dict[str, Any]:
    found = _type(field.type, known)
    return {"oneOf": [{"type": "null"}, found]} if known.allows_null(field) else found


def _type(t: pa.DataType, known: DeclaredType) -> dict[str, Any]:
    if pt.is_struct(t):
        return _object([(f, known.child(i)) for i, f in enumerate(t)])
    if pt.is_list(t):
        return {"type": "array", "items": _value(t.value_field, known.child(0))}
    if pt.is_map(t):
        values = _value(t.item_field, known.child(1))
        return {"type": "object", "connect.type": "map", "additionalProperties": values}
    if pt.is_boolean(t):
        return {"type": "boolean"}
    if pt.is_integer(t):
        return {"type": "integer", "connect.type": f"int{t.bit_width}"}
    if pt.is_floating(t):
        return {"type": "number", "connect.type": f"float{t.bit_width}"}
    if pt.is_decimal(t):
        parameters = {"scale": str(t.scale), PRECISION: str(t.precision)}
        return {"type": "number", "title": DECIMAL, "connect.type": "bytes", "connect.parameters": parameters}
    if pt.is_binary(t) or pt.is_large_binary(t):
        return {"type": "string", "connect.type": "bytes", "contentEncoding": "base64"}
    if pt.is_date(t):
        return {"type": "string", "format": "date"}
    if pt.is_time(t) or pt.is_timestamp(t):
        word = "time" if pt.is_time(t) else "timestamp" if t.tz is None else "timestamp_ltz"
        default = 0 if pt.is_time(t) else _MICROS
        precision = default if known.precision is None else known.precision
        return {"type": "string", "flink.type": word, "flink.precision": precision}
    return {"type": "string"}
