"""A Table as the statement that declares it."""

from __future__ import annotations

from dataclasses import replace

from kafka_sql.catalog.sql_literals import qualified_name, quote
from kafka_sql.options.secrets import is_secret
from kafka_sql.table.declaration import Column, Table

MASK = "******"


def render_masked(table: Table) -> str:
    """The CREATE TABLE statement of a table, in Flink's words; the values of secret options are masked.

    Reading it again with ``parse_create`` gives an equal table, up to the masked values.
    """
    return render_create_table(
        replace(table, options={k: MASK if is_secret(k) else v for k, v in table.options.items()})
    )


def render_create_table(table: Table) -> str:
    """The same with the secrets, for what is parsed again and never shown."""
    elements = [_column(column) for column in table.columns]
    if table.watermark is not None:
        elements.append(f"WATERMARK FOR {quote(table.watermark.column)} AS {table.watermark.declared}")
    if table.primary_key:
        name = f"CONSTRAINT {quote(table.primary_key_name)} " if table.primary_key_name is not None else ""
        elements.append(f"{name}PRIMARY KEY ({', '.join(map(quote, table.primary_key))}) NOT ENFORCED")
    head = f"CREATE {'TEMPORARY ' if table.temporary else ''}TABLE {'IF NOT EXISTS ' if table.if_not_exists else ''}"
    comment = f" COMMENT {_string(table.comment)}" if table.comment is not None else ""
    options = [f"{_string(k)} = {_string(v)}" for k, v in table.options.items()]
    return f"{head}{qualified_name(table.name)} (\n  {_lines(elements)}\n){comment} WITH (\n  {_lines(options)}\n)"


def _lines(parts: list[str]) -> str:
    return ",\n  ".join(parts)


def _column(column: Column) -> str:
    name = quote(column.name)
    comment = f" COMMENT {_string(column.comment)}" if column.comment is not None else ""
    if column.expression is not None:
        return f"{name} AS {column.declared}{comment}"
    text = f"{name} {column.declared}{'' if column.nullable else ' NOT NULL'}"
    if column.metadata is not None:
        text += " METADATA"
        text += "" if column.metadata == column.name else f" FROM {_string(column.metadata)}"
        text += " VIRTUAL" if column.virtual else ""
    return text + comment


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
