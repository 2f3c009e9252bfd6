"""Encode binary columns as base64 (RFC 4648, section 4)."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from kafka_sql.formats.java.string_buffers import value_offsets_and_bytes

_ALPHABET: Final = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
_PAD: Final = ord("=")


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
    encoded = _ALPHABET[quads]
    last = group_offsets[1:] - 1
    encoded[last[lengths % 3 > 0], 3] = _PAD
    encoded[last[lengths % 3 == 1], 2] = _PAD
    validity = None
    if array.null_count:
        validity = pa.array(array.is_valid().to_numpy(zero_copy_only=False)).buffers()[1]
    encoded_offsets = (group_offsets * 4).astype(np.int32)
    buffers = [validity, pa.py_buffer(encoded_offsets), pa.py_buffer(np.ascontiguousarray(encoded.reshape(-1)))]
    return pa.Array.from_buffers(pa.string(), len(array), buffers)
