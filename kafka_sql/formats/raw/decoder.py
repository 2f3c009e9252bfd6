"""Payloads as the values of one column."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.errors import DecodeError
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.format import Decoded, ErrorSink, report_or_raise
from kafka_sql.formats.java.charset import Charset
from kafka_sql.formats.raw.options import BIG_ENDIAN, CHARSET, ENDIANNESS, single_field, sql_name
from kafka_sql.options import Options


class RawDecoder:
    """Decodes the payload as the column's value; a null payload is a row with null."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            SchemaError: there is not exactly one column, or the format does not have its type.
        """
        self._field = single_field(schema)
        self._charset = options[CHARSET]
        self._swap = (options[ENDIANNESS] == BIG_ENDIAN) != (sys.byteorder == "big")

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer; BYTES and valid UTF-8 are the payloads' own memory.

        Raises:
            DecodeError: a payload has not the length of the number, or is null where the column is NOT NULL, and
                ``bad`` does not take such.
        """
        wrong = self._errors(payloads)
        for error in wrong:
            report_or_raise(errors, error)
        if not wrong:
            return Decoded([self._column(payloads)])
        rows = pa.array(np.setdiff1d(np.arange(len(payloads)), [e.row for e in wrong], assume_unique=True))
        return Decoded([self._column(payloads.take(rows))], rows)

    def _errors(self, payloads: pa.BinaryArray) -> list[DecodeError]:
        t = self._field.type
        found: dict[int, str] = {}
        valid = payloads.is_valid().to_numpy(zero_copy_only=False)
        if not self._is_text():
            size = _dtype(t).itemsize
            lengths = np.diff(bytes_and_offsets(payloads)[1])
            said = f"Size of data received for deserializing {sql_name(t)} type is not {size}: found"
            wrong = np.flatnonzero(valid & (lengths != size)).tolist()
            found = {row: f"{said} {lengths[row]} bytes" for row in wrong}
        if payloads.null_count and not self._field.nullable:
            found |= dict.fromkeys(
                np.flatnonzero(~valid).tolist(), "the payload is null, but the column is declared NOT NULL"
            )
        return [DecodeError(row, self._field.name, found[row]) for row in sorted(found)]

    def _is_text(self) -> bool:
        t = self._field.type
        return bool(pt.is_binary(t) or pt.is_large_binary(t) or pt.is_string(t) or pt.is_large_string(t))

    def _column(self, payloads: pa.BinaryArray) -> pa.Array:
        t = self._field.type
        if pt.is_binary(t) or pt.is_large_binary(t):
            return payloads.cast(t)
        if not self._is_text():
            return self._numbers(payloads)
        return (_utf8(payloads) if self._charset.is_utf8 else _texts(payloads, self._charset)).cast(t)

    def _numbers(self, payloads: pa.BinaryArray) -> pa.Array:
        t = self._field.type
        kind = _dtype(t)
        valid = payloads.is_valid().to_numpy(zero_copy_only=False)
        offsets = bytes_and_offsets(payloads)[1]
        if payloads.null_count:
            payloads = payloads.drop_null()
            offsets = np.frombuffer(payloads.buffers()[1], np.int32)[payloads.offset :]
        start = int(offsets[0]) if len(payloads) else 0
        data = payloads.buffers()[2] if len(payloads) else b""
        values = np.frombuffer(data, kind, len(payloads), start)
        if self._swap:
            values = values.byteswap()
        if pt.is_boolean(t):
            values = values != 0
        if len(values) == len(valid):
            return pa.array(values, t)
        spread = np.zeros(len(valid), values.dtype)
        spread[valid] = values
        return pa.array(spread, t, mask=~valid)


def _dtype(t: pa.DataType) -> np.dtype[Any]:
    return np.dtype(np.uint8) if pt.is_boolean(t) else np.dtype(t.to_pandas_dtype())


def _utf8(payloads: pa.BinaryArray) -> pa.StringArray:
    """The payloads as text; halved where they are not UTF-8, so that only those in error are repaired."""
    try:
        return payloads.cast(pa.string())
    except pa.ArrowInvalid:
        if len(payloads) <= 32:
            return _texts(payloads, Charset.named("UTF-8"))
        middle = len(payloads) // 2
        return pa.concat_arrays([_utf8(payloads[:middle]), _utf8(payloads[middle:])])


def _texts(payloads: pa.BinaryArray, charset: Charset) -> pa.StringArray:
    # One by one: no library decodes these sets by the column.
    return pa.array([None if p is None else charset.decode(p) for p in payloads.to_pylist()], pa.string())
