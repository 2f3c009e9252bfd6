"""Columns to payloads of Avro, without a Python object a row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from kafka_sql.errors import EncodeError, SchemaError
from kafka_sql.formats.avro import encode_kernels as w
from kafka_sql.formats.avro.options import LEGACY_TIMESTAMPS
from kafka_sql.formats.avro.schema import AvroType, parse_schema
from kafka_sql.formats.avro.schema_from_table import derive_schema
from kafka_sql.options import Options

_MICROS: Final = {"millis": -1000, "micros": 1, "nanos": 1000}
_NANOS: Final = {"millis": -1_000_000, "micros": -1000}
_INT32: Final = 2**31
_ROOM: Final = 22  # bytes that any value without a length of its own takes at most, with its branch


@dataclass
class _Column:
    """How the array of a slot is found: by ``path`` from the batch, and for an enum by its symbols."""

    path: tuple[Any, ...]
    symbols: tuple[str, ...] = ()


@dataclass
class _Program:
    rows: list[list[int]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    columns: list[_Column] = field(default_factory=list)
    depth: int = 0

    def emit(self, name: str, op: int, slot: int, level: int, a: int = 0, b: int = 0, c: int = 0) -> int:
        self.rows.append([op, slot, level, a, b, c])
        self.names.append(name)
        return len(self.rows) - 1


class AvroEncoder:
    """Encodes rows with the schema derived from the table."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            SchemaError: Avro has no type for a column.
        """
        self._writer = AvroWriter(schema, parse_schema(derive_schema(schema, options[LEGACY_TIMESTAMPS])))

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row.

        Raises:
            EncodeError: a value does not fit the schema.
        """
        return self._writer.write(batch)


class AvroWriter:
    """Writes rows of one schema as Avro's binary encoding."""

    def __init__(self, schema: pa.Schema, avro: AvroType) -> None:
        """
        Args:
            avro: a record whose fields are the columns, in their order, or a union of null and one.

        Raises:
            SchemaError: it does not fit the columns.
        """
        self._program = _Program()
        record = next(
            (t for t in (avro.items if avro.type_name == "union" else (avro,)) if t.type_name == "record"), avro
        )
        if record.type_name != "record" or len(record.fields) != len(schema):
            raise SchemaError(
                f"The Avro schema is {avro}, expected a record with the fields: {', '.join(schema.names)}."
            )
        self._prefix = bytes([2 * avro.items.index(record)]) if avro.type_name == "union" else b""
        for k, (column, one) in enumerate(zip(schema, record.fields, strict=True)):
            _value(self._program, column, one.type, (k,), 0, column.name)
        self._program.emit("", w.END, 0, 0)
        self._rows = np.array(self._program.rows, np.int64)

    def write(self, batch: pa.RecordBatch, header: bytes = b"") -> pa.BinaryArray:
        """One payload a row, each with ``header`` before it.

        Raises:
            EncodeError: a value has no form in the schema.
        """
        count, program = batch.num_rows, self._program
        head = np.frombuffer(header + self._prefix, np.uint8)
        arrays = [_array(batch, column) for column in program.columns]
        slots = np.zeros((max(len(arrays), 1), 4), np.int64)
        room = count * (len(head) + 1)
        for k, array in enumerate(arrays):
            slots[k] = _slot(array)
            room += _ROOM * len(array) + _text_bytes(array)
        if room > _INT32 - 1:
            if count < 2:
                raise EncodeError(f"A row of more than {_INT32 - 1} bytes has no form in Avro.")
            middle = count // 2
            return pa.concat_arrays([self.write(batch[:middle], header), self.write(batch[middle:], header)])
        out, positions, failure = np.empty(room, np.uint8), np.zeros(count + 1, np.int32), np.zeros(2, np.int64)
        done = w.run(self._rows, slots, count, head, program.depth, out, positions, failure)
        if done < 0:
            self._fail(done, failure)
        used = int(positions[-1])
        data = out[:used] if used * 2 > room else out[:used].copy()  # does not keep the room that was not needed
        return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(positions), pa.py_buffer(data)])

    def _fail(self, done: int, failure: np.ndarray) -> None:
        name = self._program.names[failure[0]]
        if done == w.NULL_FOUND:
            raise EncodeError(f"Fail to serialize at field: {name}. It is NULL, and the Avro schema has no null there.")
        size = self._program.rows[failure[0]][w.A]
        raise EncodeError(f"Fail to serialize at field: {name}. The Avro schema has a fixed of {size} bytes there.")


