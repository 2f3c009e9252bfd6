"""Decode protobuf messages."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError as MessageError

from kafka_sql.errors import DecodeError
from kafka_sql.formats.columnar.arrow_buffers import pass_addresses
from kafka_sql.formats.columnar.binary_reader import BinaryReader, Bytes, Indices, hex_excerpt
from kafka_sql.formats.columnar.capacity import CapacityEstimate
from kafka_sql.formats.columnar.column_buffers import ColumnBuffers
from kafka_sql.formats.format import ColumnOverflow, ErrorSink, report_or_raise
from kafka_sql.formats.protobuf import decode_kernels, opcodes
from kafka_sql.formats.protobuf.decode_plan import plan_decoding
from kafka_sql.formats.protobuf.wire_columns import from_wire_columns

_REASONS: Final = {
    opcodes.TRUNCATED: "the message ends in the middle of a value",
    opcodes.BAD_NUMBER: "a number has too many bytes",
    opcodes.BAD_TAG: "Protocol message contained an invalid tag",
    opcodes.BAD_UTF_8: "Protocol message had invalid UTF-8",
    opcodes.LACKS_REQUIRED: "Message missing required field",
}


class ProtobufReader(BinaryReader):
    """Decodes payloads that are messages of one type. Remembers how much capacity the columns needed.

    Attributes:
        message: the type.
    """

    def __init__(
        self,
        schema: pa.Schema,
        message: Descriptor,
        *,
        read_defaults: bool,
        ignore_errors: bool,
        allow_evolution: bool = False,
    ) -> None:
        """
        Args:
            allow_evolution: whether the message may be another version of the table's; a column without a field is
                null.

        Raises:
            SchemaError: a column has no field, or its type does not match.
        """
        self._schema, self._ignore_errors, self.message = schema, ignore_errors, message
        self._plan = plan_decoding(schema, message, read_defaults, allow_evolution)
        self._tables = self._plan.tables()
        self._message_class = message_factory.GetMessageClass(message)
        self._capacity = CapacityEstimate(self._plan.tree, self._plan.slot_count)

    def read(
        self, data: Bytes, starts: Indices, ends: Indices, indices: Indices, errors: ErrorSink = None
    ) -> tuple[list[pa.Array], Indices]:
        """Decode messages; see ``BinaryReader``. Malformed ones are skipped without an error if errors are ignored."""
        skip_malformed = self._ignore_errors or errors is not None
        try:
            columns, decoded, failures = self._read(data, starts, ends, indices, skip_malformed)
        except ColumnOverflow:
            if len(indices) > 1:
                raise
            message = "has more than 2 GiB of values"
            columns, decoded, failures = self._no_rows(), indices[:0], [DecodeError(int(indices[0]), None, message)]
        if not self._ignore_errors:
            for error in failures:
                report_or_raise(errors, error)
        return columns, decoded

    def _no_rows(self) -> list[pa.Array]:
        return [pa.array([], field.type) for field in self._schema]

    def _read(
        self, data: Bytes, starts: Indices, ends: Indices, indices: Indices, skip_malformed: bool
    ) -> tuple[list[pa.Array], Indices, list[DecodeError]]:
        """Return the columns, the payload index of each row, and the errors: only the first one if not skipped."""
        originals, unparsable = (starts, ends), dict[int, str]()
        while True:
            buffers, outcomes, failures, stop = self._fill(data, starts, ends, skip_malformed)
            not_canonical = np.flatnonzero(outcomes == opcodes.NOT_CANONICAL)
            if not len(not_canonical):
                break
            data, starts, ends = self._make_canonical(data, starts, ends, not_canonical, unparsable)
        errors = []
        for k in [] if self._ignore_errors else np.flatnonzero(outcomes).tolist():
            if starts[k] != originals[0][k]:
                failures[k, decode_kernels.OFFSET] = -1  # in another message
            original = data[originals[0][k] : originals[1][k]]
            errors.append(self._error(failures[k], int(indices[k]), original, unparsable.get(k)))
        if errors and not skip_malformed:
            return self._no_rows(), indices[:0], errors
        columns, decoded, more_errors = self._columns(buffers, indices[:stop][outcomes[:stop] == 0])
        return columns, decoded, errors + more_errors

    def _fill(
        self, data: Bytes, starts: Indices, ends: Indices, skip_malformed: bool
    ) -> tuple[ColumnBuffers, npt.NDArray[np.uint8], Indices, int]:
        """Return the buffers, each message's outcome and failure, and the index at which decoding stopped."""
        plan, count = self._plan, len(starts)
        starts, ends = np.ascontiguousarray(starts), np.ascontiguousarray(ends)
        failure, failures = (np.zeros(n * decode_kernels.FAILURE_CELLS, np.int64) for n in (1, count))
        outcomes = np.zeros(count, np.uint8)
        last_serials, serial = np.zeros(len(plan.fields) + 1, np.int64), np.zeros(1, np.int64)
        oneofs = np.zeros(2 * plan.oneof_count + 1, np.int64)
        frames = np.zeros((plan.max_depth + 1, decode_kernels.FRAME_CELLS), np.int64)
        saved_counts = np.zeros((3, plan.slot_count), np.int64)
        size = int((ends - starts).sum())
        buffers, stop = self._capacity.allocate(count, size), 0
        while True:
            batch = pass_addresses(
                decode_kernels.Batch, data=data, starts=starts, ends=ends, begin=stop, end=count, **self._tables,
                slots=buffers.table, counts=buffers.counts, bytes_used=buffers.bytes_used, nulls=buffers.nulls,
                slot_count=plan.slot_count, skip_malformed=int(skip_malformed), last_serials=last_serials,
                oneofs=oneofs, serial=serial, frames=frames, saved_counts=saved_counts, outcomes=outcomes,
                failure=failure, failures=failures,
            )  # fmt: skip
            stop = decode_kernels.decode_rows(batch)
            if stop == count or outcomes[stop] < opcodes.FULL:
                self._capacity.observe(buffers, size)
                return buffers, outcomes, failures.reshape(-1, decode_kernels.FAILURE_CELLS), stop
            rows, slot = int((outcomes[:stop] == 0).sum()), int(failure[decode_kernels.FIELD])
            by_bytes = bool(outcomes[stop] == opcodes.FULL_OF_BYTES)
            if not self._capacity.enlarge(buffers, slot, by_bytes=by_bytes, rows=rows):
                raise ColumnOverflow

    def _make_canonical(
        self, data: Bytes, starts: Indices, ends: Indices, not_canonical: Indices, unparsable: dict[int, str]
    ) -> tuple[Bytes, Indices, Indices]:
        """Serialize the messages ``not_canonical`` again with protobuf's library, which merges repeated occurrences.

        Args:
            unparsable: collects the library's errors, by the message's index.
        """
        starts, ends, parts, size = starts.copy(), ends.copy(), [data], len(data)
        for index in not_canonical.tolist():
            try:
                merged = self._message_class.FromString(data[starts[index] : ends[index]].tobytes())
                merged.DiscardUnknownFields()  # they would be found again in a oneof
                message = merged.SerializePartialToString(deterministic=True)  # maps sorted by key in every process
            except MessageError as e:
                message, unparsable[index] = b"\x08", str(e)  # truncated, so that the decode loop stops there
            starts[index], ends[index] = size, size + len(message)
            parts.append(np.frombuffer(message, np.uint8))
            size += len(message)
        return np.concatenate(parts), starts, ends

    def _columns(self, buffers: ColumnBuffers, indices: Indices) -> tuple[list[pa.Array], Indices, list[DecodeError]]:
        """Return the table's columns, the payload index of each row, and the errors of messages without a row.

        A value that cannot be converted is an error, and so is null in a NOT NULL column.
        """
        reasons: dict[int, tuple[str, str]] = {}  # path and reason by row

        def report(path: str, row: int, reason: str) -> None:
            reasons.setdefault(row, (path, reason))

        wire_columns = [buffers.to_arrow(node) for node in self._plan.tree]
        columns = from_wire_columns(self._schema, self._plan.mappings, wire_columns, len(indices), report)
        for field, array in zip(self._schema, columns, strict=True):
            for path, rows in _find_nulls(array, field, np.arange(len(indices)), field.name):
                for row in rows.tolist():
                    report(path, row, "is null, but declared NOT NULL")
        if not reasons:
            return columns, indices, []
        errors = [DecodeError(int(indices[row]), *reasons[row]) for row in sorted(reasons)]
        is_valid = np.ones(len(indices), np.bool_)
        is_valid[list(reasons)] = False
        return [array.filter(pa.array(is_valid)) for array in columns], indices[is_valid], errors

    def _error(self, failure: Indices, index: int, message: Bytes, library_error: str | None) -> DecodeError:
        field, offset = int(failure[decode_kernels.FIELD]), int(failure[decode_kernels.OFFSET])
        path = self._plan.paths[field] if library_error is None and 0 <= field < len(self._plan.paths) else None
        reason = library_error or _REASONS[int(failure[decode_kernels.REASON])]
        location = f"(byte {offset} of {len(message)})" if offset >= 0 else f"(of {len(message)} bytes)"
        return DecodeError(index, path, f"{reason} {location}; the message is: {hex_excerpt(message)}")


