"""Decode change events: first their documents (JSON or Avro), then one row per insert or delete and two per update."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.errors import DecodeError
from kafka_sql.formats.cdc.dialect import Dialect, Metadata, UnconvertibleValues, merge_field_types
from kafka_sql.formats.cdc.partial_updates import complete_old_rows
from kafka_sql.formats.format import Decoded, Decoder, ErrorSink, report_or_raise
from kafka_sql.formats.java.text import shorten
from kafka_sql.table.changelog import DELETE, INSERT, KINDS, ROW_KIND, UPDATE_AFTER, UPDATE_BEFORE

Indices: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
PayloadFilter: TypeAlias = Callable[[pa.BinaryArray], pa.BooleanArray]

_UNKNOWN, _SKIPPED, _INSERTED, _UPDATED, _DELETED = range(-1, 4)  # operations
_ROW_COUNTS: Final = np.array([0, 1, 2, 1])  # rows per operation, from _SKIPPED on
ENVELOPE_PAYLOAD: Final = "payload"


class ChangeDecoder:
    """Decodes change events; skips null and empty payloads (tombstones).

    If errors are ignored, malformed events are skipped; otherwise they raise DecodeError with Flink's message.
    """

    def __init__(
        self,
        dialect: Dialect,
        create_decoder: Callable[[pa.Schema], Decoder],
        schema: pa.Schema,
        metadata: Sequence[str],
        *,
        has_envelope: bool,
        ignore_errors: bool,
        payload_filter: PayloadFilter | None = None,
    ) -> None:
        """
        Args:
            create_decoder: returns a decoder of documents with the given fields.
            metadata: keys of the dialect's metadata, and ``row-kind``, to provide besides the columns.
            has_envelope: whether a payload is ``{"schema": ..., "payload": ...}``.
            payload_filter: returns a flag per payload: whether to decode it.
        """
        self._dialect, self._schema, self._metadata_keys = dialect, schema, tuple(metadata)
        self._has_envelope, self._ignore_errors, self._payload_filter = has_envelope, ignore_errors, payload_filter
        self._decoder = create_decoder(_document_schema(dialect, schema, self._metadata_fields(), has_envelope))

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads; see ``Decoder``."""
        selected = None
        if self._payload_filter is not None:
            selected = np.flatnonzero(np.asarray(self._payload_filter(payloads)))
            payloads = payloads.take(pa.array(selected))
        decoded = self._decode_documents(payloads, selected, errors)
        is_one_to_one = decoded.payload_indices is None
        document_payloads = np.arange(len(payloads)) if is_one_to_one else np.asarray(decoded.payload_indices)
        original_payloads = document_payloads if selected is None else selected[document_payloads]
        fields = self._remove_envelope(decoded.columns)
        event_errors: list[DecodeError] | None = None if errors is None else []
        changes = self._changes(fields, document_payloads, payloads, original_payloads, event_errors)
        change_indices, is_second = changes.expand()
        update_kind = np.where(is_second, UPDATE_AFTER, UPDATE_BEFORE)
        kinds = np.choose(changes.operations[change_indices], [0, INSERT, update_kind, DELETE])
        is_old = (kinds == UPDATE_BEFORE) | ((kinds == DELETE) & self._dialect.deletes_use_old)
        columns, document_indices = changes.rows(change_indices, is_old), changes.documents[change_indices]
        row_payloads = original_payloads[document_indices]
        metadata = [
            self._metadata_column(key, fields, document_indices, kinds, row_payloads, event_errors)
            for key in self._metadata_keys
        ]
        first_errors = {error.row: error for error in reversed(event_errors or [])}
        for error in first_errors.values():
            report_or_raise(errors, error)
        return Decoded(columns, pa.array(row_payloads), metadata).without_payloads(first_errors)

    def _decode_documents(self, payloads: pa.BinaryArray, selected: Indices | None, errors: ErrorSink) -> Decoded:
        """Decode the documents. Their errors get the dialect's prefix, and the index before filtering."""
        document_errors: list[DecodeError] = []

        def convert(error: DecodeError) -> DecodeError:
            index = error.row if selected is None else int(selected[error.row])
            return self._error(index, error.reason, error.field)

        try:
            decoded = self._decoder.decode(payloads, None if errors is None else document_errors)
        except DecodeError as e:
            raise convert(e) from e
        for error in document_errors:
            report_or_raise(errors, convert(error))
        return decoded

    def _metadata_fields(self) -> list[Metadata]:
        return [self._dialect.metadata[key] for key in self._metadata_keys if key != ROW_KIND]

    def _remove_envelope(self, columns: list[pa.Array]) -> dict[str, pa.Array]:
        """Return the documents' fields by name; fields of the payload replace an envelope."""
        names = _document_schema(self._dialect, pa.schema([]), self._metadata_fields(), self._has_envelope).names
        fields = dict(zip(names, columns, strict=True))
        if self._has_envelope:
            payload = fields.pop(ENVELOPE_PAYLOAD)
            fields |= dict(zip([f.name for f in payload.type], payload.flatten(), strict=True))
        return fields

    def _changes(
        self,
        fields: Mapping[str, pa.Array],
        document_payloads: Indices,
        payloads: pa.BinaryArray,
        original_payloads: Indices,
        errors: ErrorSink,
    ) -> _Changes:
        """Return the changes of the valid documents, whose payloads have an index after and before filtering."""
        dialect = self._dialect
        operations = _operations(dialect, fields[dialect.operation_field])
        documents = np.arange(len(document_payloads))
        new, old = fields[dialect.new_field], fields[dialect.old_field]
        is_invalid = operations == _UNKNOWN
        if dialect.rows_in_arrays:
            is_invalid |= (operations != _SKIPPED) & ~np.asarray(new.is_valid())
            documents, new, old = _flatten(~is_invalid & (operations != _SKIPPED), new, old)
        change_operations = np.where(is_invalid[documents], _SKIPPED, operations[documents])
        is_delete = change_operations == _DELETED
        needs_old = (change_operations == _UPDATED) | (is_delete & dialect.deletes_use_old)
        needs_new = (change_operations == _INSERTED) | (change_operations == _UPDATED) | (is_delete & ~needs_old)
        lacks_old = needs_old & ~np.asarray(old.is_valid())
        lacks_state = lacks_old | (needs_new & ~np.asarray(new.is_valid()))
        if is_invalid.any() or lacks_state.any():
            if not self._ignore_errors:
                incomplete_documents, first_changes = np.unique(documents[lacks_state], return_index=True)
                field_names = np.where(lacks_old[lacks_state][first_changes], dialect.old_field, dialect.new_field)
                missing_fields = dict.fromkeys(np.flatnonzero(is_invalid).tolist(), "")
                missing_fields |= dict(zip(incomplete_documents.tolist(), field_names.tolist(), strict=True))
                for document, name in sorted(missing_fields.items()):
                    index, operation = int(original_payloads[document]), operations[document]
                    report_or_raise(errors, self._event_error(fields, document, index, operation, name))
            # as in Flink, the rows of a record before its first invalid row are kept
            is_skipped = _is_at_or_after_first(documents, lacks_state)
            change_operations = np.where(is_skipped, _SKIPPED, change_operations)
        if dialect.old_is_partial:
            is_update = change_operations == _UPDATED
            old = complete_old_rows(old, new, is_update, payloads, document_payloads[documents], dialect.old_field)
        return _Changes(change_operations, documents, new, old)

    def _event_error(
        self, fields: Mapping[str, pa.Array], document: int, index: int, operation: int, missing_field: str
    ) -> DecodeError:
        dialect = self._dialect
        value = shorten(fields[dialect.operation_field][document].as_py() or "null")
        if operation == _UNKNOWN:
            return self._error(index, f'Unknown "{dialect.operation_field}" value "{value}".')
        if dialect.deletes_use_old and missing_field == dialect.old_field:
            message = "UPDATE" if operation == _UPDATED else "DELETE"
            return self._error(
                index,
                f'The "{dialect.old_field}" field of {message} message is null, if you are using {dialect.name} '
                "Postgres Connector, please check the Postgres table has been set REPLICA IDENTITY to FULL level.",
            )
        return self._error(index, f'"{missing_field}" has no row, but "{dialect.operation_field}" is "{value}".')

    def _metadata_column(
        self,
        key: str,
        fields: Mapping[str, pa.Array],
        document_indices: Indices,
        kinds: Indices,
        row_payloads: Indices,
        errors: ErrorSink,
    ) -> pa.Array:
        """Return a metadata column; a value that cannot be converted is null."""
        if key == ROW_KIND:
            return pa.array(KINDS).take(pa.array(kinds))
        metadata = self._dialect.metadata[key]
        values = fields[metadata.document_field].take(pa.array(document_indices))
        while True:
            try:
                return metadata.convert(values).cast(metadata.type)
            except UnconvertibleValues as e:
                for row, reason in [] if self._ignore_errors else e.reasons.items():
                    report_or_raise(errors, self._error(int(row_payloads[row]), reason))
                is_convertible = np.ones(len(values), np.bool_)
                is_convertible[list(e.reasons)] = False
                values = pc.if_else(pa.array(is_convertible), values, None)

    def _error(self, index: int, reason: str, field: str | None = None) -> DecodeError:
        return DecodeError(index, field, f"{self._dialect.error_prefix.format(name=self._dialect.name)} {reason}")


