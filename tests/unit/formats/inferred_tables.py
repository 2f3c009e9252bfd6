"""The Arrow schema with which a table of inferred columns is read."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.formats.format import ColumnTypes
from kafka_sql.sql.grammar.parser import parse_declaration
from kafka_sql.sql.grammar.types import FlinkType

_SCALARS: Final = {"BOOLEAN": pa.bool_(), "BIGINT": pa.int64(), "DOUBLE": pa.float64(), "STRING": pa.string()}


def schema_of(columns: ColumnTypes) -> pa.Schema:
    """Return the schema of a table with these columns."""
    column_list = ", ".join(f"{quote(name)} {sql_type}" for name, sql_type in columns)
    declared = parse_declaration(f"CREATE TABLE t ({column_list})").columns
    return pa.schema([(column.name, _arrow_type(column.type)) for column in declared if column.type is not None])


def _arrow_type(sql_type: FlinkType) -> pa.DataType:
    if sql_type.name == "ROW":
        return pa.struct([(field.name, _arrow_type(field.type)) for field in sql_type.fields])
    if sql_type.name == "ARRAY":
        return pa.list_(_arrow_type(sql_type.elements[0]))
    return _SCALARS[sql_type.name]
