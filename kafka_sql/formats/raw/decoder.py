"""Decode payloads as the values of the only column, and infer its type."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from kafka_sql.errors import DecodeError
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets, decode_utf8
from kafka_sql.formats.format import ColumnTypes, Decoded, ErrorSink, report_or_raise
from kafka_sql.formats.java.charset import Charset
from kafka_sql.formats.raw.options import BIG_ENDIAN, CHARSET, ENDIANNESS, LINE_DELIMITER, SQL_NAMES, single_field
from kafka_sql.options import Options

_CONTROL: Final = re.compile(r"[^\t\n\r\x20-\U0010ffff]")


class RawDecoder:
    """Decodes each payload as a value; a null payload is a row with null."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        self._field = single_field(schema, options)
        self._delimiter = options.get(LINE_DELIMITER)
        self._charset = options[CHARSET]
        self._swap_bytes = (options[ENDIANNESS] == BIG_ENDIAN) != (sys.byteorder == "big")

    def decode(self, payloads: pa.BinaryArray, errors: ErrorSink = None) -> Decoded:
        """Decode a buffer of payloads; see ``Decoder``. BYTES and valid UTF-8 are not copied."""
        if self._delimiter is not None:
            return self._decode_lines(payloads, self._delimiter)
        undecodable = self._find_errors(payloads)
        for error in undecodable:
            report_or_raise(errors, error)
        if not undecodable:
            return Decoded([self._decode_column(payloads)])
        rows = pa.array(np.setdiff1d(np.arange(len(payloads)), [e.row for e in undecodable], assume_unique=True))
        return Decoded([self._decode_column(payloads.take(rows))], rows)

    def _decode_lines(self, payloads: pa.BinaryArray, delimiter: str) -> Decoded:
        """Return one row per line. A delimiter at the end begins no line, and a null payload has none."""
        text = self._decode_text(payloads)
        without_end = pc.utf8_slice_codeunits(text, 0, -len(delimiter))
        lines = pc.split_pattern(pc.if_else(pc.ends_with(text, delimiter), without_end, text), delimiter)
        indices = pc.list_parent_indices(lines).cast(pa.int64())
        return Decoded([pc.list_flatten(lines)], indices)

    def _find_errors(self, payloads: pa.BinaryArray) -> list[DecodeError]:
        arrow_type = self._field.type
        reasons: dict[int, str] = {}
        valid = payloads.is_valid().to_numpy(zero_copy_only=False)
        if not _has_variable_length(arrow_type):
            size = _dtype(arrow_type).itemsize
            lengths = np.diff(bytes_and_offsets(payloads)[1])
            mismatch = f"Size of data received for deserializing {SQL_NAMES[arrow_type]} type is not {size}: found"
            rows = np.flatnonzero(valid & (lengths != size)).tolist()
            reasons = {row: f"{mismatch} {lengths[row]} bytes" for row in rows}
        if payloads.null_count and not self._field.nullable:
            reasons |= dict.fromkeys(
                np.flatnonzero(~valid).tolist(), "the payload is null, but the column is declared NOT NULL"
            )
        return [DecodeError(row, self._field.name, reasons[row]) for row in sorted(reasons)]

    def _decode_column(self, payloads: pa.BinaryArray) -> pa.Array:
        arrow_type = self._field.type
        if pt.is_string(arrow_type):
            return self._decode_text(payloads)
        return payloads if pt.is_binary(arrow_type) else self._decode_numbers(payloads, arrow_type)

    def _decode_text(self, payloads: pa.BinaryArray) -> pa.StringArray:
        return decode_utf8(payloads) if self._charset.is_utf8 else _decode_one_by_one(payloads, self._charset)

    def _decode_numbers(self, payloads: pa.BinaryArray, arrow_type: pa.DataType) -> pa.Array:
        dtype, mask = _dtype(arrow_type), None
        if payloads.null_count:
            mask = payloads.is_null().to_numpy(zero_copy_only=False)
            payloads = payloads.fill_null(bytes(dtype.itemsize))
        data, offsets = bytes_and_offsets(payloads)
        values = data[offsets[0] : offsets[-1]].view(dtype)
        if self._swap_bytes:
            values = values.byteswap()
        return pa.array(values != 0 if pt.is_boolean(arrow_type) else values, arrow_type, mask=mask)


def infer_from_payloads(payloads: Sequence[bytes], options: Options, errors: ErrorSink) -> ColumnTypes:
    """Return the type of the only column, without a name: STRING if all payloads are text, otherwise BYTES.

    Text has no control characters except tabs and line ends: a binary number may be valid UTF-8, too.
    """
    del errors  # any payload is of the raw format
    charset = options[CHARSET]
    texts = [charset.decode(payload) for payload in payloads]
    is_text = all(
        charset.encode(text) == payload and not _CONTROL.search(text)
        for text, payload in zip(texts, payloads, strict=True)
    )
    return (("", "STRING" if is_text else "BYTES"),) if payloads else ()


def _has_variable_length(arrow_type: pa.DataType) -> bool:
    return bool(pt.is_binary(arrow_type) or pt.is_string(arrow_type))


def _dtype(arrow_type: pa.DataType) -> np.dtype[Any]:
    return np.dtype(np.uint8) if pt.is_boolean(arrow_type) else np.dtype(arrow_type.to_pandas_dtype())


def _decode_one_by_one(payloads: pa.BinaryArray, charset: Charset) -> pa.StringArray:
    # No library decodes whole columns of these character sets.
    return pa.array([None if p is None else charset.decode(p) for p in payloads.to_pylist()], pa.string())
