"""CREATE TABLE ... AS: the columns of the query, and what the statement says of them."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructType

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.errors import SchemaError
from kafka_sql.sql.grammar.declaration import ColumnDeclaration, Declaration
from kafka_sql.sql.grammar.dialect import parse_declaration

_FLINKS = {
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
    """The columns of a DataFrame as Flink declares them.

    Raises:
        SchemaError: a type that Flink does not have, such as an interval.
    """
    if not schema.fields:
        raise SchemaError(f"{where} has no columns.")
    texts = [
        f"{quote(f.name)} {_type(f.dataType, f'{where}, column {f.name!r}')}{'' if f.nullable else ' NOT NULL'}"
        for f in schema.fields
    ]
    return parse_declaration(f"CREATE TABLE t ({', '.join(texts)})").columns


def _type(type: DataType, where: str) -> str:
    if isinstance(type, DecimalType):
        return f"DECIMAL({type.precision}, {type.scale})"
    if isinstance(type, ArrayType):
        return f"ARRAY<{_element(type.elementType, type.containsNull, where)}>"
    if isinstance(type, MapType):
        value = _element(type.valueType, type.valueContainsNull, where)
        return f"MAP<{_element(type.keyType, True, where)}, {value}>"
    if isinstance(type, StructType):
        fields = (f"{quote(f.name)} {_element(f.dataType, f.nullable, where)}" for f in type.fields)
        return f"ROW<{', '.join(fields)}>"
    name = type.simpleString()
    if name.startswith(("string", "varchar", "char")):
        return "STRING"
    if name.startswith("time("):
        return name.upper()
    if name not in _FLINKS:
        raise SchemaError(f"{where}: type {name} has no counterpart in Flink. CAST it in the query.")
    return _FLINKS[name]


def _element(type: DataType, nullable: bool, where: str) -> str:
    return _type(type, where) + ("" if nullable else " NOT NULL")


def add_query_columns(declaration: Declaration, query: list[ColumnDeclaration]) -> Declaration:
    """The declaration with the query's columns behind its own; a column of both has the declared type at the query's
    place, as in Flink.

    Raises:
        SchemaError: a list of names that is not the query's, or a column that both have and that is not physical.
    """
    names = [c.name for c in query]
    if declaration.identifiers:
        return replace(declaration, columns=_reordered(declaration, query), identifiers=[], query=None, replace=False)
    own = {c.name: c for c in declaration.columns}
    for name in names:
        if name in own and own[name].expression is not None:
            raise SchemaError(f"Column '{name}' is computed, and the query gives it, too. Leave it out of one of them.")
        if names.count(name) > 1:
            raise SchemaError(f"The query has more than one column '{name}'. Give them names with AS.")
    columns = [*(c for c in declaration.columns if c.name not in names), *(own.get(c.name, c) for c in query)]
    return replace(declaration, columns=columns, query=None, replace=False)


def _reordered(declaration: Declaration, query: list[ColumnDeclaration]) -> list[ColumnDeclaration]:
    if declaration.columns:
        raise SchemaError(
            "CREATE TABLE ... AS takes names without a type, or columns with one, and not both in one list."
        )
    columns = {c.name: c for c in query}
    if len(declaration.identifiers) != len(query):
        raise SchemaError(
            "The number of columns in the column list must match the number of columns in the source schema: the list "
            f"has {len(declaration.identifiers)}, the query {len(query)} ({', '.join(columns)})."
        )
    for name in declaration.identifiers:
        if name not in columns:
            raise SchemaError(f"Column '{name}' not found in the source schema: {', '.join(columns)}.")
    return [columns[name] for name in declaration.identifiers]
