"""Render a Table as its CREATE TABLE statement."""

from __future__ import annotations

from dataclasses import replace

from kafka_sql.catalog.sql_literals import qualified_name, quote
from kafka_sql.options.secrets import mask_value
from kafka_sql.table.table import Column, Table


def render_masked(table: Table) -> str:
    """Return Flink's CREATE TABLE statement for a table, with secrets in the values of options masked.

    ``parse_create`` parses it back into an equal table, except for the masked values.
    """
    return render_create_table(replace(table, options={k: mask_value(k, v) for k, v in table.options.items()}))


def render_create_table(table: Table) -> str:
    """Return Flink's CREATE TABLE statement including secrets, to be parsed again and never displayed."""
    elements = [_render_column(column) for column in table.columns]
    if table.watermark is not None:
        elements.append(f"WATERMARK FOR {quote(table.watermark.column)} AS {table.watermark.declared}")
    if table.primary_key:
        name = f"CONSTRAINT {quote(table.primary_key_name)} " if table.primary_key_name is not None else ""
        elements.append(f"{name}PRIMARY KEY ({', '.join(map(quote, table.primary_key))}) NOT ENFORCED")
    head = f"CREATE {'TEMPORARY ' if table.temporary else ''}TABLE {'IF NOT EXISTS ' if table.if_not_exists else ''}"
    comment = f" COMMENT {quote_string(table.comment)}" if table.comment is not None else ""
    options = [f"{quote_string(k)} = {quote_string(v)}" for k, v in table.options.items()]
    create = f"{head}{qualified_name(table.name)}"
    return f"{create} (\n  {_join_lines(elements)}\n){comment} WITH (\n  {_join_lines(options)}\n)"


def _join_lines(parts: list[str]) -> str:
    return ",\n  ".join(parts)


def _render_column(column: Column) -> str:
    name = quote(column.name)
    comment = f" COMMENT {quote_string(column.comment)}" if column.comment is not None else ""
    if column.expression is not None:
        return f"{name} AS {column.declared}{comment}"
    text = f"{name} {column.declared}{'' if column.nullable else ' NOT NULL'}"
    if column.metadata is not None:
        text += " METADATA"
        text += "" if column.metadata == column.name else f" FROM {quote_string(column.metadata)}"
        text += " VIRTUAL" if column.virtual else ""
    return text + comment


def quote_string(text: str) -> str:
    """Return a string literal of Flink's DDL."""
    return "'" + text.replace("'", "''") + "'"
