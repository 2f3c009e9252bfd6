"""Test the measurement of growth."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.formats.growth import assert_linear


def concatenate(payload: bytes) -> bytes:
    done = b""
    for byte in payload:
        done = done + bytes([byte]) + payload[:0]
    return done


@pytest.mark.parametrize("run", [len, list, bytearray, lambda payload: [b + 1 for b in payload], sorted])
def test_linear_costs_pass(run) -> None:
    assert_linear(bytes, run)


@pytest.mark.parametrize(
    "run",
    [
        lambda payload: sum(payload[i:].count(b"x") for i in range(0, len(payload), 8)),
        lambda payload: sum(1 for _ in payload[::32] for _ in payload),
        concatenate,
    ],
)
def test_quadratic_time_fails(run) -> None:
    with pytest.raises(AssertionError, match="bytes take"):
        assert_linear(bytes, run)


def test_quadratic_memory_fails() -> None:
    with pytest.raises(AssertionError, match="bytes of memory"):
        assert_linear(bytes, lambda payload: np.empty(len(payload) ** 2, np.uint8))
