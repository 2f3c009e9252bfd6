"""Payloads of Avro's binary encoding to columns."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import DecodeError
from kafka_sql.formats.avro import decode_kernels
from kafka_sql.formats.avro import opcodes as i
from kafka_sql.formats.avro.resolution import DecodePlan
from kafka_sql.formats.columnar.column_buffers import ColumnBuffers
from kafka_sql.formats.format import ErrorSink, report_or_raise

Indices: TypeAlias = npt.NDArray[np.int64]

_REASONS: Final = {
    i.TRUNCATED: "the payload ends before the value does",
    i.BAD_NUMBER: "a number has too many bytes",
    i.BAD_LENGTH: "Malformed data: a length is negative",
    i.BAD_BRANCH: "the union has no such branch",
    i.BAD_SYMBOL: "the enum has no such symbol, or the reader's schema has none of its name and no default",
    i.BAD_TIME: "is no time of a day",
    i.BAD_DECIMAL: "a decimal without bytes",
    i.TOO_LARGE: "is too large",
}


class AvroReader:
    """Carries out a plan; keeps in mind how much room the columns took."""

    def __init__(self, plan: DecodePlan) -> None:
        self._plan, self._arrays = plan, plan.arrays()
        self._room = np.full(plan.slots, 4.0)  # entries a payload
        self._bytes = np.full(plan.slots, 16.0)

    def read(
        self, data: npt.NDArray[np.uint8], offsets: Any, rows: Indices, header: int = 0, errors: ErrorSink = None
    ) -> tuple[list[pa.Array], Indices]:
        """The columns of those payloads that ``rows`` names, and which of them could be read.

        Args:
            header: bytes to leave out at the beginning of each.
            bad: takes the errors of the others.

        Raises:
            DecodeError: the first payload in error, where nobody takes them.
        """
        while True:
            slots, wrong = self._filled(data, offsets, rows, header, errors is None)
            for error in wrong:
                report_or_raise(errors, error)
            kept = _without(rows, wrong)
            try:
                return [slots.to_arrow(node) for node in self._plan.tree], kept
            except OverflowError as e:
                wrong = self._beyond(slots, e.args[0], e.args[1], kept)
            for error in wrong:
                report_or_raise(errors, error)
            rows = _without(kept, wrong)

    def _filled(
        self, data: npt.NDArray[np.uint8], offsets: Any, rows: Indices, header: int, strict: bool
    ) -> tuple[ColumnBuffers, list[DecodeError]]:
        """The slots, and the errors of those payloads that are not in them; of a strict one the first is enough."""
        failure, count = np.zeros(3, np.int64), len(rows)
        while True:
            room, room_of_bytes = ((r * count + 64).astype(np.int64) for r in (self._room, self._bytes))
            slots = ColumnBuffers(self._plan.tree, self._plan.slots, count, room, np.minimum(room_of_bytes, 2**31 - 1))
            filled = *self._arrays, slots.table, slots.counts, slots.bytes_used, slots.nulls
            done, wrong = 0, list[DecodeError]()
            while True:
                done = decode_kernels.run(data, offsets, rows, done, header, *filled, self._plan.depth, failure)
                if done == count or failure[0] >= i.FULL:
                    break
                slots.truncate(self._plan.tree, done - len(wrong))
                wrong.append(self._error(failure, int(rows[done]), data, offsets))
                if strict:
                    return slots, wrong
                done += 1
            if done == count:
                return slots, wrong
            self._enlarge(int(failure[0]), int(failure[2]), slots, done, count)

    def _enlarge(self, reason: int, slot: int, slots: ColumnBuffers, done: int, count: int) -> None:
        grown = 1.25 * count / max(done, 1) / count  # as the rest will be like what was read
        if reason == i.FULL:
            self._room[slot] = max(2 * self._room[slot], float(slots.counts[slot]) * grown)
        else:
            if slots.table[slot, i.BYTES_ROOM] == 2**31 - 1:
                raise OverflowError("a column of more than 2 GiB in one buffer")
            self._bytes[slot] = max(2 * self._bytes[slot], float(slots.bytes_used[slot]) * grown)

    def _beyond(self, slots: ColumnBuffers, slot: int, entries: Indices, rows: Indices) -> list[DecodeError]:
        """The errors of numbers beyond the precision of a column that cannot be null."""
        owners = np.unique(slots.row_indices(self._plan.tree, slot, entries))
        path = max((self._plan.paths[k] for k, row in enumerate(self._plan.rows) if row[i.SLOT] == slot), key=len)
        reason = "is a decimal beyond the column's precision, and null is not allowed"
        return [DecodeError(int(row), path, reason) for row in rows[owners]]

    def _error(self, failure: Indices, row: int, data: npt.NDArray[np.uint8], offsets: Any) -> DecodeError:
        reason, instruction, at = (int(v) for v in failure)
        payload = data[offsets[row] : offsets[row + 1]].tobytes()
        if reason == i.FAILED:
            said = self._plan.reasons[self._plan.rows[instruction][i.A]]
        else:
            said = f"{_REASONS[reason]} (byte {max(at, 0)} of {len(payload)})"
        shown = payload[:24].hex(" ") + (" ..." if len(payload) > 24 else "")
        return DecodeError(row, self._plan.paths[instruction] or None, f"{said}; the payload is: {shown}")


def _without(rows: Indices, wrong: list[DecodeError]) -> Indices:
    return np.setdiff1d(rows, [e.row for e in wrong], assume_unique=True) if wrong else rows
