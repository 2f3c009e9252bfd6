"""Encode rows as change events. As in Flink, an update is a delete of the old row and an insert of the new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.formats.cdc.dialect import Dialect
from kafka_sql.formats.format import ROW_KIND_COLUMN, Encoder
from kafka_sql.table.changelog import is_retraction


class CreateEncoder(Protocol):
    """Creates an encoder of documents with the given fields."""

    def __call__(self, schema: pa.Schema, /) -> Encoder: ...


class ChangeEncoder:
    """Encodes each row as one change event: an insert, unless the column ROW_KIND_COLUMN has another row kind."""

    def __init__(
        self,
        dialect: Dialect,
        create_encoder: CreateEncoder,
        schema: pa.Schema,
        check_writable: Callable[[], None] = lambda: None,
    ) -> None:
        """
        Args:
            check_writable: raises InvalidOptionError if the options do not allow writing; called by ``encode``.

        Raises:
            SchemaError: the documents cannot represent a column.
        """
        self._dialect, self._check_writable = dialect, check_writable
        self._encoder = create_encoder(self._document_schema(schema))

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row.

        Raises:
            InvalidOptionError: the options do not allow writing.
            EncodeError: a row kind is unknown, or the documents cannot represent a value.
        """
        self._check_writable()
        is_deleted = pa.repeat(False, batch.num_rows)
        if ROW_KIND_COLUMN in batch.schema.names:
            is_deleted = is_retraction(batch.column(ROW_KIND_COLUMN))
            batch = batch.drop_columns([ROW_KIND_COLUMN])
        row = pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema))
        return self._encoder.encode(self._documents(row, is_deleted))

    def _document_schema(self, schema: pa.Schema) -> pa.Schema:
        row = pa.StructArray.from_arrays([pa.nulls(0, f.type) for f in schema], fields=list(schema))
        return self._documents(row, pa.array([], pa.bool_())).schema

    def _documents(self, row: pa.StructArray, is_deleted: pa.BooleanArray) -> pa.RecordBatch:
        """Return the documents of rows."""
        dialect = self._dialect
        operation = pc.if_else(is_deleted, dialect.deletes[0], dialect.inserts[0])
        if dialect.deletes_use_old:
            columns = {
                dialect.old_field: _null_unless(row, is_deleted),
                dialect.new_field: _null_unless(row, pc.invert(is_deleted)),
            }
        else:
            columns = {dialect.new_field: _to_lists(row) if dialect.rows_in_arrays else row}
        columns[dialect.operation_field] = operation
        return pa.RecordBatch.from_pydict(columns)


def _null_unless(row: pa.StructArray, mask: pa.BooleanArray) -> pa.StructArray:
    return pa.StructArray.from_arrays(row.flatten(), fields=list(row.type), mask=pc.invert(mask))


def _to_lists(row: pa.StructArray) -> pa.ListArray:
    """Return a list of one element per row."""
    return pa.ListArray.from_arrays(pa.array(np.arange(len(row) + 1), pa.int32()), row)
