"""Rows from keys and values: each row of a record's value with each row of its key, as Flink's reader emits them.

A payload may be no row (a null key or value in JSON) or several. A record whose key is no row is therefore no row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.formats.format import Decoded

Indices: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RowOrigins:
    """For each row, which row of the key, which row of the value and which record it is from; None for the same."""

    _key: pa.Array | None
    _value: pa.Array | None
    _record: pa.Array | None

    @property
    def record_indices(self) -> pa.Array | None:
        """The record of each row; None where each record is a row."""
        return self._record

    def take_keys(self, columns: list[pa.Array]) -> list[pa.Array]:
        """Columns of the keys, a value a row."""
        return _taken(columns, self._key)

    def take_values(self, columns: list[pa.Array]) -> list[pa.Array]:
        """Columns of the values, a value a row."""
        return _taken(columns, self._value)

    def take_records(self, column: pa.Array) -> pa.Array:
        """A column with a value a record, a value a row."""
        return _taken([column], self._record)[0]


def join_key_and_value(records: int, keys: Decoded | None, values: Decoded) -> RowOrigins:
    """Which rows there are.

    Args:
        records: how many records were decoded.
        keys: None for a table without key.
    """
    if keys is None or (keys.payload_indices is None and values.payload_indices is None):
        return RowOrigins(None, None, values.payload_indices)
    of_key, of_value = payload_indices(keys, records), payload_indices(values, records)
    if np.array_equal(of_key, of_value) and (np.diff(of_key) > 0).all():  # each is one row of each
        return RowOrigins(None, None, _array(of_key))
    # how many rows each record's key is, and where they begin
    counts = np.bincount(of_key, minlength=records)
    starts = np.concatenate(([0], np.cumsum(counts)))[:-1]
    repeats = counts[of_value]
    value = np.repeat(np.arange(len(of_value)), repeats)
    within = np.arange(len(value)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    record = of_value[value]
    return RowOrigins(_array(starts[record] + within), _array(value), _array(record))


def payload_indices(decoded: Decoded, records: int) -> Indices:
    """The payload of each row, of so many."""
    return np.arange(records) if decoded.payload_indices is None else np.asarray(decoded.payload_indices)


def _array(indices: Indices) -> pa.Array:
    return pa.array(indices, pa.int64())


def _taken(columns: list[pa.Array], rows: pa.Array | None) -> list[pa.Array]:
    return columns if rows is None else [column.take(rows) for column in columns]
