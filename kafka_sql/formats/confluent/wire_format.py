"""Read and write Confluent's wire format: a zero byte, the schema's id in four bytes, and the record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from kafka_sql.errors import DecodeError
from kafka_sql.formats.columnar.binary_reader import Bytes, Indices, hex_excerpt

Offsets: TypeAlias = npt.NDArray[np.int32]
SchemaIds: TypeAlias = npt.NDArray[np.uint32]

HEADER_SIZE: Final = 5
MAGIC_BYTE: Final = 0


def encode_header(schema_id: int) -> bytes:
    """Return the five bytes that precede a record."""
    return bytes([MAGIC_BYTE]) + schema_id.to_bytes(4, "big")


def split_by_header(
    data: Bytes, offsets: Offsets, indices: Indices, *, skip_malformed: bool
) -> tuple[Indices, Indices]:
    """Return which of the payloads that ``indices`` names have a header, and which lack it.

    Args:
        skip_malformed: whether to return all of them; if not, stop at the first one that lacks a header.
    """
    starts = offsets[indices].astype(np.int64)
    lacks_header: npt.NDArray[np.bool_] = offsets[indices + 1] - starts < HEADER_SIZE
    long_enough = ~lacks_header
    lacks_header[long_enough] = data[starts[long_enough]] != MAGIC_BYTE
    if skip_malformed or not lacks_header.any():
        return indices[~lacks_header], indices[lacks_header]
    first = int(np.argmax(lacks_header))
    return indices[:first], indices[first : first + 1]


def missing_header_errors(data: Bytes, offsets: Offsets, indices: Indices) -> list[DecodeError]:
    """Return the errors of payloads that lack a header."""
    expected = (
        "Unknown data format. Magic number does not match: expected a zero byte and the four bytes of a schema id "
        "before the record (schema ids in headers, such as __value_schema_id, are not supported); the payload is: "
    )
    return [
        DecodeError(index, None, expected + hex_excerpt(data[offsets[index] : offsets[index + 1]]))
        for index in indices.tolist()
    ]


def schema_ids(data: Bytes, offsets: Offsets, indices: Indices) -> SchemaIds:
    """Return the schema ids of the payloads that ``indices`` names, which have headers."""
    starts = offsets[indices].astype(np.int64)
    id_bytes = np.empty((len(indices), 4), np.uint8)
    for k in range(4):
        id_bytes[:, k] = data[starts + 1 + k]
    return id_bytes.view(">u4").reshape(-1).astype(np.uint32)


def group_by_id(ids: SchemaIds) -> Iterator[tuple[int, Indices | slice]]:
    """Yield each schema id, and the positions that have it, in order."""
    if len(ids) and (ids == ids[0]).all():
        yield int(ids[0]), slice(None)
        return
    order = np.argsort(ids, kind="stable")
    distinct, first = np.unique(ids[order], return_index=True)
    yield from zip(distinct.tolist(), np.split(order, first[1:]), strict=len(distinct) > 0)
