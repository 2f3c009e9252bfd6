"""Check whether a changelog table can be read as requested. Runs on the driver, before planning."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import SchemaError, UnsupportedSqlError
from kafka_sql.table.changelog import ROW_KIND

_ROW_KIND_COLUMN = "a column `kind STRING METADATA FROM 'row-kind' VIRTUAL`"


def check_batch_read(definition: Definition) -> None:
    """Check that a batch read of a changelog table can return the latest rows or the row kinds.

    Raises:
        UnsupportedSqlError: the table has neither a primary key nor a row kind column.
    """
    if definition.is_changelog and not definition.reads_latest_per_key and not _has_row_kind_column(definition):
        raise UnsupportedSqlError(
            f"Table '{definition.name}': batch reads of the format '{definition.value.format.identifier}' need a "
            "primary key or a row kind column. Declare PRIMARY KEY (...) NOT ENFORCED to read the latest rows, or "
            f"{_ROW_KIND_COLUMN} to read every change.",
            table=definition.name,
        )


def check_stream_read(definition: Definition) -> None:
    """Check that a streaming read does not return changes as if they were rows: Spark's streams are append-only.

    Raises:
        UnsupportedSqlError: the table is an 'upsert-kafka' table, or a changelog table without a row kind column.
    """
    if definition.is_upsert:
        raise UnsupportedSqlError(
            f"Table '{definition.name}': streaming reads of 'upsert-kafka' tables are not supported, because Spark's "
            "streams are append-only. Read the table in a batch query, or declare the topic as a 'kafka' table to "
            "read all its records.",
            table=definition.name,
        )
    if definition.is_changelog and not _has_row_kind_column(definition):
        raise UnsupportedSqlError(
            f"Table '{definition.name}': streaming reads of the format '{definition.value.format.identifier}' need a "
            f"row kind column, because Spark's streams are append-only. Declare {_ROW_KIND_COLUMN}, whose value is "
            "+I, -U, +U or -D, or read the table in a batch query.",
            table=definition.name,
        )


def _has_row_kind_column(definition: Definition) -> bool:
    return any(column.metadata == ROW_KIND for column in definition.table.source_columns)


def check_key_types(schema: pa.Schema, key: Sequence[str]) -> None:
    """Check that keys can be compared.

    Raises:
        SchemaError: a key column is nested.
    """
    for name in key:
        column_type = schema.field(name).type
        if pa.types.is_nested(column_type):
            raise SchemaError(
                f"PRIMARY KEY column '{name}' cannot be of type {column_type}: nested values cannot be compared. "
                "Use a column of an atomic type.",
                column=name,
            )
