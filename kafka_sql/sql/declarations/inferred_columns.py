"""Infer the columns of a CREATE TABLE without columns, from the schemas of its formats or a sample of its records."""

from __future__ import annotations

from dataclasses import replace

from kafka_sql.source.schema_inference import infer_columns
from kafka_sql.sql.grammar.parser import parse_type
from kafka_sql.sql.grammar.statement_nodes import ColumnDeclaration, Declaration
from kafka_sql.table.table import Table


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
