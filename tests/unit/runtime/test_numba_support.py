"""Test the primitives of compiled loops on memory with a guard around what they may touch."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba import types

from kafka_sql.runtime.numba_support import copy, helper, high_product, inline_helper, load, store, trailing_zeros

GUARD = 0xEE


@helper
def _add(a: int, b: int) -> int:
    return a + b


@inline_helper
def _swap(a: int, b: int) -> tuple[int, int]:
    return b, a


@numba.njit
def _copy_and_store(source: int, target: int, size: int) -> int:
    copy(target, source, size)
    store(target + size, types.int16(-2))
    return load(source, types.uint32) + load(target + size, types.int16)


@numba.njit
def _bits(a: int, b: int) -> tuple[int, int]:
    return trailing_zeros(a), high_product(a, b)


@numba.njit
def _subtract(a: int, b: int) -> int:
    first, second = _swap(a, b)
    return _add(first, -second)


@pytest.mark.parametrize("size", [4, 5, 8])
def test_loads_stores_and_copies(size: int) -> None:
    source = np.arange(1, 17, dtype=np.uint8)
    target = np.full(24, GUARD, np.uint8)
    result = _copy_and_store(source.ctypes.data, target.ctypes.data + 8, size)
    assert result == 0x04030201 - 2
    expected = [GUARD] * 8 + list(range(1, size + 1)) + [0xFE, 0xFF]
    assert target.tolist() == expected + [GUARD] * (24 - len(expected))


@pytest.mark.parametrize("a", [1, 6, 2**63, 2**64 - 1])
@pytest.mark.parametrize("b", [0, 3, 2**64 - 1])
def test_bits_of_words(a: int, b: int) -> None:
    zeros, high = _bits(np.uint64(a), np.uint64(b))
    assert (int(zeros), int(high)) == ((a & -a).bit_length() - 1, a * b >> 64)


def test_helpers() -> None:
    assert _subtract(3, 10) == 7
