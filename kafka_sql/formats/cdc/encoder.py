"""Rows to payloads of changes. As in Flink, an update is a delete of the old row and an insert of the new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.formats.cdc.dialect import Dialect
from kafka_sql.formats.format import ROW_KIND_COLUMN, Encoder
from kafka_sql.table.changelog import is_retraction


class Documents(Protocol):
    """Makes an encoder of documents with these fields."""

    def __call__(self, schema: pa.Schema, /) -> Encoder: ...


class ChangeEncoder:
    """Encodes each row as one change: an insert, unless the batch's column ROW_KIND_COLUMN says otherwise."""

    def __init__(
        self, dialect: Dialect, documents: Documents, schema: pa.Schema, check: Callable[[], None] = lambda: None
    ) -> None:
        """
        Args:
            check: raises InvalidOptionError where the table cannot be written; asked when it is.

        Raises:
            SchemaError: a column has no form in the documents.
        """
        self._dialect, self._check = dialect, check
        self._documents = documents(self._document(schema))

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """One payload a row.

        Raises:
            InvalidOptionError: the options forbid writing.
            EncodeError: a row kind that there is none of, or a value that has no form in the documents.
        """
        self._check()
        deleted = pa.repeat(False, batch.num_rows)
        if ROW_KIND_COLUMN in batch.schema.names:
            deleted = is_retraction(batch.column(ROW_KIND_COLUMN))
            batch = batch.drop_columns([ROW_KIND_COLUMN])
        row = pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema))
        return self._documents.encode(self._documents_of(row, deleted))

    def _document(self, schema: pa.Schema) -> pa.Schema:
        row = pa.StructArray.from_arrays([pa.nulls(0, f.type) for f in schema], fields=list(schema))
        return self._documents_of(row, pa.array([], pa.bool_())).schema

    def _documents_of(self, row: pa.StructArray, deleted: pa.BooleanArray) -> pa.RecordBatch:
        dialect = self._dialect
        operation = pc.if_else(deleted, dialect.deletes[0], dialect.inserts[0])
        if dialect.deletes_use_old:
            columns = {
                dialect.old_field: _only(row, deleted),
                dialect.new_field: _only(row, pc.invert(deleted)),
            }
        else:
            columns = {dialect.new_field: _one_each(row) if dialect.rows_in_arrays else row}
        columns[dialect.operation_field] = operation
        return pa.RecordBatch.from_pydict(columns)


def _only(row: pa.StructArray, chosen: pa.BooleanArray) -> pa.StructArray:
    """The rows, null where they are not chosen."""
    return pa.StructArray.from_arrays(row.flatten(), fields=list(row.type), mask=pc.invert(chosen))


def _one_each(row: pa.StructArray) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(np.arange(len(row) + 1), pa.int32()), row)
