"""Decode Avro's binary encoding."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import DecodeError
from kafka_sql.formats.avro import opcodes
from kafka_sql.formats.avro.decode_kernels import DETAIL, OPERATION, REASON, Batch, decode_rows
from kafka_sql.formats.avro.decode_plan import AvroDecodePlan
from kafka_sql.formats.avro.options import LEGACY_TIMESTAMPS
from kafka_sql.formats.avro.resolution import resolve_schemas
from kafka_sql.formats.avro.schema import parse_schema
from kafka_sql.formats.avro.schema_from_table import derive_schema
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.columnar.capacity import CapacityEstimate
from kafka_sql.formats.columnar.column_buffers import ColumnBuffers
from kafka_sql.formats.format import Decoded, ErrorSink, report_or_raise
from kafka_sql.options import Options

Bytes: TypeAlias = npt.NDArray[np.uint8]
Offsets: TypeAlias = npt.NDArray[np.int32]
Indices: TypeAlias = npt.NDArray[np.int64]

_REASONS: Final = {
    opcodes.TRUNCATED: "the payload ends before the value does",
    opcodes.BAD_NUMBER: "a number has too many bytes",
    opcodes.BAD_LENGTH: "Malformed data: a length is negative",
    opcodes.BAD_BRANCH: "the union has no such branch",
    opcodes.BAD_SYMBOL: "the enum has no such symbol, or the reader's schema has neither the symbol nor a default",
    opcodes.BAD_TIME: "is not a time of day",
    opcodes.BAD_DECIMAL: "a decimal has no bytes",
    opcodes.TOO_LARGE: "is too large",
    opcodes.FULL_OF_BYTES: "has more than 2 GiB of values",
}
_EXCERPT_SIZE: Final = 24  # bytes of a payload that errors show


class AvroDecoder:
    """Decodes payloads that were written with the schema derived from the table; skips null payloads."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            SchemaError: Avro has no type for a column.
        """
        avro = parse_schema(derive_schema(schema, options[LEGACY_TIMESTAMPS]))
        self._reader = AvroReader(resolve_schemas(avro, avro, schema))

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: a payload is malformed, and there is no ``errors``.
        """
        present = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        columns, decoded = self._reader.read(*bytes_and_offsets(payloads), present, errors=errors)
        return Decoded(columns, None if len(decoded) == len(payloads) else pa.array(decoded, pa.int64()))


