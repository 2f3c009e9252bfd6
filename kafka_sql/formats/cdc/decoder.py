"""Payloads of changes to rows: the documents, then one row for an insert or a delete and two for an update."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.errors import DecodeError
from kafka_sql.formats.cdc.dialect import Dialect, Metadata, merge_field_types
from kafka_sql.formats.cdc.partial_updates import complete_old_rows
from kafka_sql.formats.format import Decoded, Decoder, ErrorSink, report_or_raise
from kafka_sql.table.changelog import DELETE, INSERT, KINDS, ROW_KIND, UPDATE_AFTER, UPDATE_BEFORE

Indices: TypeAlias = npt.NDArray[np.int64]

_SKIPPED, _INSERTED, _UPDATED, _DELETED = range(4)
_ROWS: Final = np.array([0, 1, 2, 1])  # of an operation
_PAYLOAD: Final = "payload"


class Documents(Protocol):
    """Makes a decoder of documents with these fields; bad ones raise, or are left out."""

    def __call__(self, schema: pa.Schema, /) -> Decoder: ...


class ChangeDecoder:
    """Decodes changes; a null or empty payload (a tombstone) is no row.

    With errors ignored a payload that is no change is left out; without, it raises DecodeError with Flink's words.
    """

    def __init__(
        self,
        dialect: Dialect,
        documents: Documents,
        schema: pa.Schema,
        metadata: Sequence[str],
        *,
        wrapped: bool,
        ignore_errors: bool,
        keep: Callable[[pa.BinaryArray], pa.BooleanArray] | None = None,
    ) -> None:
        """
        Args:
            metadata: the keys that are asked for, ``row-kind`` among them.
            wrapped: whether a payload is ``{"schema": ..., "payload": ...}``.
            keep: which payloads to read at all.

        Raises:
            SchemaError: a column has no form in the documents.
        """
        self._dialect, self._schema, self._asked = dialect, schema, tuple(metadata)
        self._wrapped, self._ignore, self._keep = wrapped, ignore_errors, keep
        self._documents = documents(_document(dialect, schema, self._fields(), wrapped))

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer.

        Raises:
            DecodeError: a payload is no change, unless errors are ignored or ``bad`` takes them.
        """
        chosen = None
        if self._keep is not None:
            chosen = np.flatnonzero(np.asarray(self._keep(payloads)))
            payloads = payloads.take(pa.array(chosen))
        unread: list[DecodeError] = []
        try:
            made = self._documents.decode(payloads, None if errors is None else unread)
        except DecodeError as e:
            raise self._corrupt(_at(chosen, e.row), e.reason, e.field) from e
        for error in unread:
            report_or_raise(errors, self._corrupt(_at(chosen, error.row), error.reason, error.field))
        rows = np.arange(len(payloads)) if made.payload_indices is None else np.asarray(made.payload_indices)
        origins = rows if chosen is None else chosen[rows]
        fields = self._unwrapped(made.columns)
        wrong: list[DecodeError] = []
        changes = self._changes(fields, rows, payloads, origins, None if errors is None else wrong)
        element, second = changes.expanded()
        kinds = np.choose(
            changes.operations[element], [0, INSERT, np.where(second, UPDATE_AFTER, UPDATE_BEFORE), DELETE]
        )
        old = (kinds == UPDATE_BEFORE) | ((kinds == DELETE) & self._dialect.deletes_use_old)
        columns = changes.rows(element, old)
        document = changes.documents[element]
        origin = origins[document]
        metadata = [
            self._metadata(key, fields, document, kinds, origin, None if errors is None else wrong)
            for key in self._asked
        ]
        first = {error.row: error for error in reversed(wrong)}
        for error in first.values():
            report_or_raise(errors, error)
        return Decoded(columns, pa.array(origin), metadata).without_payloads(first)

    def _fields(self) -> list[Metadata]:
        return [self._dialect.metadata[key] for key in self._asked if key != ROW_KIND]

    def _unwrapped(self, columns: list[pa.Array]) -> dict[str, pa.Array]:
        """The document's fields by name; a payload within an envelope takes its place."""
        fields = dict(zip(_names(self._dialect, self._fields(), self._wrapped), columns, strict=True))
        if self._wrapped:
            payload = fields.pop(_PAYLOAD)
            fields |= dict(zip([f.name for f in payload.type], payload.flatten(), strict=True))
        return fields

    def _changes(
        self, fields: Mapping[str, pa.Array], rows: Indices, payloads: pa.BinaryArray, origins: Indices, told: ErrorSink
    ) -> _Changes:
        """The changes of the documents that are right; the first wrong one raises, or is left out.

        Args:
            rows: which of ``payloads`` each document is from.
            origins: the same for errors.
            told: takes the errors.
        """
        dialect = self._dialect
        operations = _operations(dialect, fields[dialect.operation_field])
        documents = np.arange(len(rows))
        new, old = fields[dialect.new_field], fields[dialect.old_field]
        bad = operations < 0
        if dialect.rows_in_arrays:
            bad |= (operations != _SKIPPED) & ~_valid(new)
            documents, new, old = _elements(np.where(bad | (operations == _SKIPPED), 0, 1), new, old)
        of_each = np.where(bad[documents], _SKIPPED, operations[documents])
        needs_old = (of_each == _UPDATED) | ((of_each == _DELETED) & dialect.deletes_use_old)
        needs_new = (of_each == _INSERTED) | (of_each == _UPDATED) | ((of_each == _DELETED) & ~needs_old)
        lacks_old = needs_old & ~_valid(old)
        wrong = lacks_old | (needs_new & ~_valid(new))
        if bad.any() or wrong.any():
            if not self._ignore:
                lacking, first = np.unique(documents[wrong], return_index=True)
                absent = np.where(lacks_old[wrong][first], dialect.old_field, dialect.new_field)
                reasons = dict.fromkeys(np.flatnonzero(bad).tolist(), "")
                reasons |= dict(zip(lacking.tolist(), absent.tolist(), strict=True))
                for document, name in sorted(reasons.items()):
                    report_or_raise(
                        told, self._reason(fields, document, int(origins[document]), operations[document], name)
                    )
            # as in Flink, what a record held before its first wrong row stays
            of_each = np.where(_from_first_wrong(documents, wrong), _SKIPPED, of_each)
        if dialect.old_is_partial:
            old = complete_old_rows(old, new, of_each == _UPDATED, payloads, rows[documents], dialect.old_field)
        return _Changes(of_each, documents, new, old)

    def _reason(
        self, fields: Mapping[str, pa.Array], document: int, row: int, operation: int, absent: str
    ) -> DecodeError:
        dialect = self._dialect
        said = fields[dialect.operation_field][document].as_py() or "null"
        if operation < 0:
            return self._corrupt(row, f'Unknown "{dialect.operation_field}" value "{said}".')
        if dialect.deletes_use_old and absent == dialect.old_field:
            what = "UPDATE" if operation == _UPDATED else "DELETE"
            return self._corrupt(
                row,
                f'The "{dialect.old_field}" field of {what} message is null, if you are using {dialect.name} Postgres '
                "Connector, please check the Postgres table has been set REPLICA IDENTITY to FULL level.",
            )
        return self._corrupt(row, f'"{absent}" holds no row, and "{dialect.operation_field}" is "{said}".')

    def _metadata(
        self,
        key: str,
        fields: Mapping[str, pa.Array],
        document: Indices,
        kinds: Indices,
        origin: Indices,
        told: ErrorSink,
    ) -> pa.Array:
        if key == ROW_KIND:
            return pa.array(KINDS).take(pa.array(kinds))
        known = self._dialect.metadata[key]
        values = fields[known.document_field].take(pa.array(document))
        while True:
            try:
                return known.convert(values).cast(known.type)
            except DecodeError as e:
                if not self._ignore:
                    report_or_raise(told, self._corrupt(int(origin[e.row]), e.reason))
                values = pc.if_else(pa.array(np.arange(len(values)) == e.row), None, values)

    def _corrupt(self, row: int, reason: str, field: str | None = None) -> DecodeError:
        return DecodeError(row, field, f"{self._dialect.error_prefix.format(name=self._dialect.name)} {reason}")


