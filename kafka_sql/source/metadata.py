"""Metadata columns: Flink's keys, the Spark types that each may be declared as, and their values.

Keys and types: "Available Metadata" of Flink's Kafka SQL connector page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kafka_sql.errors import SchemaError, did_you_mean
from kafka_sql.kafka.consumer import Records, Split
from kafka_sql.table import Column, Table


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


def _constant(value: str | int, kind: pa.DataType) -> Callable[[int], pa.Array]:
    return lambda count: pa.repeat(pa.scalar(value, kind), count)


def _timestamps(records: Records, _: Split) -> pa.Array:
    milliseconds = pa.array(records.timestamps, mask=records.timestamps < 0)  # -1: the record has none
    return pc.multiply(milliseconds, 1000).cast(pa.timestamp("us", "UTC"))


_TIMESTAMP_TYPES = pa.array(["NoTimestampType", "CreateTime", "LogAppendTime"])  # Kafka's TimestampType

METADATA: dict[str, Metadata] = {
    "topic": Metadata(("STRING",), lambda r, s: _constant(s.topic, pa.string())(len(r.offsets))),
    "partition": Metadata(("INT", "BIGINT"), lambda r, s: _constant(s.partition, pa.int32())(len(r.offsets))),
    "offset": Metadata(("BIGINT",), lambda r, _: pa.array(r.offsets)),
    "timestamp": Metadata(("TIMESTAMP",), _timestamps, writable=True),
    "timestamp-type": Metadata(("STRING",), lambda r, _: _TIMESTAMP_TYPES.take(pa.array(r.timestamp_types))),
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
