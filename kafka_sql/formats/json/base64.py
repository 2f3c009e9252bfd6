"""Base64 (RFC 4648, section 4) of whole columns."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_ALPHABET: Final = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
_PAD: Final = ord("=")
_BAD: Final = 255
_VALUE: Final = np.full(256, _BAD, np.uint8)
_VALUE[_ALPHABET] = np.arange(64, dtype=np.uint8)
_VALUE[_PAD] = 0


def parts(array: pa.Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Offsets from 0 and bytes of a string or binary array with 32-bit offsets; a null has no bytes."""
    if array.null_count:
        array = array.fill_null(b"" if pa.types.is_binary(array.type) else "")
    _, offset_buffer, data_buffer = array.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(data_buffer if data_buffer is not None else b"", np.uint8)
    return offsets - offsets[0], data[offsets[0] : offsets[-1]]


def decode(array: pa.Array) -> pa.Array:
    """A string array to a binary array.

    Raises:
        ValueError: a value is not in the canonical form: groups of four, padding at the end alone.
    """
    offsets, data = parts(array)
    ends = offsets[1:][np.diff(offsets) > 0]
    one, two = data[ends - 1] == _PAD, data[ends - 2] == _PAD
    values = _VALUE[data]
    if (offsets % 4).any() or (values == _BAD).any() or (two & ~one).any():
        raise ValueError("not base64 in groups of four")
    if np.count_nonzero(data == _PAD) != np.count_nonzero(one) + np.count_nonzero(two):
        raise ValueError("padding inside base64")
    quads = values.reshape(-1, 4)
    out = np.empty((len(quads), 3), np.uint8)
    out[:, 0] = quads[:, 0] << 2 | quads[:, 1] >> 4
    out[:, 1] = quads[:, 1] << 4 | quads[:, 2] >> 2
    out[:, 2] = quads[:, 2] << 6 | quads[:, 3]
    keep = np.ones(out.size, bool)
    keep[ends[one] // 4 * 3 - 1] = False
    keep[ends[two] // 4 * 3 - 2] = False
    kept = np.concatenate(([0], np.cumsum(keep, dtype=np.int64)))
    return _array(pa.binary(), array, kept[offsets // 4 * 3].astype(np.int32), out.reshape(-1)[keep])


def encode(array: pa.Array) -> pa.Array:
    """A binary array to a string array."""
    offsets, data = parts(array)
    lengths = np.diff(offsets)
    groups = -(-lengths // 3)
    group_offsets = np.concatenate(([0], np.cumsum(groups)))
    # Each value starts at a group of its own; the bytes that its last group lacks are zero.
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
    return _array(pa.string(), array, (group_offsets * 4).astype(np.int32), out.reshape(-1))


def _array(t: pa.DataType, nulls_of: pa.Array, offsets: npt.NDArray[np.int32], data: npt.NDArray[np.uint8]) -> pa.Array:
    validity = None
    if nulls_of.null_count:
        validity = pa.array(nulls_of.is_valid().to_numpy(zero_copy_only=False)).buffers()[1]
    return pa.Array.from_buffers(
        t, len(nulls_of), [validity, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    )
