"""Payloads of Avro's binary encoding to columns."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import DecodeError
from kafka_sql.formats.avro import instructions as i
from kafka_sql.formats.avro import reading
from kafka_sql.formats.avro.plan import Plan
from kafka_sql.formats.slots import Slots

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


class Reader:
    """Carries out a plan; keeps in mind how much room the columns took."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._arrays = plan, plan.arrays()
        self._room = np.full(plan.slots, 4.0)  # entries a payload
        self._bytes = np.full(plan.slots, 16.0)

    def read(self, data: npt.NDArray[np.uint8], offsets: Any, rows: Indices, header: int = 0) -> list[pa.Array]:
        """The columns of those payloads that ``rows`` names.

        Args:
            header: bytes to leave out at the beginning of each.

        Raises:
            DecodeError: the first payload in error.
        """
        failure, count = np.zeros(3, np.int64), len(rows)
        while True:
            room, room_of_bytes = ((r * count + 64).astype(np.int64) for r in (self._room, self._bytes))
            slots = Slots(self._plan.tree, self._plan.slots, count, room, np.minimum(room_of_bytes, 2**31 - 1))
            done = reading.run(
                data,
                offsets,
                rows,
                header,
                *self._arrays,
                slots.table,
                slots.counts,
                slots.used,
                slots.nulls,
                self._plan.depth,
                failure,
            )
            if done == count:
                return self._columns(slots, rows)
            if failure[0] < i.FULL:
                raise self._error(failure, int(rows[done]), data, offsets)
            self._enlarge(int(failure[0]), int(failure[2]), slots, done, count)

    def _enlarge(self, reason: int, slot: int, slots: Slots, done: int, count: int) -> None:
        grown = 1.25 * count / max(done, 1) / count  # as the rest will be like what was read
        if reason == i.FULL:
            self._room[slot] = max(2 * self._room[slot], float(slots.counts[slot]) * grown)
        else:
            if slots.table[slot, i.BYTES_ROOM] == 2**31 - 1:
                raise OverflowError("a column of more than 2 GiB in one buffer")
            self._bytes[slot] = max(2 * self._bytes[slot], float(slots.used[slot]) * grown)

    def _columns(self, slots: Slots, rows: Indices) -> list[pa.Array]:
        columns = []
        for node in self._plan.tree:
            try:
                columns.append(slots.array(node))
            except OverflowError as e:
                reason = f"is a decimal beyond {node.field.type}, and null is not allowed"
                raise DecodeError(int(rows[min(e.args[0], len(rows) - 1)]), node.field.name, reason) from e
        return columns

    def _error(self, failure: Indices, row: int, data: npt.NDArray[np.uint8], offsets: Any) -> DecodeError:
        reason, instruction, at = (int(v) for v in failure)
        payload = data[offsets[row] : offsets[row + 1]].tobytes()
        if reason == i.FAILED:
            said = self._plan.reasons[self._plan.rows[instruction][i.A]]
        else:
            said = f"{_REASONS[reason]} (byte {max(at, 0)} of {len(payload)})"
        shown = payload[:24].hex(" ") + (" ..." if len(payload) > 24 else "")
        return DecodeError(row, self._plan.paths[instruction] or None, f"{said}; the payload is: {shown}")
