"""Encode columns as base64 (RFC 4648, section 4), and access the memory of string and binary columns."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_ALPHABET: Final = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
_PAD: Final = ord("=")


def value_offsets_and_bytes(array: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Return offsets from 0, and the bytes of the values only; a null has no bytes."""
    if array.null_count:
        array = array.fill_null(b"" if pa.types.is_binary(array.type) else "")
    offsets = _offsets(array)
    return offsets - offsets[0], value_bytes(array)


def value_bytes(array: pa.Array) -> npt.NDArray[np.uint8]:
    """Return the bytes from the first value to the last; nulls between them may have some."""
    offsets, data = _offsets(array), array.buffers()[2]
    return np.frombuffer(data if data is not None else b"", np.uint8)[offsets[0] : offsets[-1]]


def _offsets(array: pa.Array) -> npt.NDArray[np.int32]:
    return np.frombuffer(array.buffers()[1], np.int32)[array.offset : array.offset + len(array) + 1]


def encode(array: pa.Array) -> pa.Array:
    """Encode the values of a binary array."""
    offsets, data = value_offsets_and_bytes(array)
    lengths = np.diff(offsets)
    groups = -(-lengths // 3)
    group_offsets = np.concatenate(([0], np.cumsum(groups)))
    # Each value starts a new group of three bytes. Its last group is filled with zeros.
    shift = np.repeat(group_offsets[:-1] * 3 - offsets[:-1], lengths)
    padded = np.zeros(group_offsets[-1] * 3, np.uint8)
    padded[np.arange(len(data)) + shift] = data
    triples = padded.reshape(-1, 3)
    quads = np.empty((len(triples), 4), np.uint8)
    quads[:, 0] = triples[:, 0] >> 2
    quads[:, 1] = (triples[:, 0] & 3) << 4 | triples[:, 1] >> 4
    quads[:, 2] = (triples[:, 1] & 15) << 2 | triples[:, 2] >> 6
    quads[:, 3] = triples[:, 2] & 63
    out = _ALPHABET[quads]
    last = group_offsets[1:] - 1
    out[last[lengths % 3 > 0], 3] = _PAD
    out[last[lengths % 3 == 1], 2] = _PAD
    return _build_array(pa.string(), array, (group_offsets * 4).astype(np.int32), out.reshape(-1))


def _build_array(
    t: pa.DataType, nulls_of: pa.Array, offsets: npt.NDArray[np.int32], data: npt.NDArray[np.uint8]
) -> pa.Array:
    validity = None
    if nulls_of.null_count:
        validity = pa.array(nulls_of.is_valid().to_numpy(zero_copy_only=False)).buffers()[1]
    return pa.Array.from_buffers(
        t, len(nulls_of), [validity, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    )
