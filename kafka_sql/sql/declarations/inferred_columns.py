"""CREATE TABLE without columns: its formats tell them."""

from __future__ import annotations

from dataclasses import replace

from kafka_sql.definition import infer_columns
from kafka_sql.sql.grammar.declaration import Declaration
from kafka_sql.sql.grammar.dialect import parse_declaration


def add_inferred_columns(declaration: Declaration) -> Declaration:
    """The declaration with the columns that its formats know; as it is where it declares some, or they know none.

    Columns of the key come first, then those of the value, then what was declared (metadata, computed columns).

    Raises:
        SchemaRegistryError: the registry has no schema for the table, or does not answer.
        SchemaError: a field of the schema has no type in a table.
        OptionError: an option is in error.
    """
    options = dict(declaration.options or ())
    if any(column.is_physical for column in declaration.columns) or declaration.unsupported is not None:
        return declaration
    found = infer_columns(options)
    if found is None:
        return declaration
    texts = ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in found.columns)
    columns = parse_declaration(f"CREATE TABLE inferred ({texts})").columns
    return replace(
        declaration,
        columns=[*columns, *declaration.columns],
        options=[*(declaration.options or ()), *((k, v) for k, v in found.options.items() if k not in options)],
    )
