"""Add columns that a CREATE TABLE does not declare: those of the query of CREATE TABLE ... AS, and inferred ones.

Columns are inferred from the schemas of the formats or from a sample of the records.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructType

from kafka_sql.errors import SchemaError
from kafka_sql.source.schema_inference import infer_columns
from kafka_sql.sql.grammar.parser import parse_type
from kafka_sql.sql.grammar.statement_nodes import ColumnDeclaration, Declaration
from kafka_sql.sql.grammar.types import SAME_IN_SPARK, Field, FlinkType, to_flink_type
from kafka_sql.table.table import Table

_FLINK_TYPES: Final = {  # those with another name, or a precision
    "timestamp": FlinkType("TIMESTAMP_LTZ", (6,)),
    "timestamp_ntz": FlinkType("TIMESTAMP", (6,)),
    "binary": FlinkType("BYTES"),
}


def columns_from_schema(schema: StructType, where: str) -> list[ColumnDeclaration]:
    """Return the columns of a DataFrame as Flink column declarations.

    Raises:
        SchemaError: a type that Flink does not have, such as an interval; or no columns.
    """
    if not schema.fields:
        raise SchemaError(f"{where} has no columns.")
    columns = []
    for field in schema.fields:
        type = _to_flink_type(field.dataType, field.nullable, f"{where}, column {field.name!r}")
        columns.append(ColumnDeclaration(field.name, type.text, type))
    return columns


def _to_flink_type(type: DataType, nullable: bool, where: str) -> FlinkType:
    flink = _convert(type, where)
    return replace(flink, nullable=nullable, text=to_flink_type(flink))


def _convert(type: DataType, where: str) -> FlinkType:
    if isinstance(type, DecimalType):
        return FlinkType("DECIMAL", (type.precision, type.scale))
    if isinstance(type, ArrayType):
        return FlinkType("ARRAY", elements=(_to_flink_type(type.elementType, type.containsNull, where),))
    if isinstance(type, MapType):
        value = _to_flink_type(type.valueType, type.valueContainsNull, where)
        return FlinkType("MAP", elements=(_to_flink_type(type.keyType, True, where), value))
    if isinstance(type, StructType):
        fields = (Field(f.name, _to_flink_type(f.dataType, f.nullable, where)) for f in type.fields)
        return FlinkType("ROW", fields=tuple(fields))
    name = type.simpleString()
    if name.startswith(("string", "varchar", "char")):
        return FlinkType("STRING")
    if name.startswith("time("):
        return FlinkType("TIME", (int(name[5:-1]),))
    if name.upper() in SAME_IN_SPARK:
        return FlinkType(name.upper())
    if name not in _FLINK_TYPES:
        raise SchemaError(f"{where}: type {name} has no equivalent in Flink. CAST it in the query.")
    return _FLINK_TYPES[name]


def add_query_columns(declaration: Declaration, query: list[ColumnDeclaration]) -> Declaration:
    """Append the query's columns. A column in both has the declared type and the query's position, as in Flink.

    Raises:
        SchemaError: a name list that does not match the query, or a computed column that the query also has.
    """
    names = [c.name for c in query]
    if declaration.identifiers:
        return replace(
            declaration, columns=_reorder_columns(declaration, query), identifiers=[], query=None, replace=False
        )
    declared = {c.name: c for c in declaration.columns}
    for name in names:
        if name in declared and declared[name].expression is not None:
            raise SchemaError(
                f"Computed column '{name}' is also a column of the query. Remove it from one of them.", column=name
            )
        if names.count(name) > 1:
            raise SchemaError(f"The query has more than one column '{name}'. Rename them with AS.", column=name)
    columns = [*(c for c in declaration.columns if c.name not in names), *(declared.get(c.name, c) for c in query)]
    return replace(declaration, columns=columns, query=None, replace=False)


def _reorder_columns(declaration: Declaration, query: list[ColumnDeclaration]) -> list[ColumnDeclaration]:
    if declaration.columns:
        raise SchemaError(
            "CREATE TABLE ... AS: the column list mixes names without a type and columns with a type. Use one form."
        )
    columns = {c.name: c for c in query}
    if len(declaration.identifiers) != len(query):
        raise SchemaError(
            "The number of columns in the column list must match the number of columns in the source schema: the list "
            f"has {len(declaration.identifiers)}, the query {len(query)} ({', '.join(columns)})."
        )
    for name in declaration.identifiers:
        if name not in columns:
            raise SchemaError(f"Column '{name}' not found in the source schema: {', '.join(columns)}.", column=name)
    return [columns[name] for name in declaration.identifiers]


def add_inferred_columns(declaration: Declaration) -> Declaration:
    """Add the inferred columns: key columns, then value columns, then the declared metadata and computed columns.

    The declaration is unchanged if it has physical columns, or if its value's format cannot infer columns.

    Raises:
        KafkaSqlError: the registry's schema or the records are unavailable, or have no equivalent columns.
    """
    options = dict(declaration.options or ())
    if any(column.is_physical for column in declaration.columns) or declaration.unsupported is not None:
        return declaration
    primary_key = declaration.keys[0].columns if declaration.keys else ()
    inferred = infer_columns(Table(declaration.name, (), options, primary_key))
    if inferred is None:
        return declaration
    types = [(name, parse_type(text)) for name, text in inferred.columns]
    columns = [ColumnDeclaration(name, type.text, type) for name, type in types]
    return replace(
        declaration,
        columns=[*columns, *declaration.columns],
        options=[*(declaration.options or ()), *((k, v) for k, v in inferred.options.items() if k not in options)],
    )
