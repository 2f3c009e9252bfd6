"""Encode the values of the only column as payloads."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from kafka_sql.formats.raw.options import BIG_ENDIAN, CHARSET, ENDIANNESS, LINE_DELIMITER, single_field
from kafka_sql.options import Options


class RawEncoder:
    """Encodes each value as a payload; null is a record without a payload."""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        single_field(schema, options)
        self._charset = options[CHARSET]
        self._delimiter = options.get(LINE_DELIMITER)
        self._swap_bytes = (options[ENDIANNESS] == BIG_ENDIAN) != (sys.byteorder == "big")

    def encode(self, batch: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row. BYTES and UTF-8 are not copied."""
        column = batch.column(0)
        arrow_type = column.type
        if pt.is_binary(arrow_type) or pt.is_large_binary(arrow_type):
            return column.cast(pa.binary())
        if pt.is_string(arrow_type) or pt.is_large_string(arrow_type):
            strings = column.cast(pa.string())
            if self._delimiter is not None:
                strings = pc.binary_join_element_wise(strings, self._delimiter, "")
            if self._charset.is_utf8:
                return strings.cast(pa.binary())
            encoded = [None if text is None else self._charset.encode(text) for text in strings.to_pylist()]
            return pa.array(encoded, pa.binary())
        return self._encode_numbers(column)

    def _encode_numbers(self, column: pa.Array) -> pa.BinaryArray:
        values = column.drop_null().to_numpy(zero_copy_only=False)
        if pt.is_boolean(column.type):
            values = values.astype(np.uint8)
        if self._swap_bytes:
            values = values.byteswap()
        valid = column.is_valid()
        present = valid.to_numpy(zero_copy_only=False)
        offsets = np.zeros(len(column) + 1, np.int32)
        np.cumsum(present * values.itemsize, out=offsets[1:])
        validity = pa.array(present).buffers()[1] if column.null_count else None
        data = pa.py_buffer(np.ascontiguousarray(values))
        return pa.Array.from_buffers(pa.binary(), len(column), [validity, pa.py_buffer(offsets), data])
