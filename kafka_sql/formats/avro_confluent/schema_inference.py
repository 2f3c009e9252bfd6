"""Infer the columns of a table from an Avro schema.

The types are those of Flink's AvroSchemaConverter without the legacy timestamp mapping.
"""

from __future__ import annotations

from typing import Final

from kafka_sql.errors import SchemaError
from kafka_sql.formats.avro.schema import AvroType, parse_schema
from kafka_sql.formats.confluent.registry_schema import RegisteredSchema
from kafka_sql.formats.confluent.schema_inference import ColumnTypes, quote_identifier

_SIMPLE: Final = {
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "STRING",
    "bytes": "BYTES",
    "enum": "STRING",
    "fixed": "BYTES",
}
_LOGICAL: Final = {
    ("int", "date"): "DATE",
    ("int", "time-millis"): "TIME(3)",
    ("long", "time-micros"): "TIME(6)",
    ("long", "timestamp-millis"): "TIMESTAMP_LTZ(3)",
    ("long", "timestamp-micros"): "TIMESTAMP_LTZ(6)",
    ("long", "timestamp-nanos"): "TIMESTAMP_LTZ(6)",
    ("long", "local-timestamp-millis"): "TIMESTAMP(3)",
    ("long", "local-timestamp-micros"): "TIMESTAMP(6)",
    ("long", "local-timestamp-nanos"): "TIMESTAMP(6)",
}


def infer_columns(registered: RegisteredSchema) -> ColumnTypes:
    """Return names and types.

    Raises:
        ValueError: it is not the schema of a record.
        SchemaError: no column type can hold a field.
    """
    avro = parse_schema(registered.text, registered.reference_texts)
    record = avro.find_record()
    if record is None:
        raise ValueError(f"is {avro}, expected a record")
    return infer_record_columns(record)


def infer_record_columns(record: AvroType) -> ColumnTypes:
    """Return names and types of a record's fields.

    Raises:
        SchemaError: no column type can hold a field.
    """
    return tuple((f.name, _sql_type(f.type, f.name)) for f in record.fields)


def _sql_type(t: AvroType, path: str) -> str:
    if t.type_name != "union":
        return f"{_non_null_type(t, path)} NOT NULL"
    others = [branch for branch in t.items if branch.type_name != "null"]
    if len(others) != 1:
        raise SchemaError(
            f"Field '{path}' of the Avro schema is {t}, a union of several types, which no column type can hold. "
            "Declare the table's columns, without this field or with the type that you need.",
            column=path,
        )
    return _non_null_type(others[0], path) + ("" if len(others) < len(t.items) else " NOT NULL")


def _non_null_type(t: AvroType, path: str) -> str:
    if t.type_name == "record":
        fields = [f"{quote_identifier(f.name)} {_sql_type(f.type, f'{path}.{f.name}')}" for f in t.fields]
        return f"ROW<{', '.join(fields)}>"
    if t.type_name == "array":
        return f"ARRAY<{_sql_type(t.element, f'{path}[]')}>"
    if t.type_name == "map":
        return f"MAP<STRING NOT NULL, {_sql_type(t.element, f'{path}[]')}>"
    if t.logical_type == "decimal" and t.type_name in ("bytes", "fixed"):
        return f"DECIMAL({t.precision}, {t.scale})"
    if t.type_name not in _SIMPLE:
        raise SchemaError(
            f"Field '{path}' of the Avro schema is {t}, which no column type can hold. Declare the table's columns.",
            column=path,
        )
    return _LOGICAL.get((t.type_name, t.logical_type), _SIMPLE[t.type_name])