class AvroReader:
    """Decodes payloads of one writer's schema. Remembers how much capacity the columns needed.

    Attributes:
        plan: the operations that decode a payload.
    """

    def __init__(self, plan: AvroDecodePlan) -> None:
        self.plan, self._tables = plan, plan.tables()
        self._capacity = CapacityEstimate(plan.tree, plan.slot_count)

    def read(
        self, data: Bytes, offsets: Offsets, indices: Indices, header_size: int = 0, errors: ErrorSink = None
    ) -> tuple[list[pa.Array], Indices]:
        """Decode the payloads that ``indices`` names.

        Args:
            header_size: bytes to skip at the start of each payload.
            errors: collects the errors of malformed payloads.

        Returns:
            the columns, and which of the payloads were decoded, each to one row.

        Raises:
            DecodeError: a payload is malformed, and there is no ``errors``.
        """
        while True:
            buffers, failures = self._fill(data, offsets, indices, header_size, errors is None)
            for error in failures:
                report_or_raise(errors, error)
            indices = _without_failures(indices, failures)
            try:
                return [buffers.to_arrow(node) for node in self.plan.tree], indices
            except OverflowError as e:
                slot, entries = e.args
                failures = self._decimal_errors(buffers, slot, entries, indices)
            for error in failures:
                report_or_raise(errors, error)
            indices = _without_failures(indices, failures)

    def _fill(
        self, data: Bytes, offsets: Offsets, indices: Indices, header_size: int, strict: bool
    ) -> tuple[ColumnBuffers, list[DecodeError]]:
        """Return the filled buffers, and the errors of malformed payloads; stop at the first one if ``strict``."""
        failure, count = np.zeros(3, np.int64), len(indices)
        cells = np.zeros(self.plan.cell_count + 1, np.int64)
        offsets, indices = np.ascontiguousarray(offsets), np.ascontiguousarray(indices)
        are_all = count == len(offsets) - 1  # saves a twentieth of the time
        size = int(offsets[-1] - offsets[0] if are_all else (offsets[indices + 1] - offsets[indices]).sum())
        buffers = self._capacity.allocate(count, size)
        failures: list[DecodeError] = []
        position = 0
        while True:
            batch = Batch(
                data=data.ctypes.data,
                offsets=offsets.ctypes.data,
                indices=indices.ctypes.data,
                begin=position,
                end=count,
                header_size=header_size,
                operations=self._tables.operations.ctypes.data,
                jumps=self._tables.jumps.ctypes.data,
                literals=self._tables.literals.ctypes.data,
                literal_ranges=self._tables.literal_ranges.ctypes.data,
                slots=buffers.table.ctypes.data,
                counts=buffers.counts.ctypes.data,
                bytes_used=buffers.bytes_used.ctypes.data,
                nulls=buffers.nulls.ctypes.data,
                cells=cells.ctypes.data,
                failure=failure.ctypes.data,
            )
            position = decode_rows(batch)
            if position == count:
                self._capacity.observe(buffers, size)
                return buffers, failures
            rows = position - len(failures)
            buffers.truncate(self.plan.tree, rows)
            if failure[REASON] >= opcodes.FULL:
                by_bytes, slot = bool(failure[REASON] == opcodes.FULL_OF_BYTES), int(failure[DETAIL])
                if self._capacity.enlarge(buffers, slot, by_bytes=by_bytes, rows=rows):
                    continue
            failures.append(self._error(failure, cells, int(indices[position]), data, offsets))
            if strict:
                return buffers, failures
            position += 1

    def _decimal_errors(
        self, buffers: ColumnBuffers, slot: int, entries: Indices, indices: Indices
    ) -> list[DecodeError]:
        """Return the errors of decimals beyond the precision of a column that is NOT NULL."""
        rows = np.unique(buffers.row_indices(self.plan.tree, slot, entries))
        paths = (self.plan.paths[k] for k, cells in enumerate(self.plan.operations) if cells[opcodes.SLOT] == slot)
        path = max(paths, key=len)  # the operation that makes a whole struct null has the struct's shorter path
        reason = "is a decimal beyond the column's precision, and null is not allowed"
        return [DecodeError(int(index), path, reason) for index in indices[rows]]

    def _error(self, failure: Indices, cells: Indices, index: int, data: Bytes, offsets: Offsets) -> DecodeError:
        reason, operation, offset = int(failure[REASON]), int(failure[OPERATION]), int(failure[DETAIL])
        payload = data[offsets[index] : offsets[index + 1]].tobytes()
        if reason == opcodes.FAILED:
            message = self.plan.reasons[self.plan.operations[operation][opcodes.A]]
        elif reason == opcodes.FULL_OF_BYTES:
            message = f"{_REASONS[reason]} (from {len(payload)} bytes)"
        else:
            message = f"{_REASONS[reason]} (byte {max(offset, 0)} of {len(payload)})"
        while (cell := self.plan.subroutine_cells[operation]) >= 0:  # the path is that of the call
            operation = int(cells[cell])
        excerpt = payload[:_EXCERPT_SIZE].hex(" ") + (" ..." if len(payload) > _EXCERPT_SIZE else "")
        return DecodeError(index, self.plan.paths[operation] or None, f"{message}; the payload is: {excerpt}")


def _without_failures(indices: Indices, failures: list[DecodeError]) -> Indices:
    return np.setdiff1d(indices, [e.row for e in failures], assume_unique=True) if failures else indices
