"""Confluent's wire format: a zero byte, the schema's id in four bytes, and the record."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_sql.errors import DecodeError
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.confluent.kernels import behind

HEADER_SIZE: Final = 5
MAGIC_BYTE: Final = 0


def encode_header(number: int) -> bytes:
    """What stands before the record."""
    return bytes([MAGIC_BYTE]) + number.to_bytes(4, "big")


def lacks_header(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32], rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """Which of the payloads that ``rows`` names have no header."""
    starts = offsets[rows].astype(np.int64)
    wrong: npt.NDArray[np.bool_] = offsets[rows + 1] - starts < HEADER_SIZE
    long = ~wrong
    wrong[long] = data[starts[long]] != MAGIC_BYTE
    return wrong


def split_by_header(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32], rows: npt.NDArray[np.int64], skips: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Those of ``rows`` that have a header, and those that have none.

    Args:
        skips: whether the others are read nevertheless; if not, they are those before the first that has none.
    """
    wrong = lacks_header(data, offsets, rows)
    if skips or not wrong.any():
        return rows[~wrong], rows[wrong]
    first = int(np.argmax(wrong))
    return rows[:first], rows[first : first + 1]


def missing_header_errors(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32], rows: npt.NDArray[np.int64]
) -> list[DecodeError]:
    """The errors of payloads that have no header."""
    payloads = [data[offsets[row] : offsets[row + 1]].tobytes() for row in rows]
    expected = (
        "Unknown data format. Magic number does not match: expected a zero byte and the four bytes of a schema's "
        "id before the record; the payload is: "
    )
    return [
        DecodeError(row, None, expected + payload[:24].hex(" "))
        for row, payload in zip(rows.tolist(), payloads, strict=True)
    ]


def schema_ids(
    data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32], rows: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint32]:
    """The schema ids of those payloads that ``rows`` names, which have headers."""
    starts = offsets[rows].astype(np.int64)
    found = np.empty((len(rows), 4), np.uint8)
    for k in range(4):
        found[:, k] = data[starts + 1 + k]
    return found.view(">u4").reshape(-1).astype(np.uint32)


def strip_headers(payloads: pa.BinaryArray) -> pa.BinaryArray:
    """What stands behind the headers of payloads, none of which is null."""
    data, offsets = bytes_and_offsets(payloads)
    positions = np.empty(len(offsets), np.int32)
    rest = np.empty(int(offsets[-1] - offsets[0]) - HEADER_SIZE * len(payloads), np.uint8)
    behind(data, offsets, HEADER_SIZE, rest, positions)
    return pa.Array.from_buffers(pa.binary(), len(payloads), [None, pa.py_buffer(positions), pa.py_buffer(rest)])


def concat_in_order(parts: list[pa.Array], order: npt.NDArray[np.int64]) -> pa.Array:
    """Parts of a column, put together in this order of the rows."""
    return pa.concat_arrays(parts).take(pa.array(order))
