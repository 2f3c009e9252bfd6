"""Decide which column types a logical type can be read as, and convert units of time."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.types as pt

from kafka_sql.formats.avro.schema import AvroType

_TO_MICROS: Final = {"millis": 1000, "micros": 1, "nanos": -1000}  # factors; a divisor is negative
_TO_NANOS: Final = {"millis": 1_000_000, "micros": 1000}


def represents(avro: AvroType, column_type: pa.DataType) -> bool:
    """Return whether a type's values mean what the column's type means, apart from whether they can be converted.

    A number or bytes without a logical type mean what the column's type says, as in the reader's schema.
    """
    kind = avro.logical_type.removeprefix("local-").partition("-")[0]
    if pt.is_temporal(column_type):
        expected = "date" if pt.is_date(column_type) else "time" if pt.is_time(column_type) else "timestamp"
    elif pt.is_decimal(column_type):
        expected = "decimal"
    elif pt.is_string(column_type) or pt.is_large_string(column_type):
        expected = "uuid" if avro.type_name == "string" else ""
    else:
        return True
    return kind in ("", expected)


def read_factor(writer: AvroType, reader: AvroType, arrow_type: pa.DataType) -> int:
    """Return the factor from the writer's time unit to the column's; a divisor is negative.

    If the writer's schema has no unit, it is the reader's.
    """
    units = _TO_NANOS if pt.is_time(arrow_type) else _TO_MICROS
    for avro in (writer, reader):
        unit = avro.logical_type.rpartition("-")[2]
        if unit in units:
            return units[unit]
    return units["millis"]


def write_factor(avro: AvroType, arrow_type: pa.DataType) -> int:
    """Return the factor from the column's time unit to Avro's; a divisor is negative."""
    factor = read_factor(avro, avro, arrow_type)
    return factor if factor == 1 else -factor
