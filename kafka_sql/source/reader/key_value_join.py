"""Join decoded keys and values: each row of a record's value with each row of its key, as in Flink's reader.

A payload may decode to no row (a null key or value in JSON) or to several. A record whose key has no row yields no row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.formats.format import Decoded

Indices: TypeAlias = npt.NDArray[np.int64]

_PLACE_BITS: Final = 20  # a record has fewer rows than 2 to this power


@dataclass(frozen=True)
class RowOrigins:
    """The key row, the value row and the record that each output row comes from; None for the identity.

    If record 0 decodes to one key row and two value rows, and record 1 to one of each, key indices are ``[0, 0, 1]``,
    value indices ``[0, 1, 2]`` and record indices ``[0, 0, 1]``.
    """

    _key_rows: pa.Array | None
    _value_rows: pa.Array | None
    records: pa.Array | None

    def take_keys(self, columns: list[pa.Array]) -> list[pa.Array]:
        return _take(columns, self._key_rows)

    def take_values(self, columns: list[pa.Array]) -> list[pa.Array]:
        return _take(columns, self._value_rows)

    def order_rows(self, offsets: pa.Array) -> pa.Array:
        """Return a number per row that increases in reading order, for the offsets of the records."""
        order = np.asarray(self.take_records(offsets)) << _PLACE_BITS
        if self.records is not None:
            records = np.asarray(self.records)
            order += np.arange(len(records)) - np.searchsorted(records, records)  # the row's place in its record
        return pa.array(order, pa.int64())

    def take_records(self, column: pa.Array) -> pa.Array:
        """Return a column with one value per record, aligned with the rows."""
        return _take([column], self.records)[0]


EACH_RECORD: Final = RowOrigins(None, None, None)  # each record is one row


def join_key_and_value(record_count: int, keys: Decoded | None, values: Decoded) -> RowOrigins:
    """Return the origins of the joined rows.

    Args:
        keys: None for a table without a key.
    """
    if keys is None or (keys.payload_indices is None and values.payload_indices is None):
        return RowOrigins(None, None, values.payload_indices)
    key_records, value_records = row_payloads(keys, record_count), row_payloads(values, record_count)
    if np.array_equal(key_records, value_records) and (np.diff(key_records) > 0).all():  # one row of each
        return RowOrigins(None, None, _array(key_records))
    # how many rows each record's key has, and the index of the first one
    counts = np.bincount(key_records, minlength=record_count)
    starts = np.concatenate(([0], np.cumsum(counts)))[:-1]
    repeats = counts[value_records]
    value_rows = np.repeat(np.arange(len(value_records)), repeats)
    index_in_record = np.arange(len(value_rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    records = value_records[value_rows]
    return RowOrigins(_array(starts[records] + index_in_record), _array(value_rows), _array(records))


def row_payloads(decoded: Decoded, count: int) -> Indices:
    """Return the payload index of each decoded row; ``count`` is the number of payloads."""
    return np.arange(count) if decoded.payload_indices is None else np.asarray(decoded.payload_indices)


def _array(indices: Indices) -> pa.Array:
    return pa.array(indices, pa.int64())


def _take(columns: list[pa.Array], rows: pa.Array | None) -> list[pa.Array]:
    return columns if rows is None else [column.take(rows) for column in columns]
