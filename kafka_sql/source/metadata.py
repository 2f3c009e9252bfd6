"""Metadata columns: Flink's keys, the Spark types that each may be declared as, and their values.

Keys and types: "Available Metadata" of Flink's Kafka SQL connector page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.errors import SchemaError, did_you_mean
from kafka_sql.kafka.split import Split
from kafka_sql.table import Column, Table

if TYPE_CHECKING:
    from kafka_sql.kafka.consumer import Records


@dataclass(frozen=True)
class Metadata:
    """One metadata key.

    Attributes:
        types: Spark types that a column of it may have; the first is Flink's own.
        read: its values for a run of records.
        writable: whether INSERT INTO may set it.
    """

    types: tuple[str, ...]
    read: Callable[[Records, Split], pa.Array]
    writable: bool = False


def _constant(value: str | int, kind: pa.DataType, records: Records) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), len(records.offsets))


def _numbers(values: npt.NDArray[Any], kind: pa.DataType) -> pa.Array:
    """The array's own memory; ``pa.array`` would load pandas first."""
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def _timestamps(records: Records, _: Split) -> pa.Array:
    milliseconds = _numbers(records.timestamps, pa.timestamp("ms", "UTC"))
    missing = pc.less(_numbers(records.timestamps, pa.int64()), 0)  # -1: the record has none
    return pc.if_else(missing, pa.scalar(None, milliseconds.type), milliseconds)


_TIMESTAMP_TYPES = ("NoTimestampType", "CreateTime", "LogAppendTime")  # Kafka's TimestampType


def _timestamp_types(records: Records, _: Split) -> pa.Array:
    return pa.array(_TIMESTAMP_TYPES).take(_numbers(records.timestamp_types, pa.int32()))


METADATA: dict[str, Metadata] = {
    "topic": Metadata(("STRING",), lambda r, s: _constant(s.topic, pa.string(), r)),
    "partition": Metadata(("INT", "BIGINT"), lambda r, s: _constant(s.partition, pa.int32(), r)),
    "offset": Metadata(("BIGINT",), lambda r, _: _numbers(r.offsets, pa.int64())),
    "timestamp": Metadata(("TIMESTAMP",), _timestamps, writable=True),
    "timestamp-type": Metadata(("STRING",), _timestamp_types),
}


def check_metadata(table: Table) -> None:
    """Check a table's metadata columns.

    Raises:
        SchemaError: a key that does not exist, a type that it cannot have, or a read-only key without VIRTUAL.
    """
    for column in table.columns:
        if column.metadata is not None:
            _check(column, column.metadata)


def _check(column: Column, key: str) -> None:
    known = METADATA.get(key)
    if known is None:
        raise SchemaError(
            f"Invalid metadata key '{key}' in column '{column.name}'. Supported metadata keys: "
            + ", ".join(f"'{k}'" for k in METADATA)
            + f".{did_you_mean(key, METADATA)}"
        )
    if column.type not in known.types:
        raise SchemaError(
            f"Column '{column.name}' has the type {column.declared}, which metadata key '{key}' cannot be read as. "
            f"Spark types that it can have: {', '.join(known.types)}"
            + (" (declare TIMESTAMP_LTZ(3))." if key == "timestamp" else ".")
        )
    if not known.writable and not column.virtual:
        raise SchemaError(
            f"Metadata key '{key}' of column '{column.name}' is read-only: declare the column with METADATA VIRTUAL."
        )
