"""Represent records as columns, and which of their fields are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa


@dataclass(frozen=True)
class RecordFields:
    """Record fields to copy in addition to value and offset. Fields the table does not declare are not copied."""

    keys: bool = False
    timestamps: bool = False
    headers: bool = False
    leader_epochs: bool = False


VALUES_ONLY: Final = RecordFields()


@dataclass(frozen=True)
class BatchSize:
    """The largest batch of records; with librdkafka's queue, all that a reader holds in memory."""

    max_rows: int = 20_000  # records per batch
    max_bytes: int = 32 << 20  # bytes of their keys and values; a single larger record is still read


DEFAULT_SIZE: Final = BatchSize()


@dataclass(frozen=True)
class Records:
    """A batch of records, as columns of equal length; None for fields that were not requested."""

    values: pa.BinaryArray  # payloads; null for a tombstone
    offsets: npt.NDArray[np.int64]  # int64
    keys: pa.BinaryArray | None = None  # binary; null for a record without a key
    # int64 milliseconds since 1970-01-01 UTC, -1 for a record without one
    timestamps: npt.NDArray[np.int64] | None = None
    timestamp_types: npt.NDArray[np.int32] | None = None  # int32: 0 none, 1 CreateTime, 2 LogAppendTime
    headers: pa.ListArray | None = None  # list<struct<key: string, value: binary>>, in the order of the record
    leader_epochs: npt.NDArray[np.int32] | None = None  # int32, -1 if unknown
    unreadable: Mapping[int, str] | None = None  # by index, why a record cannot be read completely; None if all can

    def take(self, indices: npt.NDArray[np.int64]) -> Records:
        """Return the records at ``indices``, copied."""
        arrow_indices = pa.array(indices, pa.int64())
        columns = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "unreadable"}
        selected: dict[str, Any] = {
            name: column[indices] if isinstance(column, np.ndarray) else column.take(arrow_indices)
            for name, column in columns.items()
            if column is not None
        }
        if self.unreadable:
            reasons = enumerate(map(self.unreadable.get, indices.tolist()))
            selected["unreadable"] = {row: reason for row, reason in reasons if reason is not None}
        return replace(self, **selected)
