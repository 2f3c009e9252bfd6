"""Decode Avro's binary encoding."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from kafka_sql.errors import DecodeError
from kafka_sql.formats.avro import opcodes
from kafka_sql.formats.avro.decode_kernels import DETAIL, OPERATION, REASON, Batch, decode_rows
from kafka_sql.formats.avro.decode_plan import AvroDecodePlan
from kafka_sql.formats.columnar.arrow_buffers import pass_addresses
from kafka_sql.formats.columnar.binary_reader import BinaryReader, Bytes, Indices, hex_excerpt
from kafka_sql.formats.columnar.capacity import CapacityEstimate
from kafka_sql.formats.columnar.column_buffers import ColumnBuffers
from kafka_sql.formats.format import ErrorSink, report_or_raise

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


class AvroReader(BinaryReader):
    """Decodes payloads that are records of one writer's schema. Remembers how much capacity the columns needed.

    Attributes:
        plan: the operations that decode a record.
    """

    def __init__(self, plan: AvroDecodePlan, header_size: int = 0) -> None:
        """
        Args:
            header_size: bytes before each record, which errors count and show.
        """
        self.plan, self._tables, self._header_size = plan, plan.tables(), header_size
        self._capacity = CapacityEstimate(plan.tree, plan.slot_count)

    def read(
        self, data: Bytes, starts: Indices, ends: Indices, indices: Indices, errors: ErrorSink = None
    ) -> tuple[list[pa.Array], Indices]:
        """Decode records; see ``BinaryReader``."""
        while True:
            buffers, failures = self._fill(data, starts, ends, indices, errors is None)
            starts, ends, indices = _without_failures(starts, ends, indices, failures, errors)
            try:
                return [buffers.to_arrow(node) for node in self.plan.tree], indices
            except OverflowError as e:
                slot, entries = e.args
                failures = self._decimal_errors(buffers, slot, entries, indices)
            starts, ends, indices = _without_failures(starts, ends, indices, failures, errors)

    def _fill(
        self, data: Bytes, starts: Indices, ends: Indices, indices: Indices, strict: bool
    ) -> tuple[ColumnBuffers, list[DecodeError]]:
        """Return the filled buffers, and the errors of malformed records; stop at the first one if ``strict``."""
        failure, cells = np.zeros(3, np.int64), np.zeros(self.plan.cell_count + 1, np.int64)
        starts, ends = np.ascontiguousarray(starts), np.ascontiguousarray(ends)
        size, count = int((ends - starts).sum()), len(indices)
        buffers = self._capacity.allocate(count, size)
        failures: list[DecodeError] = []
        position = 0
        while True:
            batch = pass_addresses(
                Batch, data=data, starts=starts, ends=ends, begin=position, end=count, **self._tables,
                slots=buffers.table, counts=buffers.counts, bytes_used=buffers.bytes_used, nulls=buffers.nulls,
                cells=cells, failure=failure,
            )  # fmt: skip
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
            payload = data[starts[position] - self._header_size : ends[position]]
            failures.append(self._error(failure, cells, int(indices[position]), payload))
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

    def _error(self, failure: Indices, cells: Indices, index: int, payload: Bytes) -> DecodeError:
        reason, operation, offset = int(failure[REASON]), int(failure[OPERATION]), int(failure[DETAIL])
        if reason == opcodes.FAILED:
            message = self.plan.reasons[self.plan.operations[operation][opcodes.A]]
        elif reason == opcodes.FULL_OF_BYTES:
            message = f"{_REASONS[reason]} (from {len(payload)} bytes)"
        else:
            message = f"{_REASONS[reason]} (byte {self._header_size + offset} of {len(payload)})"
        while (cell := self.plan.subroutine_cells[operation]) >= 0:  # the path is that of the call
            operation = int(cells[cell])
        return DecodeError(
            index, self.plan.paths[operation] or None, f"{message}; the payload is: {hex_excerpt(payload)}"
        )


def _without_failures(
    starts: Indices, ends: Indices, indices: Indices, failures: list[DecodeError], errors: ErrorSink
) -> tuple[Indices, Indices, Indices]:
    """Report failures; return the other records."""
    for error in failures:
        report_or_raise(errors, error)
    if not failures:
        return starts, ends, indices
    remain = ~np.isin(indices, [e.row for e in failures])
    return starts[remain], ends[remain], indices[remain]
