"""Columns to payloads of protobuf messages, without a Python object a row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from kafka_sql.errors import EncodeError, SchemaError
from kafka_sql.formats.protobuf import encode_kernels as w
from kafka_sql.formats.protobuf.decode_plan import is_required
from kafka_sql.formats.protobuf.descriptors import load_message
from kafka_sql.formats.protobuf.field_mapping import FieldMapping, map_fields
from kafka_sql.formats.protobuf.options import WRITE_NULL_STRING_LITERAL
from kafka_sql.formats.protobuf.to_wire_columns import to_wire_columns
from kafka_sql.options import Options

F: Final = FieldDescriptor
_INT32: Final = 2**31
_ROOM: Final = 22  # bytes that any value without a length of its own takes at most, with its tag
_KINDS: Final = {
    F.TYPE_INT32: w.INT,
    F.TYPE_ENUM: w.INT,
    F.TYPE_UINT32: w.UNSIGNED,
    F.TYPE_SINT32: w.ZIGZAG,
    F.TYPE_FIXED32: w.FOUR,
    F.TYPE_SFIXED32: w.FOUR,
    F.TYPE_FLOAT: w.FOUR,
    F.TYPE_INT64: w.LONG,
    F.TYPE_UINT64: w.LONG,
    F.TYPE_SINT64: w.ZIGZAG_LONG,
    F.TYPE_FIXED64: w.EIGHT,
    F.TYPE_SFIXED64: w.EIGHT,
    F.TYPE_DOUBLE: w.EIGHT,
    F.TYPE_BOOL: w.BOOLEAN,
    F.TYPE_STRING: w.TEXT,
    F.TYPE_BYTES: w.TEXT,
    F.TYPE_MESSAGE: w.TEXT,  # one that is held as its bytes
}
_WIRE: Final = {w.FOUR: 5, w.LONG_AS_FOUR: 5, w.EIGHT: 1, w.DECIMAL_AS_EIGHT: 1, w.TEXT: 2}


@dataclass
class _Program:
    rows: list[list[int]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    slots: list[tuple[Any, ...]] = field(default_factory=list)  # the way from the columns to each array
    depth: int = 1

    def slot(self, path: tuple[Any, ...]) -> int:
        self.slots.append(path)
        return len(self.slots) - 1

    def emit(
        self, column: FieldMapping | None, op: int, slot: int, level: int, tag: int = 0, kind: int = 0, mode: int = 0,
        null_bits: int = 0, jump: int = 0,
    ) -> int:  # fmt: skip
        self.rows.append([op, slot, level, tag, kind, mode, null_bits, jump])
        self.names.append(column.path if column is not None else "")
        return len(self.rows) - 1


class ProtobufEncoder:
    """Encodes rows as messages."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            InvalidOptionError: the descriptor file has no such message.
            SchemaError: a column has no field, or its type does not match.
        """
        self._writer = ProtobufWriter(schema, load_message(options), options[WRITE_NULL_STRING_LITERAL])

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row.

        Raises:
            EncodeError: a value does not fit the message.
        """
        return self._writer.write(batch)


class ProtobufWriter:
    """Writes rows as messages of one type, their fields in the order of their numbers."""

    def __init__(self, schema: pa.Schema, message: Descriptor, null_literal: str = "") -> None:
        """
        Args:
            null_literal: what a null text of an array or map is written as.

        Raises:
            SchemaError: a column has no field, or one of another type; a required field has no column.
        """
        self._columns = map_fields(schema, message)
        self._program, self._literal = _Program(), null_literal.encode()
        _fields(self._program, message, [(c, (k,)) for k, c in enumerate(self._columns)], 0, 1)
        self._program.emit(None, w.END, 0, 0)
        self._rows = np.array(self._program.rows, np.int64)

    def write(self, batch: pa.RecordBatch, header: bytes = b"") -> pa.BinaryArray:
        """One payload a row, each with ``header`` before it.

        Raises:
            EncodeError: a value has no form in the message.
        """
        count, program = batch.num_rows, self._program
        head, literal = np.frombuffer(header, np.uint8), np.frombuffer(self._literal, np.uint8)
        tops = to_wire_columns(self._columns, batch.columns)
        arrays = [_array(tops, path) for path in program.slots]
        slots = np.zeros((max(len(arrays), 1), 4), np.int64)
        room = count * (len(head) + 1)
        for k, array in enumerate(arrays):
            slots[k] = _slot(array)
            room += (_ROOM + (len(literal) if array.null_count else 0)) * len(array) + _text_bytes(array)
        if room > _INT32 - 1:
            if count < 2:
                raise EncodeError(f"A row of more than {_INT32 - 1} bytes has no form in protobuf.")
            middle = count // 2
            return pa.concat_arrays([self.write(batch[:middle], header), self.write(batch[middle:], header)])
        out, positions, failure = np.empty(room, np.uint8), np.zeros(count + 1, np.int64), np.zeros(2, np.int64)
        done = w.run(self._rows, slots, count, head, literal, program.depth, out, positions, failure)
        if done < 0:
            name = program.names[failure[0]]
            raise EncodeError(f"Fail to serialize at field: {name}. It is NULL, and the field is required.")
        data = out[positions[0] :].copy()
        places = (positions - positions[0]).astype(np.int32)
        return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(places), pa.py_buffer(data)])


