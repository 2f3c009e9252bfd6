"""Recognize the Arrow types that Spark uses for columns that are not nested."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.types as pt

_SCALARS: Final[tuple[Callable[[pa.DataType], bool], ...]] = (
    pt.is_boolean,
    pt.is_signed_integer,
    pt.is_float32,
    pt.is_float64,
    pt.is_decimal128,
    pt.is_string,
    pt.is_large_string,
    pt.is_binary,
    pt.is_large_binary,
    pt.is_date32,
    lambda arrow_type: pt.is_time64(arrow_type) and arrow_type.unit == "ns",
    lambda arrow_type: pt.is_timestamp(arrow_type) and arrow_type.unit == "us",
)


def is_scalar(arrow_type: pa.DataType) -> bool:
    """Return whether Spark uses an Arrow type for one of Flink's types that are not nested."""
    return any(matches(arrow_type) for matches in _SCALARS)
