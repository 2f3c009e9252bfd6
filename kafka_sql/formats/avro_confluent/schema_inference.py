"""Infer the columns of a table from an Avro schema.

The types are those of Flink's AvroSchemaConverter without the legacy timestamp mapping.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kafka_sql.errors import SchemaError
from kafka_sql.formats.avro.schema import AvroType, parse_schema
from kafka_sql.formats.confluent.schemas import RegisteredSchema
from kafka_sql.formats.declared_types import quote_identifier
from kafka_sql.formats.format import ColumnTypes
from kafka_sql.formats.inferred_types import size_limit

_SQL_TYPES: Final = {
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
_LOGICAL_SQL_TYPES: Final = {
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
    return _columns(record, "", size_limit())


def _columns(record: AvroType, prefix: str, count: Callable[[str, str], None]) -> ColumnTypes:
    columns = []
    for f in record.fields:
        count(f.name, prefix + f.name)
        columns.append((f.name, _sql_type(f.type, prefix + f.name, count)))
    return tuple(columns)


def _sql_type(avro: AvroType, path: str, count: Callable[[str, str], None]) -> str:
    if avro.type_name != "union":
        return f"{_non_null_type(avro, path, count)} NOT NULL"
    branches = [branch for branch in avro.items if branch.type_name != "null"]
    if len(branches) != 1:
        raise SchemaError(
            f"Field '{path}' of the Avro schema is {avro}, a union of several types, which no column type can hold. "
            "Declare the table's columns, without this field or with the type that you need.",
            column=path,
        )
    return _non_null_type(branches[0], path, count) + ("" if len(branches) < len(avro.items) else " NOT NULL")


def _non_null_type(avro: AvroType, path: str, count: Callable[[str, str], None]) -> str:
    if avro.type_name == "record":
        fields = [f"{quote_identifier(name)} {sql_type}" for name, sql_type in _columns(avro, f"{path}.", count)]
        return f"ROW<{', '.join(fields)}>"
    if avro.type_name == "array":
        return f"ARRAY<{_sql_type(avro.element, f'{path}[]', count)}>"
    if avro.type_name == "map":
        return f"MAP<STRING NOT NULL, {_sql_type(avro.element, f'{path}[]', count)}>"
    if avro.logical_type == "decimal" and avro.type_name in ("bytes", "fixed"):
        return f"DECIMAL({avro.precision}, {avro.scale})"
    if avro.type_name not in _SQL_TYPES:
        raise SchemaError(
            f"Field '{path}' of the Avro schema is {avro}, which no column type can hold. Declare the table's columns.",
            column=path,
        )
    return _LOGICAL_SQL_TYPES.get((avro.type_name, avro.logical_type), _SQL_TYPES[avro.type_name])
