"""Convert decoded columns to Python values that compare exactly."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.formats.format import Decoded


def comparable_values(array: pa.Array) -> list[Any]:
    """Return the values of an array: dates and times as integers, floats as repr, so that NaN and -0.0 compare."""
    arrow_type = array.type
    if pt.is_struct(arrow_type):
        children = [comparable_values(child) for child in array.flatten()]
        rows = zip(*children, strict=True) if children else [()] * len(array)
        return [row if valid else None for row, valid in zip(rows, array.is_valid().to_pylist(), strict=True)]
    if pt.is_list(arrow_type) or pt.is_map(arrow_type):
        return [comparable_values(scalar.values) if scalar.is_valid else None for scalar in array]
    if pt.is_floating(arrow_type):
        return [None if value is None else repr(value) for value in array.to_pylist()]
    if pt.is_date(arrow_type):
        return list(array.cast(pa.int32()).to_pylist())
    if pt.is_temporal(arrow_type):
        return list(array.cast(pa.int64()).to_pylist())
    return list(array.to_pylist())


def comparable_result(decoded: Decoded) -> tuple[Any, ...]:
    """Return the values, types and payload indices of a result, after Arrow has validated its columns."""
    for column in decoded.columns:
        column.validate(full=True)
    return (
        [comparable_values(column) for column in decoded.columns],
        [column.type for column in decoded.columns],
        None if decoded.payload_indices is None else decoded.payload_indices.to_pylist(),
    )
