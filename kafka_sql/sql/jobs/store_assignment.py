"""Which type a column takes from a query: Spark's ANSI store assignment, which Spark applies to batch inserts only."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    AtomicType,
    DataType,
    DateType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

_TIMES = (DateType, TimestampType, TimestampNTZType)


def assignable(source: DataType, target: DataType) -> bool:
    """Whether a value of ``source`` may be stored as ``target`` (``spark.sql.storeAssignmentPolicy`` = ANSI)."""
    if isinstance(source, NullType) or source.simpleString() == target.simpleString():
        return True
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return assignable(source.elementType, target.elementType)
    if isinstance(source, MapType) and isinstance(target, MapType):
        return assignable(source.keyType, target.keyType) and assignable(source.valueType, target.valueType)
    if isinstance(source, StructType) and isinstance(target, StructType):
        pairs = zip(source, target, strict=False)
        return len(source) == len(target) and all(assignable(a.dataType, b.dataType) for a, b in pairs)
    if isinstance(target, StringType):
        return isinstance(source, AtomicType)
    numbers = isinstance(source, NumericType) and isinstance(target, NumericType)
    return numbers or (isinstance(source, _TIMES) and isinstance(target, _TIMES))
