"""Infer the columns of a CREATE TABLE without columns from the schemas of its formats."""

from __future__ import annotations

from dataclasses import replace

from kafka_sql.catalog.sql_literals import quote
from kafka_sql.definition import infer_columns
from kafka_sql.sql.grammar.declaration import Declaration
from kafka_sql.sql.grammar.dialect import parse_declaration


def add_inferred_columns(declaration: Declaration) -> Declaration:
    """Add the columns of the formats' schemas. The declaration is unchanged if it has physical columns or no schema.

    Key columns come first, then value columns, then the declared metadata and computed columns.

    Raises:
        SchemaRegistryError: the schema registry has no schema for the table, or does not respond.
        SchemaError: a field of the schema has no equivalent column type.
        OptionError: an option is invalid.
    """
    options = dict(declaration.options or ())
    if any(column.is_physical for column in declaration.columns) or declaration.unsupported is not None:
        return declaration
    inferred = infer_columns(options)
    if inferred is None:
        return declaration
    column_list = ", ".join(f"{quote(name)} {type}" for name, type in inferred.columns)
    columns = parse_declaration(f"CREATE TABLE t ({column_list})").columns
    return replace(
        declaration,
        columns=[*columns, *declaration.columns],
        options=[*(declaration.options or ()), *((k, v) for k, v in inferred.options.items() if k not in options)],
    )
