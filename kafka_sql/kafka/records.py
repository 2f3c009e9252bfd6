"""What is read of records, and their columns."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa


@dataclass(frozen=True)
class Wanted:
    """What is copied of each record besides its value and its offset. What nobody declares costs nothing."""

    keys: bool = False
    timestamps: bool = False
    headers: bool = False
    leader_epochs: bool = False


VALUES_ONLY: Final = Wanted()


@dataclass(frozen=True)
class Records:
    """A run of records, as columns of one length; None for what was not wanted.

    Attributes:
        values: payloads; null is a tombstone.
        offsets: int64.
        keys: like the values; null is a record without a key.
        timestamps: int64 milliseconds since 1970, -1 where the record has none.
        timestamp_types: int32: 0 none, 1 CreateTime, 2 LogAppendTime.
        headers: list<struct<key: string, value: binary>>, as they stand in the record.
        leader_epochs: int32, -1 where the broker told none.
    """

    values: pa.BinaryArray
    offsets: npt.NDArray[np.int64]
    keys: pa.BinaryArray | None = None
    timestamps: npt.NDArray[np.int64] | None = None
    timestamp_types: npt.NDArray[np.int32] | None = None
    headers: pa.ListArray | None = None
    leader_epochs: npt.NDArray[np.int32] | None = None

    def take(self, indices: npt.NDArray[np.int64]) -> Records:
        """Some of the records, in memory of their own."""
        chosen = pa.array(indices, pa.int64())
        columns = {f.name: getattr(self, f.name) for f in fields(self)}
        taken = {
            n: c[indices] if isinstance(c, np.ndarray) else c.take(chosen) for n, c in columns.items() if c is not None
        }
        return replace(self, **taken)
