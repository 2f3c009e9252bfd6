"""Numba helpers that scan bytes by address, eight at a time."""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import types

from kafka_sql.runtime.numba_support import helper, load

LOW_BITS: Final = np.uint64(0x0101_0101_0101_0101)  # the lowest bit of each byte
HIGH_BITS: Final = np.uint64(0x8080_8080_8080_8080)


@helper
def broadcast(byte: int) -> int:
    """Return a word that consists of one byte, eight times."""
    return np.uint64(byte) * LOW_BITS


@helper
def zero_byte_mask(word: int) -> int:
    """Return a word whose lowest set bit is in the first byte of ``word`` that is 0; 0 if no byte is."""
    return (word - LOW_BITS) & ~word & HIGH_BITS


@helper
def equal_bytes(first: int, second: int, size: int) -> bool:
    """Compare the bytes at two addresses."""
    while size >= 8:
        if load(first, types.uint64) != load(second, types.uint64):
            return False
        first += 8
        second += 8
        size -= 8
    while size > 0:
        if load(first, types.uint8) != load(second, types.uint8):
            return False
        first += 1
        second += 1
        size -= 1
    return True