def _fields(
    p: _Program, message: Descriptor, known: list[tuple[FieldMapping, tuple[Any, ...]]], level: int, depth: int
) -> None:
    """A message's fields, from the last to the first."""
    p.depth = max(p.depth, depth)
    there = {column.fd.name for column, _ in known}
    missing = [fd.name for fd in message.fields if is_required(fd) and fd.name not in there]
    if missing:
        raise SchemaError(f"The message {message.full_name} requires the field '{missing[0]}', which is no column.")
    for column, path in sorted(known, key=lambda pair: -pair[0].fd.number):
        if column.is_repeated:
            _repeated(p, column, path, level, depth)
        else:
            _single(p, column, path, level, depth, _mode(column))


def _mode(column: FieldMapping) -> int:
    fd = column.fd
    if fd.containing_type.GetOptions().map_entry:
        return w.ALWAYS
    if is_required(fd):
        return w.REQUIRED
    return w.ABSENT if fd.has_presence else w.NO_DEFAULT


def _single(p: _Program, column: FieldMapping, path: tuple[Any, ...], level: int, depth: int, mode: int) -> None:
    slot = p.slot(path)
    if column.message is None or column.children == ():
        kind = _kind(column)
        if column.message is not None and column.wire.type != pa.binary():
            _message(p, column, path, slot, level, depth, mode)  # one of which no column is read
            return
        p.emit(column, w.FIELD, slot, level, _tag(column, kind), kind, mode, _null_bits(column))
    else:
        _message(p, column, path, slot, level, depth, mode)


def _message(
    p: _Program, column: FieldMapping, path: tuple[Any, ...], slot: int, level: int, depth: int, mode: int
) -> None:
    assert column.message is not None
    tag = column.fd.number << 3 | 2
    enter = p.emit(column, w.ENTER, slot, level, tag, 0, mode)
    _fields(p, column.message, [(c, (*path, k)) for k, c in enumerate(column.children)], level, depth + 1)
    p.emit(column, w.LEAVE, slot, level, tag)
    p.rows[enter][w.JUMP] = len(p.rows)


def _repeated(p: _Program, column: FieldMapping, path: tuple[Any, ...], level: int, depth: int) -> None:
    slot, inside = p.slot(path), (*path, "values")
    is_map = len(column.children) == 2
    element = column.children[0]
    if not is_map and (element.message is None or element.wire.type == pa.binary()):
        kind = _kind(element)
        packed = column.fd.is_packed if hasattr(column.fd, "is_packed") else False
        child = p.slot(inside)
        tag = column.fd.number << 3 | (2 if packed else _WIRE.get(kind, 0))
        op = w.PACKED if packed else w.ELEMENTS
        p.emit(column, op, slot, level, tag, kind, 0, _null_bits(element), child)
        return
    start = p.emit(column, w.LOOP, slot, level)
    assert column.message is not None
    child = p.slot(inside)
    inner = column.children if is_map else element.children
    tag = column.fd.number << 3 | 2
    enter = p.emit(column, w.ENTER, child, level + 1, tag, 0, w.ALWAYS)
    _fields(p, column.message, [(c, (*inside, k)) for k, c in enumerate(inner)], level + 1, depth + 1)
    p.emit(column, w.LEAVE, child, level + 1, tag)
    p.rows[enter][w.JUMP] = len(p.rows)
    p.emit(column, w.NEXT, child, level + 1, jump=start + 1)
    p.rows[start][w.JUMP] = len(p.rows)


def _kind(column: FieldMapping) -> int:
    t, kind = column.wire.type, column.fd.type
    if pt.is_decimal(t):
        return w.DECIMAL if kind == F.TYPE_UINT64 else w.DECIMAL_AS_EIGHT
    if pt.is_int64(t) and kind in (F.TYPE_UINT32, F.TYPE_FIXED32):
        return w.LONG if kind == F.TYPE_UINT32 else w.LONG_AS_FOUR
    return _KINDS[kind]


def _tag(column: FieldMapping, kind: int) -> int:
    return int(column.fd.number << 3 | _WIRE.get(kind, 0))


def _null_bits(column: FieldMapping) -> int:
    """What null is in an array or map: zero, an enum's first value; of texts, whether it is the literal."""
    if column.fd.type == F.TYPE_ENUM:
        return int(column.fd.enum_type.values[0].number)
    return int(column.fd.type == F.TYPE_STRING)


def _array(tops: list[pa.Array], path: tuple[Any, ...]) -> pa.Array:
    array = tops[path[0]]
    for step in path[1:]:
        array = array.values if isinstance(step, str) else array.field(step)
    return array


def _slot(array: pa.Array) -> tuple[int, int, int, int]:
    """Where an array's values, validity and texts are, and its offset in them."""
    valid, *buffers = array.buffers()
    values = None if pt.is_struct(array.type) else buffers[0]
    data = buffers[1] if _is_bytes(array.type) else None
    return _address(values), _address(valid if array.null_count else None), _address(data), array.offset


def _address(buffer: pa.Buffer | None) -> int:
    return 0 if buffer is None else int(buffer.address)


def _is_bytes(t: pa.DataType) -> bool:
    return bool(pt.is_string(t) or pt.is_binary(t))


def _text_bytes(array: pa.Array) -> int:
    if not _is_bytes(array.type) or not len(array):
        return 0
    offsets = np.frombuffer(array.buffers()[1], np.int32)
    return int(offsets[array.offset + len(array)] - offsets[array.offset])
