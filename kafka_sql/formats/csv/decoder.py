"""Payloads of CSV to columns: two ways, one result.

Compiled loops cut the payloads into values, whose columns Arrow converts. A payload that they leave out, or that has a
value of no plain form, goes the exact way.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.formats.csv import columns, kernels
from kafka_sql.formats.csv.options import Dialect, dialect
from kafka_sql.formats.csv.record import row_reader
from kafka_sql.formats.csv.schema import check_schema
from kafka_sql.formats.format import Decoded
from kafka_sql.formats.memory import bytes_and_offsets
from kafka_sql.options import Options

Bytes: TypeAlias = npt.NDArray[np.uint8]
Offsets: TypeAlias = npt.NDArray[np.int32]
Indices: TypeAlias = npt.NDArray[np.int64]


class CsvDecoder:
    """Decodes one line of CSV a payload; a null payload is no row. All rules: docs/formats/csv.md."""

    terminator = b""

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            SchemaError: a column has no form in CSV.
            ConflictingOptionsError: two options contradict each other.
        """
        check_schema(schema)
        self._schema, self._dialect = schema, dialect(options)
        self._read_row = row_reader(schema, self._dialect)

    def decode(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode a buffer of payloads.

        Raises:
            DecodeError: the first payload in error, unless errors are ignored.
        """
        total = len(payloads)
        kept = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        if payloads.null_count:
            payloads = payloads.drop_null()
        data, offsets = bytes_and_offsets(payloads)
        plain, arrays = self._fast(payloads, data, offsets)
        if len(plain) < len(payloads):
            left = np.ones(len(payloads), bool)
            left[plain] = False
            odd = np.flatnonzero(left)
            exact, slow = self._exact(data, offsets, odd, kept)
            places = np.concatenate([plain, exact])
            order = np.argsort(places, kind="stable")
            taken = pa.array(order)
            arrays = [pa.concat_arrays(pair).take(taken) for pair in zip(arrays, slow, strict=True)]
            plain = places[order]
        return Decoded(arrays, None if len(plain) == total else pa.array(kept[plain], pa.int64()))

    def _fast(self, payloads: pa.BinaryArray, data: Bytes, offsets: Offsets) -> tuple[Indices, list[pa.Array]]:
        """The payloads that the fast way can read, and their columns."""
        count, width = len(payloads), len(self._schema)
        if not count or not self._dialect.ascii:
            return np.empty(0, np.int64), [pa.array([], field.type) for field in self._schema]
        starts, lengths, sizes = (np.empty((width, count), np.int32) for _ in range(3))
        kinds, odd = np.empty((width, count), np.uint8), np.empty(count, np.uint8)
        marks = _marks(self._dialect)
        kernels.split(
            data,
            offsets,
            *marks,
            self._dialect.trim,
            self._dialect.comments,
            self._dialect.trailing,
            starts,
            lengths,
            sizes,
            kinds,
            odd,
        )
        odd[_not_utf8(payloads, data, offsets)] = 1
        rows = np.flatnonzero(odd == 0)
        arrays, bad = [], np.zeros(len(rows), bool)
        for i, field in enumerate(self._schema):
            positions = np.zeros(len(rows) + 1, np.int32)
            np.cumsum(sizes[i][rows], out=positions[1:])
            out = np.empty(positions[-1], np.uint8)
            kernels.gather(data, rows, starts[i], lengths[i], kinds[i], *marks[1:], positions, out)
            texts = pa.Array.from_buffers(
                pa.string(), len(rows), [None, pa.py_buffer(positions), pa.py_buffer(out)], null_count=0
            )
            array, wrong = columns.read(texts, field, self._dialect)
            arrays.append(array)
            bad[wrong] = True
        if bad.any():
            good = pa.array(~bad)
            return rows[~bad], [array.filter(good) for array in arrays]
        return rows, arrays

    def _exact(self, data: Bytes, offsets: Offsets, odd: Indices, kept: Indices) -> tuple[Indices, list[pa.Array]]:
        """The same by the exact way, for these payloads."""
        rows, origins = [], []
        for i in odd.tolist():
            row = self._read_row(int(kept[i]), data[offsets[i] : offsets[i + 1]].tobytes())
            if row is not None:
                rows.append(row)
                origins.append(i)
        arrays = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(self._schema)]
        return np.array(origins, np.int64), arrays


def _marks(dialect: Dialect) -> tuple[int, int, int]:
    quote, escape = (ord(mark) if mark else -1 for mark in (dialect.quote, dialect.escape))
    return ord(dialect.separator), quote, escape


def _not_utf8(payloads: pa.BinaryArray, data: Bytes, offsets: Offsets) -> list[int]:
    """Which payloads are no UTF-8."""
    try:
        payloads.cast(pa.string())
    except pa.ArrowInvalid:
        texts = (data[a:b].tobytes() for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))
        return [i for i, text in enumerate(texts) if text.decode("utf-8", "replace").encode() != text]
    return []