@dataclass(frozen=True)
class _Changes:
    """The operation and the document of each change, and the rows after and before it."""

    operations: Indices
    documents: Indices
    new: pa.StructArray
    old: pa.StructArray

    def expand(self) -> tuple[Indices, Mask]:
        """Return per row the index of its change, and whether the row is the second one of an update."""
        change_indices = np.repeat(np.arange(len(self.operations)), _ROW_COUNTS[self.operations])
        is_second = np.zeros(len(change_indices), np.bool_)
        is_second[1:] = change_indices[1:] == change_indices[:-1]
        return change_indices, is_second

    def rows(self, change_indices: Indices, is_old: Mask) -> list[pa.Array]:
        """Return the columns of the old or new rows of the changes with these indices."""
        if not is_old.any():
            is_aligned = len(change_indices) == len(self.new) and not self.new.null_count
            columns = self.new.flatten()
            return columns if is_aligned else [column.take(pa.array(change_indices)) for column in columns]
        positions = pa.array(np.where(is_old, len(self.new) + change_indices, change_indices))
        pairs = zip(self.new.flatten(), self.old.flatten(), strict=True)
        return [pa.concat_arrays(pair).take(positions) for pair in pairs]


def _document_schema(
    dialect: Dialect, schema: pa.Schema, metadata: Sequence[Metadata], has_envelope: bool
) -> pa.Schema:
    """Return the schema of documents. Any column may be null: the old row of a delete may have only the key."""
    row: pa.DataType = pa.struct([field.with_nullable(True) for field in schema])
    if dialect.rows_in_arrays:
        row = pa.list_(row)
    types = {dialect.old_field: row, dialect.new_field: row, dialect.operation_field: pa.string()}
    envelope: dict[str, pa.DataType] = {}
    for m in metadata:
        target = envelope if has_envelope and m.outside_payload else types
        target[m.document_field] = merge_field_types(target.get(m.document_field), m.document_type)
    if has_envelope:
        types = {**envelope, ENVELOPE_PAYLOAD: pa.struct(list(types.items()))}
    return pa.schema(list(types.items()))


