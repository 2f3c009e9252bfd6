"""Return the JSON Schema of a table: the one in its options, or one that describes what formats/json writes.

Types that JSON Schema lacks are annotated as Kafka Connect and Confluent's Flink do: ``connect.type``,
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
_DEFAULT_PRECISION: Final = 6  # of TIMESTAMP


def table_schema(schema: pa.Schema, registry_options: RegistryOptions, options: Options) -> str:
    """Return the schema's JSON text.

    Raises:
        SchemaError: the schema in the options is invalid, or does not match the columns.
    """
    option = registry_options.schema
    text = options.get(option)
    if text is None:
        return derive_schema(schema)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise SchemaError(f"The JSON Schema of option '{option.key}' is not JSON: {e}.") from e
    if not isinstance(document, dict):
        raise SchemaError(f"The JSON Schema of option '{option.key}' is not an object.")
    properties, required = document.get("properties", {}), document.get("required", [])
    if not isinstance(properties, dict):
        raise SchemaError(f"The JSON Schema of option '{option.key}': 'properties' is not an object.")
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise SchemaError(f"The JSON Schema of option '{option.key}': 'required' is not an array of strings.")
    matches = set(required) <= set(schema.names) <= set(properties)
    if "$ref" not in document and not matches:
        raise SchemaError(
            f"Schema provided for '{registry_options.format}' format (option '{option.key}') does not match the table "
            f"schema: it has the properties [{', '.join(properties)}], required [{', '.join(required)}], expected "
            f"[{', '.join(schema.names)}]."
        )
    return text


def derive_schema(schema: pa.Schema) -> str:
    """Derive the schema's JSON text from the columns."""
    record = {"$schema": DRAFT, "title": "Record", **_object_schema([(f, declared_type(f)) for f in schema])}
    return json.dumps(record, separators=(",", ":"), ensure_ascii=False)


def _object_schema(fields: list[tuple[pa.Field, DeclaredType]]) -> dict[str, Any]:
    properties = {f.name: {"connect.index": i, **_value_schema(f, declared)} for i, (f, declared) in enumerate(fields)}
    required = [f.name for f, declared in fields if not declared.allows_null(f)]
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def _value_schema(field: pa.Field, declared: DeclaredType) -> dict[str, Any]:
    node = _type_schema(field.type, declared)
    return {"oneOf": [{"type": "null"}, node]} if declared.allows_null(field) else node


def _type_schema(arrow_type: pa.DataType, declared: DeclaredType) -> dict[str, Any]:
    if pt.is_struct(arrow_type):
        return _object_schema([(f, declared.child(i)) for i, f in enumerate(arrow_type)])
    if pt.is_list(arrow_type):
        return {"type": "array", "items": _value_schema(arrow_type.value_field, declared.child(0))}
    if pt.is_map(arrow_type):
        values = _value_schema(arrow_type.item_field, declared.child(1))
        return {"type": "object", "connect.type": "map", "additionalProperties": values}
    if pt.is_boolean(arrow_type):
        return {"type": "boolean"}
    if pt.is_integer(arrow_type):
        return {"type": "integer", "connect.type": f"int{arrow_type.bit_width}"}
    if pt.is_floating(arrow_type):
        return {"type": "number", "connect.type": f"float{arrow_type.bit_width}"}
    if pt.is_decimal(arrow_type):
        parameters = {"scale": str(arrow_type.scale), PRECISION: str(arrow_type.precision)}
        return {"type": "number", "title": DECIMAL, "connect.type": "bytes", "connect.parameters": parameters}
    if pt.is_binary(arrow_type) or pt.is_large_binary(arrow_type):
        return {"type": "string", "connect.type": "bytes", "contentEncoding": "base64"}
    if pt.is_date(arrow_type):
        return {"type": "string", "format": "date"}
    if pt.is_time(arrow_type) or pt.is_timestamp(arrow_type):
        type_name = "time" if pt.is_time(arrow_type) else "timestamp" if arrow_type.tz is None else "timestamp_ltz"
        default = 0 if pt.is_time(arrow_type) else _DEFAULT_PRECISION
        precision = default if declared.precision is None else declared.precision
        return {"type": "string", "flink.type": type_name, "flink.precision": precision}
    return {"type": "string"}
