"""Tables whose records are changes of rows, and how they may be read. Checked on the driver, before planning."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import SchemaError, UnsupportedSqlError
from kafka_sql.table.changelog import ROW_KIND

_DECLARE = "a column `kind STRING METADATA FROM 'row-kind' VIRTUAL`"


def check_batch_read(definition: Definition) -> None:
    """Check that a batch read is not of changes as if they were rows.

    Raises:
        UnsupportedSqlError: neither the latest row of a key can be told nor what a row is.
    """
    if definition.is_changelog and not definition.reads_latest_per_key and not _says_kinds(definition):
        raise UnsupportedSqlError(
            f"Table '{definition.name}': the format '{definition.value.format.identifier}' has changes of rows. "
            f"Declare PRIMARY KEY (...) NOT ENFORCED to read the current content, or {_DECLARE} to read every change."
        )


def check_stream_read(definition: Definition) -> None:
    """Check that a stream is not of changes as if they were rows: Spark's streams have new rows only.

    Raises:
        UnsupportedSqlError: says how the table can be read.
    """
    if definition.is_upsert:
        raise UnsupportedSqlError(
            f"Table '{definition.name}': a stream of an 'upsert-kafka' table is a stream of changes, and "
            "Spark's streams have new rows only: an aggregate would count a row and never take it back. Read it as "
            "a batch, or declare the topic as a 'kafka' table to have all its records."
        )
    if definition.is_changelog and not _says_kinds(definition):
        raise UnsupportedSqlError(
            f"Table '{definition.name}': a stream of the format '{definition.value.format.identifier}' is a stream of "
            "changes, and Spark's streams have new rows only: an aggregate would count a row and never take it back. "
            f"Read it as a batch, or declare {_DECLARE}, which says of every row what happened: +I, -U, +U or -D."
        )


def _says_kinds(definition: Definition) -> bool:
    return any(column.metadata == ROW_KIND for column in definition.table.stored_columns)


def check_key_types(schema: pa.Schema, key: Sequence[str]) -> None:
    """Check that keys can be compared.

    Raises:
        SchemaError: a key column is nested.
    """
    for name in key:
        kind = schema.field(name).type
        if pa.types.is_nested(kind):
            raise SchemaError(
                f"PRIMARY KEY column '{name}' cannot be of type {kind}: keys are compared, and nested values are not."
            )
