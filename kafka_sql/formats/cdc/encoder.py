"""Encode rows as change events. As in Flink, an update is a delete of the old row and an insert of the new one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.errors import InvalidOptionError
from kafka_sql.formats.cdc.dialect import Dialect
from kafka_sql.formats.format import ROW_KIND_COLUMN, Encoder
from kafka_sql.options import Option
from kafka_sql.table.changelog import is_retraction


class ChangeEncoder:
    """Encodes each row as one change event: an insert, unless the column ROW_KIND_COLUMN has another row kind."""

    def __init__(
        self,
        dialect: Dialect,
        create_encoder: Callable[[pa.Schema], Encoder],
        schema: pa.Schema,
        read_only_option: Option[bool] | None = None,
    ) -> None:
        """Get the encoder of documents with given fields. A ``read_only_option`` is set and does not allow writing."""
        self._dialect, self._read_only_option = dialect, read_only_option
        self._encoder = create_encoder(self._document_schema(schema))

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row; see ``Encoder``."""
        if self._read_only_option is not None:
            key = self._read_only_option.key
            raise InvalidOptionError(
                f"{self._dialect.name} JSON serialization doesn't support '{key}' option been set to true. Set it to "
                "'false' or remove it, or write through another table.",
                option=key,
            )
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
