"""Merge the columns of a CREATE TABLE ... AS statement with those of its query."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructType

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.errors import SchemaError
from kafka_sql.sql.grammar.declaration import ColumnDeclaration, Declaration
from kafka_sql.sql.grammar.dialect import parse_declaration

_FLINK_TYPES = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INT",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "timestamp": "TIMESTAMP_LTZ(6)",
    "timestamp_ntz": "TIMESTAMP(6)",
    "binary": "BYTES",
}


def columns_from_schema(schema: StructType, where: str) -> list[ColumnDeclaration]:
    """Return the columns of a DataFrame as Flink column declarations.

    Raises:
        SchemaError: a type that Flink does not have, such as an interval; or no columns.
    """
    if not schema.fields:
        raise SchemaError(f"{where} has no columns.")
    texts = [
        f"{quote(f.name)} {_render_nullable_type(f.dataType, f.nullable, f'{where}, column {f.name!r}')}"
        for f in schema.fields
    ]
    return parse_declaration(f"CREATE TABLE t ({', '.join(texts)})").columns


def _render_type(type: DataType, where: str) -> str:
    if isinstance(type, DecimalType):
        return f"DECIMAL({type.precision}, {type.scale})"
    if isinstance(type, ArrayType):
        return f"ARRAY<{_render_nullable_type(type.elementType, type.containsNull, where)}>"
    if isinstance(type, MapType):
        value = _render_nullable_type(type.valueType, type.valueContainsNull, where)
        return f"MAP<{_render_nullable_type(type.keyType, True, where)}, {value}>"
    if isinstance(type, StructType):
        fields = (f"{quote(f.name)} {_render_nullable_type(f.dataType, f.nullable, where)}" for f in type.fields)
        return f"ROW<{', '.join(fields)}>"
    name = type.simpleString()
    if name.startswith(("string", "varchar", "char")):
        return "STRING"
    if name.startswith("time("):
        return name.upper()
    if name not in _FLINK_TYPES:
        raise SchemaError(f"{where}: type {name} has no equivalent in Flink. CAST it in the query.")
    return _FLINK_TYPES[name]


def _render_nullable_type(type: DataType, nullable: bool, where: str) -> str:
    return _render_type(type, where) + ("" if nullable else " NOT NULL")


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