@dataclass(frozen=True)
class _Changes:
    """What happened to rows.

    Attributes:
        operations: of each change.
        documents: which document each is from.
        new, old: its states, structs.
    """

    operations: Indices
    documents: Indices
    new: pa.StructArray
    old: pa.StructArray

    def expanded(self) -> tuple[Indices, npt.NDArray[np.bool_]]:
        """For each row, which change it is from, and whether it is the second of an update's."""
        change = np.repeat(np.arange(len(self.operations)), _ROWS[self.operations])
        second = np.zeros(len(change), np.bool_)
        second[1:] = change[1:] == change[:-1]
        return change, second

    def rows(self, change: Indices, old: npt.NDArray[np.bool_]) -> list[pa.Array]:
        """The columns of the rows: of each change the old state, or the new one."""
        if not old.any():
            aligned = len(change) == len(self.new) and not self.new.null_count
            flat = self.new.flatten()
            return flat if aligned else [column.take(pa.array(change)) for column in flat]
        at = pa.array(np.where(old, len(self.new) + change, change))
        pairs = zip(self.new.flatten(), self.old.flatten(), strict=True)
        return [pa.concat_arrays(pair).take(at) for pair in pairs]


def _document(dialect: Dialect, schema: pa.Schema, metadata: Sequence[Metadata], wrapped: bool) -> pa.Schema:
    """The schema of the documents; a state may lack any column, as the state before a delete may be the key alone."""
    state: pa.DataType = pa.struct([field.with_nullable(True) for field in schema])
    if dialect.rows_in_arrays:
        state = pa.list_(state)
    types = {dialect.old_field: state, dialect.new_field: state, dialect.operation_field: pa.string()}
    beside: dict[str, pa.DataType] = {}
    for m in metadata:
        place = beside if wrapped and m.outside_payload else types
        place[m.document_field] = merge_field_types(place.get(m.document_field), m.document_type)
    if wrapped:
        types = {**beside, _PAYLOAD: pa.struct(list(types.items()))}
    return pa.schema(list(types.items()))


