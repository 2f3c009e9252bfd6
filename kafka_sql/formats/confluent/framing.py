"""Confluent's wire format: a zero byte, the schema's id in four bytes, and the record."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import DecodeError

HEADER: Final = 5
MAGIC: Final = 0


def header(number: int) -> bytes:
    """What stands before the record."""
    return bytes([MAGIC]) + number.to_bytes(4, "big")


def ids(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32], rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint32]:
    """The schema ids of those payloads that ``rows`` names.

    Raises:
        DecodeError: a payload has no header.
    """
    starts = offsets[rows].astype(np.int64)
    short = offsets[rows + 1] - starts < HEADER
    if not short.any():
        short = data[starts] != MAGIC
    if short.any():
        row = int(rows[np.argmax(short)])
        payload = data[offsets[row] : offsets[row + 1]].tobytes()
        raise DecodeError(
            row,
            None,
            "Unknown data format. Magic number does not match: expected a zero byte and the four bytes of a schema's "
            f"id before the record; the payload is: {payload[:24].hex(' ')}",
        )
    found = np.empty((len(rows), 4), np.uint8)
    for k in range(4):
        found[:, k] = data[starts + 1 + k]
    return found.view(">u4").reshape(-1).astype(np.uint32)


def spread(parts: list[pa.Array], order: npt.NDArray[np.int64]) -> pa.Array:
    """Parts of a column, put together in this order of the rows."""
    return pa.concat_arrays(parts).take(pa.array(order))
