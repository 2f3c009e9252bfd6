"""The columns of a table that declares none: those of an Avro schema, in Flink's words.

The types are those of Flink's AvroSchemaConverter, with its mapping of timestamps that is not the legacy one.
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
    """Names and types.

    Raises:
        ValueError: it is no schema of a record.
        SchemaError: a field has no type in a table.
    """
    found = parse_schema(registered.text, [text for _, text in registered.references])
    record = found.find_record()
    if record is None:
        raise ValueError(f"is {found}, expected a record")
    return infer_record_columns(record)


def infer_record_columns(record: AvroType) -> ColumnTypes:
    """Names and types of a record's fields.

    Raises:
        SchemaError: a field has no type in a table.
    """
    return tuple((f.name, _sql(f.type, f.name)) for f in record.fields)


def _sql(t: AvroType, path: str) -> str:
    if t.type_name != "union":
        return f"{_bare(t, path)} NOT NULL"
    others = [branch for branch in t.items if branch.type_name != "null"]
    if len(others) != 1:
        raise SchemaError(
            f"Field '{path}' of the Avro schema is {t}, a union of several types, which no column has. Declare the "
            "table's columns, and leave it out or take the type that you need.",
            column=path,
        )
    return _bare(others[0], path) + ("" if len(others) < len(t.items) else " NOT NULL")


def _bare(t: AvroType, path: str) -> str:
    if t.type_name == "record":
        fields = [f"{quote_identifier(f.name)} {_sql(f.type, f'{path}.{f.name}')}" for f in t.fields]
        return f"ROW<{', '.join(fields)}>"
    if t.type_name == "array":
        return f"ARRAY<{_sql(t.element, f'{path}[]')}>"
    if t.type_name == "map":
        return f"MAP<STRING NOT NULL, {_sql(t.element, f'{path}[]')}>"
    if t.logical_type == "decimal" and t.type_name in ("bytes", "fixed"):
        return f"DECIMAL({t.precision}, {t.scale})"
    if t.type_name not in _SIMPLE:
        raise SchemaError(
            f"Field '{path}' of the Avro schema is {t}, which no column has. Declare the table's columns.", column=path
        )
    return _LOGICAL.get((t.type_name, t.logical_type), _SIMPLE[t.type_name])