def _operations(dialect: Dialect, values: pa.StringArray) -> Indices:
    """Return the operation of each document."""
    operations = np.full(len(values), _UNKNOWN)
    for operation, names in enumerate((dialect.skipped, dialect.inserts, dialect.updates, dialect.deletes)):
        if names:
            operations[np.asarray(pc.is_in(values, value_set=pa.array(names, pa.string())))] = operation
    return operations


def _flatten(is_included: Mask, new: pa.ListArray, old: pa.ListArray) -> tuple[Indices, pa.StructArray, pa.StructArray]:
    """Return the document of each element of ``new``, the element, and the element of ``old`` at the same position."""
    counts = np.asarray(pc.list_value_length(new).fill_null(0)).astype(np.int64) * is_included
    documents = np.repeat(np.arange(len(is_included)), counts)
    positions = np.arange(len(documents)) - np.repeat(np.cumsum(counts) - counts, counts)
    old_counts = np.asarray(pc.list_value_length(old).fill_null(0)).astype(np.int64)
    has_old = positions < old_counts[documents]
    return documents, _elements(new, documents, positions, None), _elements(old, documents, positions, has_old)


def _elements(lists: pa.ListArray, documents: Indices, positions: Indices, exists: Mask | None) -> pa.StructArray:
    """Return elements of lists, null where they do not exist."""
    starts = np.asarray(lists.offsets)[:-1].astype(np.int64) if len(lists) else np.zeros(0, np.int64)
    values = starts[documents] + positions
    return lists.values.take(pa.array(values, pa.int64(), mask=None if exists is None else ~exists))


def _is_at_or_after_first(documents: Indices, mask: Mask) -> Mask:
    """Return which changes are at or after the first change of their document that the mask contains."""
    counts = np.cumsum(mask)
    starts = np.searchsorted(documents, documents, side="left")
    counts_before = np.where(starts > 0, counts[starts - 1], 0) if len(documents) else counts
    result: Mask = counts > counts_before
    return result
