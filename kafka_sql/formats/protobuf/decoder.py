"""Payloads of protobuf messages to columns."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt
from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError as NoMessage

from kafka_sql.errors import DecodeError
from kafka_sql.formats.columnar.column_buffers import ColumnBuffers
from kafka_sql.formats.format import ErrorSink
from kafka_sql.formats.protobuf import decode_kernels
from kafka_sql.formats.protobuf import opcodes as i
from kafka_sql.formats.protobuf.decode_plan import DecodePlan, plan_decoding
from kafka_sql.formats.protobuf.wire_kernels import BYTES_ROOM

Indices: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

_REASONS: Final = {
    i.TRUNCATED: "the message ends in the middle of a value",
    i.BAD_NUMBER: "a number has too many bytes",
    i.BAD_TAG: "Protocol message contained an invalid tag",
    i.BAD_UTF_8: "Protocol message had invalid UTF-8",
    i.LACKS_REQUIRED: "Message missing required field",
}


class ProtobufReader:
    """Reads messages of one type as the columns; keeps in mind how much room they took."""

    def __init__(
        self,
        schema: pa.Schema,
        message: Descriptor,
        *,
        read_defaults: bool,
        ignore_errors: bool,
        evolving: bool = False,
    ) -> None:
        """
        Args:
            evolving: whether the message may be another version of the table's: a column that it has not is null.

        Raises:
            SchemaError: a column has no field, or one of another type.
        """
        self._schema, self._lenient = schema, ignore_errors
        self._plan: DecodePlan = plan_decoding(schema, message, read_defaults, evolving)
        self._arrays = self._plan.arrays()
        self._message = message_factory.GetMessageClass(message)
        self._room = np.full(self._plan.slots, 4.0)  # entries a message
        self._bytes = np.full(self._plan.slots, 16.0)

    def read(
        self, data: Bytes, starts: Indices, ends: Indices, rows: Indices, errors: ErrorSink = None
    ) -> tuple[list[pa.Array], Indices]:
        """The columns of messages, and which of ``rows`` each of their rows is.

        Args:
            starts, ends: where the messages stand.
            rows: the payload of each, for errors.
            bad: takes the errors of those that are no rows.

        Raises:
            DecodeError: the first message in error, unless errors are ignored or taken.
        """
        if errors is None or self._lenient:
            return self._read(data, starts, ends, rows, self._lenient)
        columns, kept = self._read(data, starts, ends, rows, True)
        for k in np.flatnonzero(~np.isin(rows, kept)).tolist() if len(kept) < len(rows) else []:
            try:
                self._read(data, starts[k : k + 1], ends[k : k + 1], rows[k : k + 1], False)
            except DecodeError as e:  # by itself, for its reason
                errors.append(e)
        return columns, kept

    def _read(
        self, data: Bytes, starts: Indices, ends: Indices, rows: Indices, lenient: bool
    ) -> tuple[list[pa.Array], Indices]:
        count = len(starts)
        failure, reasons = np.zeros(2, np.int64), np.zeros(count, np.uint8)
        while True:
            room, room_of_bytes = ((r * count + 64).astype(np.int64) for r in (self._room, self._bytes))
            slots = ColumnBuffers(self._plan.tree, self._plan.slots, count, room, np.minimum(room_of_bytes, 2**31 - 1))
            reasons[:] = 0
            done = decode_kernels.run(
                data,
                starts,
                ends,
                *self._arrays,
                slots.table,
                slots.counts,
                slots.bytes_used,
                slots.nulls,
                self._plan.depth,
                lenient,
                reasons,
                failure,
            )
            if done < count and failure[0] >= i.FULL and not reasons[done]:
                self._enlarge(int(failure[0]), int(failure[1]), slots, done, count)
                continue
            odd = np.flatnonzero(reasons == i.ODD)
            if len(odd):
                data, starts, ends = self._as_serialized(data, starts, ends, odd)
                continue
            if done < count:
                raise self._error(int(reasons[done]), failure, int(rows[done]), data[starts[done] : ends[done]])
            good = np.flatnonzero(reasons == 0)
            try:
                return self._columns(slots, rows[good], lenient)
            except NoMessage as e:  # a message that is read as text, which the loops do not look into
                return self._one_by_one(data, starts[good], ends[good], rows[good], lenient, e)

    def _one_by_one(
        self, data: Bytes, starts: Indices, ends: Indices, rows: Indices, lenient: bool, reason: NoMessage
    ) -> tuple[list[pa.Array], Indices]:
        """The same after halving, until a message in error is alone."""
        if len(rows) == 1:
            if lenient:
                return [pa.array([], field.type) for field in self._schema], rows[:0]
            raise DecodeError(int(rows[0]), None, f"a message within it cannot be read: {reason}") from reason
        middle = len(rows) // 2
        halves = slice(0, middle), slice(middle, None)
        parts = [self._read(data, starts[half], ends[half], rows[half], lenient) for half in halves]
        columns = [pa.concat_arrays(pair) for pair in zip(*(part for part, _ in parts), strict=True)]
        return columns, np.concatenate([kept for _, kept in parts])

    def _enlarge(self, reason: int, slot: int, slots: ColumnBuffers, done: int, count: int) -> None:
        grown = 1.25 / max(done, 1)  # as the rest will be like what was read
        if reason == i.FULL:
            self._room[slot] = max(2 * self._room[slot], float(slots.counts[slot]) * grown)
        else:
            if slots.table[slot, BYTES_ROOM] == 2**31 - 1:
                raise OverflowError("a column of more than 2 GiB in one buffer")
            self._bytes[slot] = max(2 * self._bytes[slot], float(slots.bytes_used[slot]) * grown)

    def _as_serialized(
        self, data: Bytes, starts: Indices, ends: Indices, odd: Indices
    ) -> tuple[Bytes, Indices, Indices]:
        """The messages of which some are written again, as serializers do: what is repeated is merged."""
        starts, ends, parts, size = starts.copy(), ends.copy(), [data], len(data)
        for k in odd.tolist():
            try:
                text = self._message.FromString(data[starts[k] : ends[k]].tobytes()).SerializePartialToString()
            except NoMessage:
                text = b"\x08"  # what is found to end in the middle of a value
            starts[k], ends[k] = size, size + len(text)
            parts.append(np.frombuffer(text, np.uint8))
            size += len(text)
        return np.concatenate(parts), starts, ends

    def _columns(self, slots: ColumnBuffers, rows: Indices, lenient: bool) -> tuple[list[pa.Array], Indices]:
        made = self._plan.finish([slots.to_arrow(node) for node in self._plan.tree], len(rows))
        wrong = np.zeros(len(rows), np.bool_)
        for field, array in zip(self._schema, made, strict=True):
            for path, at in _nulls(array, field, np.arange(len(rows)), field.name):
                if not lenient:
                    raise DecodeError(int(rows[at.min()]), path, "is null, but declared NOT NULL")
                wrong[at] = True
        if wrong.any():
            kept = pa.array(~wrong)
            return [array.filter(kept) for array in made], rows[~wrong]
        return made, rows

    def _error(self, reason: int, failure: Indices, row: int, message: Bytes) -> DecodeError:
        field, at = int(failure[0]), int(failure[1])
        path = self._plan.paths[field] if 0 <= field < len(self._plan.paths) else None
        payload = message.tobytes()
        shown = payload[:24].hex(" ") + (" ..." if len(payload) > 24 else "")
        where = f" (byte {at} of {len(payload)})" if at >= 0 else f" (of {len(payload)} bytes)"
        return DecodeError(row, path, f"{_REASONS[reason]}{where}; the message is: {shown}")


def _nulls(array: pa.Array, field: pa.Field, owners: Indices, path: str) -> list[tuple[str, Indices]]:
    """The paths of what is null and must not be, each with its rows."""
    found = []
    t = field.type
    valid = np.asarray(array.is_valid())
    if not field.nullable and not valid.all():
        found.append((path, owners[~valid]))
    if pt.is_struct(t):
        there = pa.array(valid)
        for k, inner in enumerate(t):
            if not _strict(inner):
                continue
            child = array.field(k)
            found += _nulls(child.filter(there), inner, owners[valid], f"{path}.{inner.name}")
    elif (pt.is_list(t) and _strict(t.value_field)) or (pt.is_map(t) and _strict(t.item_field)):
        lengths = np.diff(np.asarray(array.offsets)) * valid
        values = array.items if pt.is_map(t) else array.values
        inner = t.item_field if pt.is_map(t) else t.value_field
        found += _nulls(values, inner, np.repeat(owners, lengths), f"{path}[]")
    return found


def _strict(field: pa.Field) -> bool:
    """Whether anything in a field must not be null."""
    t: Any = field.type
    if not field.nullable:
        return True
    if pt.is_struct(t):
        return any(_strict(f) for f in t)
    return (pt.is_list(t) and _strict(t.value_field)) or (pt.is_map(t) and _strict(t.item_field))
