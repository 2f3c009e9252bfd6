"""Payloads of JSON to columns: two ways, one result.

The fast way takes what it provably reads as Flink does; all else goes the exact way. A buffer that the fast way
refuses is halved, so that a few odd records do not make all the others slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.formats.format import Decoded
from kafka_sql.formats.json import columns, guard
from kafka_sql.formats.json.options import (
    FAIL_ON_MISSING_FIELD,
    IGNORE_PARSE_ERRORS,
    ISO_8601,
    TIMESTAMP_FORMAT,
    check_decoding,
)
from kafka_sql.formats.json.record import Row, Rules, row_reader
from kafka_sql.formats.json.schema import check_schema
from kafka_sql.options import Options

Indices: TypeAlias = npt.NDArray[np.int64]

_NEWLINE: Final = b"\n"
_SMALL: Final = 32  # records that are no longer worth halving
_MAX_BYTES: Final = 2**31 - 64  # of one block of pyarrow's reader


class JsonDecoder:
    """Decodes UTF-8 JSON objects, one a payload; an array of objects is as many rows.

    A null or empty payload is no row. Flink's words for all of this: docs/formats/json.md.
    """

    terminator = _NEWLINE

    def __init__(self, schema: pa.Schema, options: Options) -> None:
        """
        Raises:
            SchemaError: a column has no form in JSON.
            ConflictingOptionsError: two options contradict each other.
        """
        check_decoding(options)
        check_schema(schema)
        self._schema = schema
        self._rules = Rules(
            fail_on_missing=options[FAIL_ON_MISSING_FIELD],
            ignore_errors=options[IGNORE_PARSE_ERRORS],
            iso=options[TIMESTAMP_FORMAT] == ISO_8601,
        )
        self._read_row = row_reader(schema, self._rules)
        types = [columns.read_type(field.type) for field in schema]
        fast = bool(types) and None not in types
        self._read_schema = pa.schema(list(zip(schema.names, types, strict=True))) if fast else None

    def decode(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode a buffer of payloads, each with the terminator.

        Raises:
            DecodeError: the first payload in error, unless errors are ignored.
        """
        kept, buffer = _with_payload(payloads)
        if len(kept) == 0:
            return Decoded([pa.array([], field.type) for field in self._schema], _rows(kept, len(payloads)))
        parts = list(self._solve(buffer, 0, len(kept), kept))
        columns_ = [_joined([part.columns[i] for part in parts]) for i in range(len(self._schema))]
        rows = np.concatenate([part.rows for part in parts])
        return Decoded(columns_, _rows(kept[rows], len(payloads)))

    def _solve(self, buffer: _Buffer, low: int, high: int, kept: Indices) -> Iterator[_Part]:
        """The parts of payloads low to high, in order."""
        if self._read_schema is None:
            yield self._exact(buffer, low, high, kept)
            return
        arrays = self._fast(buffer, low, high)
        if arrays is not None:
            yield _Part(arrays, np.arange(low, high))
        elif high - low <= _SMALL:
            yield self._exact(buffer, low, high, kept)
        else:
            middle = (low + high) // 2
            yield from self._solve(buffer, low, middle, kept)
            yield from self._solve(buffer, middle, high, kept)

    def _fast(self, buffer: _Buffer, low: int, high: int) -> list[pa.Array] | None:
        """The columns, or None where it is not certain that they are Flink's."""
        offsets = buffer.offsets[low : high + 1]
        if offsets[-1] - offsets[0] > _MAX_BYTES or not guard.provable(buffer.data, offsets):
            return None
        arrays = columns.read(pa.py_buffer(buffer.data[offsets[0] : offsets[-1]]), self._read_schema)
        if arrays is None or len(arrays[0]) != high - low:
            return None
        for field, array in zip(self._schema, arrays, strict=True):
            if (self._rules.fail_on_missing and array.null_count) or not columns.holds(field, array, self._rules):
                return None
        try:
            return [columns.convert(a, f.type, self._rules) for a, f in zip(arrays, self._schema, strict=True)]
        except ValueError:
            return None

    def _exact(self, buffer: _Buffer, low: int, high: int, kept: Indices) -> _Part:
        rows: list[Row] = []
        origins: list[int] = []
        for i in range(low, high):
            payload = buffer.data[buffer.offsets[i] : buffer.offsets[i + 1] - 1].tobytes()
            made = self._read_row(int(kept[i]), payload)
            rows += made
            origins += [i] * len(made)
        arrays = [pa.array([row[field.name] for row in rows], field.type) for field in self._schema]
        return _Part(arrays, np.array(origins, np.int64))


@dataclass(frozen=True)
class _Buffer:
    """Payloads that are neither null nor empty, each with its newline."""

    data: guard.Bytes
    offsets: guard.Offsets


@dataclass(frozen=True)
class _Part:
    """Columns, and the payload of the buffer that each row came from."""

    columns: list[pa.Array]
    rows: Indices


def _with_payload(payloads: pa.BinaryArray) -> tuple[Indices, _Buffer]:
    """The payloads that are neither null nor empty, and their indices."""
    kept = np.arange(len(payloads))
    if payloads.null_count:
        kept = np.flatnonzero(payloads.is_valid().to_numpy(zero_copy_only=False))
        payloads = payloads.drop_null()
    buffer = _buffer(payloads)
    lengths = np.diff(buffer.offsets)
    if (lengths == 0).any() or (buffer.data[buffer.offsets[1:] - 1] != _NEWLINE[0]).any():
        payloads = pc.binary_join_element_wise(payloads, _NEWLINE, b"")  # the reader put no terminators
        buffer = _buffer(payloads)
        lengths = np.diff(buffer.offsets)
    full = lengths > 1
    return (kept, buffer) if full.all() else (kept[full], _buffer(payloads.filter(pa.array(full))))


def _buffer(payloads: pa.BinaryArray) -> _Buffer:
    offsets = np.frombuffer(payloads.buffers()[1], np.int32)[payloads.offset : payloads.offset + len(payloads) + 1]
    data = payloads.buffers()[2]
    return _Buffer(np.frombuffer(data if data is not None else b"", np.uint8), offsets)


def _rows(kept: Indices, payloads: int) -> pa.Array | None:
    """The origins of the rows, or None where each payload is one row."""
    if len(kept) == payloads and bool((kept == np.arange(payloads)).all()):
        return None
    return pa.array(kept, pa.int64())


def _joined(arrays: list[pa.Array]) -> pa.Array:
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
