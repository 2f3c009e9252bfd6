"""Truncate times and timestamps to the precision of their columns, as Flink does with the cast that it adds to INSERT.

In Spark, the values of all these columns have microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.formats.declared_types import DeclaredType, parse_declared_type
from kafka_sql.table.table import Table

_SPARK_PRECISION: Final = 6
_MILLISECOND_PRECISION: Final = 3


def truncate_fractions(table: Table, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the batches with the fractional seconds of the physical columns truncated."""
    declared = {c.name: parse_declared_type(c.declared) for c in table.physical_columns}
    types = {name: type for name, type in declared.items() if type.is_truncated}
    return (_truncate_batch(batch, types) for batch in batches) if types else batches


def _truncate_batch(batch: pa.RecordBatch, types: Mapping[str, DeclaredType]) -> pa.RecordBatch:
    columns = [
        _truncate(column, types[name]) if name in types else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _truncate(array: pa.Array, type: DeclaredType) -> pa.Array:
    arrow_type = array.type
    if not len(array) or not type.is_truncated:
        return array
    if pt.is_time(arrow_type) or pt.is_timestamp(arrow_type):
        return _truncate_values(array, type.fraction_digits)
    if array.offset:
        array = pa.concat_arrays([array, array[:0]])  # a copy without an offset, which the children would share
    if pt.is_struct(arrow_type):
        children = [_truncate(array.field(i), type.child(i)) for i in range(arrow_type.num_fields)]
    elif pt.is_map(arrow_type):
        entries = [_truncate(array.keys, type.child(0)), _truncate(array.items, type.child(1))]
        children = [pa.StructArray.from_arrays(entries, fields=[arrow_type.key_field, arrow_type.item_field])]
    else:
        children = [_truncate(array.values, type.child(0))]
    buffers = array.buffers()[: 1 if pt.is_struct(arrow_type) else 2]  # the last one has the offsets of the elements
    return pa.Array.from_buffers(arrow_type, len(array), buffers, array.null_count, children=children)


def _truncate_values(array: pa.Array, precision: int) -> pa.Array:
    validity, buffer = array.buffers()
    values = np.frombuffer(buffer, np.int64)
    if pt.is_time(array.type):  # nanoseconds
        unit = 10 ** (9 - precision)
        truncated = values // unit * unit
    else:
        truncated = _truncate_timestamps(values, precision)
    buffers = [validity, pa.py_buffer(truncated)]
    return pa.Array.from_buffers(array.type, len(array), buffers, array.null_count, array.offset)


def _truncate_timestamps(microseconds: npt.NDArray[np.int64], precision: int) -> npt.NDArray[np.int64]:
    """Truncate as Flink (DateTimeUtils.truncate): milliseconds toward 1970, and smaller fractions toward the past.

    Flink does not count leading zeros of the nanoseconds: in TIMESTAMP(5), 0.000019 stays, because 19000 has 5 digits.
    """
    if precision > _MILLISECOND_PRECISION:
        unit: int = 10 ** (_SPARK_PRECISION - precision)
        nanoseconds = microseconds % 1_000_000 * 1000
        return np.where(nanoseconds < 10**precision, microseconds, microseconds // unit * unit)
    unit = 10 ** (_MILLISECOND_PRECISION - precision)
    milliseconds = microseconds // 1000
    return (milliseconds - np.fmod(milliseconds, unit)) * 1000