def _names(dialect: Dialect, metadata: Sequence[Metadata], wrapped: bool) -> list[str]:
    return list(_document(dialect, pa.schema([]), metadata, wrapped).names)


def _operations(dialect: Dialect, said: pa.StringArray) -> Indices:
    """What happened, by document; -1 for what the dialect does not know."""
    found = np.full(len(said), -1)
    for operation, words in enumerate((dialect.skipped, dialect.inserts, dialect.updates, dialect.deletes)):
        if words:
            is_it = pc.is_in(said, value_set=pa.array(words, pa.string()))
            found[np.asarray(is_it)] = operation
    return found


def _valid(array: pa.Array) -> npt.NDArray[np.bool_]:
    valid: npt.NDArray[np.bool_] = np.asarray(array.is_valid())
    return valid


def _elements(many: Indices, new: pa.ListArray, old: pa.ListArray) -> tuple[Indices, pa.StructArray, pa.StructArray]:
    """The rows of each document's array, each beside the old state at the same place, if there is one."""
    counts = np.asarray(pc.list_value_length(new).fill_null(0)).astype(np.int64) * many
    documents = np.repeat(np.arange(len(many)), counts)
    within = np.arange(len(documents)) - np.repeat(np.cumsum(counts) - counts, counts)
    olds = np.asarray(pc.list_value_length(old).fill_null(0)).astype(np.int64)
    has_old = within < olds[documents]
    return documents, _picked(new, documents, within, None), _picked(old, documents, within, has_old)


def _picked(
    lists: pa.ListArray, documents: Indices, within: Indices, there: npt.NDArray[np.bool_] | None
) -> pa.StructArray:
    starts = np.asarray(lists.offsets)[:-1].astype(np.int64) if len(lists) else np.zeros(0, np.int64)
    at = starts[documents] + within
    return lists.values.take(pa.array(at, pa.int64(), mask=None if there is None else ~there))


def _from_first_wrong(documents: Indices, wrong: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """What stands at or behind the first wrong row of its document."""
    before = np.cumsum(wrong)
    starts = np.searchsorted(documents, documents, side="left")
    at_start = np.where(starts > 0, before[starts - 1], 0) if len(documents) else before
    behind: npt.NDArray[np.bool_] = before > at_start
    return behind


def _at(chosen: Indices | None, row: int) -> int:
    return row if chosen is None else int(chosen[row])