def _find_nulls(array: pa.Array, field: pa.Field, rows: Indices, path: str) -> list[tuple[str, Indices]]:
    """Return the paths at which a value is null but declared NOT NULL, each with its rows.

    Args:
        rows: the row of each value.
    """
    arrow_type, valid = field.type, np.asarray(array.is_valid())
    nulls = [] if field.nullable or valid.all() else [(path, rows[~valid])]
    if pt.is_struct(arrow_type):
        mask = pa.array(valid)
        for index, child in enumerate(arrow_type):
            if _has_not_null(child):
                nulls += _find_nulls(array.field(index).filter(mask), child, rows[valid], f"{path}.{child.name}")
    elif pt.is_list(arrow_type) or pt.is_map(arrow_type):
        [child] = _values_inside(arrow_type)
        if _has_not_null(child):
            lengths = np.diff(np.asarray(array.offsets)) * valid
            values = array.items if pt.is_map(arrow_type) else array.values
            nulls += _find_nulls(values, child, np.repeat(rows, lengths), f"{path}[]")
    return nulls


def _has_not_null(field: pa.Field) -> bool:
    """Return whether a field, or anything inside it, is declared NOT NULL."""
    return not field.nullable or any(map(_has_not_null, _values_inside(field.type)))


def _values_inside(arrow_type: pa.DataType) -> list[pa.Field]:
    """Return the fields of a ROW, the element of an ARRAY, or the value of a MAP."""
    if pt.is_map(arrow_type):
        return [arrow_type.item_field]
    return [arrow_type.field(k) for k in range(arrow_type.num_fields)]
