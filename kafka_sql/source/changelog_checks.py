"""Check whether a changelog table can be read as requested. Runs on the driver, before planning."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from kafka_sql.definition import Definition
from kafka_sql.errors import SchemaError, UnsupportedSqlError

_ROW_KIND_COLUMN = "a column `kind STRING METADATA FROM 'row-kind' VIRTUAL`"


def check_stream_read(definition: Definition) -> None:
    """Check that a streaming read does not return changes as if they were rows: Spark's streams are append-only.

    A streaming INSERT reads changes with their row kinds, so this concerns other queries.

    Raises:
        UnsupportedSqlError: the table is a changelog, and has no row kind column.
    """
    if definition.reads_content:
        raise UnsupportedSqlError(
            f"Table '{definition.name}': a stream of changes needs a row kind column, because Spark's streams are "
            f"append-only. Declare {_ROW_KIND_COLUMN}, whose value is +I, -U, +U or -D. Or write a streaming INSERT "
            "INTO in Flink's SQL, which applies the changes, or read the table in a batch query.",
            table=definition.name,
        )


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