def _value(p: _Program, column: pa.Field, avro: AvroType, path: tuple[Any, ...], level: int, name: str) -> None:
    t = column.type
    slot = len(p.columns)
    p.columns.append(_Column(path))
    kind, null = avro, -1
    if avro.type_name == "union":
        others = [b for b in avro.items if b.type_name != "null"]
        if len(others) != 1 or len(avro.items) > 2:
            raise SchemaError(f"The Avro schema is not a nullable type: {avro} (field '{name}').")
        kind = others[0]
        null = next((k for k, b in enumerate(avro.items) if b.type_name == "null"), -1)
    check = p.emit(name, w.NULLABLE, slot, level, null, avro.items.index(kind) if avro.type_name == "union" else 0)
    if avro.type_name == "union" and null < 0:
        raise SchemaError(f"The Avro schema is not a nullable type: {avro} (field '{name}').")
    if pt.is_struct(t) and kind.type_name == "record" and len(kind.fields) == t.num_fields:
        for k, (child, one) in enumerate(zip(t, kind.fields, strict=True)):
            _value(p, child, one.type, (*path, k), level, f"{name}.{child.name}")
    elif (pt.is_list(t) and kind.type_name == "array") or (pt.is_map(t) and kind.type_name == "map"):
        p.depth = max(p.depth, level + 1)
        start = p.emit(name, w.ARRAY, slot, level)
        if pt.is_map(t):
            _value(p, t.key_field, AvroType("string"), (*path, "keys"), level + 1, name)
            _value(p, t.item_field, kind.element, (*path, "items"), level + 1, f"{name}[]")
        else:
            _value(p, t.value_field, kind.element, (*path, "values"), level + 1, f"{name}[]")
        p.emit(name, w.NEXT, slot, level + 1, start + 1)
        p.rows[start][w.C] = len(p.rows)
    else:
        op, a = _scalar(t, kind, name)
        if kind.type_name == "enum":
            p.columns[slot] = _Column(path, kind.symbols)
        p.emit(name, op, slot, level, a)
    p.rows[check][w.C] = len(p.rows)


def _scalar(t: pa.DataType, avro: AvroType, name: str) -> tuple[int, int]:
    """The instruction that writes a value, and its argument."""
    kind = avro.type_name
    text = pt.is_string(t) or pt.is_large_string(t)
    if pt.is_boolean(t) and kind == "boolean":
        return w.BOOLEAN, 0
    if ((pt.is_integer(t) and t.bit_width < 64) or pt.is_date(t)) and kind == "int":
        return {8: w.BYTE, 16: w.SHORT, 32: w.INT}[t.bit_width], 0
    if pt.is_integer(t) and kind == "long":
        return w.LONG, 1
    if (pt.is_timestamp(t) and kind == "long") or (pt.is_time(t) and kind in ("int", "long")):
        return w.LONG, write_factor(avro, t)
    if pt.is_floating(t) and kind == ("float" if t.bit_width == 32 else "double"):
        return (w.FLOAT, 0) if t.bit_width == 32 else (w.DOUBLE, 0)
    if pt.is_decimal(t) and avro.logical_type == "decimal" and avro.scale == t.scale:
        return (w.DECIMAL, 0) if kind == "bytes" else (w.DECIMAL_FIXED, avro.size)
    if text and kind == "enum":
        return w.INT, 0
    if (text and kind == "string") or (not text and _is_bytes(t) and kind == "bytes"):
        return w.TEXT, 0
    if _is_bytes(t) and kind == "fixed":
        return w.FIXED, avro.size
    raise SchemaError(f"The Avro schema has {avro} for the field '{name}', which is {t} in the table.")


def write_factor(avro: AvroType, t: pa.DataType) -> int:
    """What makes Avro's unit of the column's: a factor, or a divisor below zero."""
    unit = avro.logical_type.rpartition("-")[2]
    return _NANOS.get(unit, -1_000_000) if pt.is_time(t) else _MICROS.get(unit, -1000)


def _is_bytes(t: pa.DataType) -> bool:
    """Whether a type is of bytes."""
    return bool(pt.is_binary(t) or pt.is_large_binary(t))


def _array(batch: pa.RecordBatch, column: _Column) -> pa.Array:
    """The array of a slot, with 32-bit offsets."""
    array: pa.Array = batch.column(column.path[0])
    for step in column.path[1:]:
        array = getattr(array, step) if isinstance(step, str) else array.field(step)
    if pt.is_large_string(array.type) or pt.is_large_binary(array.type):
        array = array.cast(pa.string() if pt.is_large_string(array.type) else pa.binary())
    if column.symbols:
        codes = pc.index_in(array, pa.array(column.symbols))
        if codes.null_count > array.null_count:
            wrong = array.filter(pc.and_(codes.is_null(), array.is_valid()))[0].as_py()
            raise EncodeError(f"'{wrong}' is none of the symbols of the Avro enum: {', '.join(column.symbols)}.")
        return codes
    return array


def _slot(array: pa.Array) -> tuple[int, int, int, int]:
    """Where an array's values, validity and texts are, and its offset in them."""
    valid, *buffers = array.buffers()
    values = None if pt.is_struct(array.type) else buffers[0]
    data = buffers[1] if _is_text(array.type) else None
    return _address(values), _address(valid if array.null_count else None), _address(data), array.offset


def _address(buffer: pa.Buffer | None) -> int:
    return 0 if buffer is None else int(buffer.address)


def _is_text(t: pa.DataType) -> bool:
    return bool(pt.is_string(t) or pt.is_binary(t))


def _text_bytes(array: pa.Array) -> int:
    if not _is_text(array.type) or not len(array):
        return 0
    offsets = np.frombuffer(array.buffers()[1], np.int32)
    return int(offsets[array.offset + len(array)] - offsets[array.offset])
