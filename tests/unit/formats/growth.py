"""Assert that a cost grows in proportion to the size of its input: CPU time and memory of a decoder per record.

Growth is measured, not seconds. The input is doubled until the cost is large enough to measure. At each size, four
times the input may cost at most ``MOST_GROWTH`` times as much: a linear cost grows by 4, a quadratic one by 16. A
quadratic cost is found at the first size at which it can be measured, so a test that fails does not take hours.

Other processes cannot make a test fail: CPU time does not count what they use, a suspicious size is measured again,
alternating with the smaller size, and the smallest time of each counts.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import pyarrow as pa

from kafka_sql.errors import DecodeError
from kafka_sql.formats.format import Decoder

T = TypeVar("T")
Cost = Callable[[int], float]  # of an input of about this many bytes

FIRST: Final = 1 << 11  # bytes
LARGEST: Final = 1 << 20
_LARGEST_TRACED: Final = 1 << 13  # memory is measured up to this size, because that is slow
MOST_GROWTH: Final = 8.0
SMALLEST_TIME: Final = 0.01  # seconds; less is not compared
ENOUGH_TIME: Final = 0.04  # seconds; inputs get no larger
SMALLEST_MEMORY: Final = 8 << 20  # bytes, as much as an empty batch may need
_REPETITIONS: Final = 8


def repeated(before: bytes, part: bytes, after: bytes = b"") -> Callable[[int], bytes]:
    """Return a function that returns a payload of about a number of bytes: a part many times between two texts."""
    return lambda size: before + part * max((size - len(before) - len(after)) // len(part), 1) + after


def assert_all_linear(shapes: Mapping[str, T], check: Callable[[T], None]) -> None:
    """Check several shapes of input, and name the one that fails."""
    for name, make in shapes.items():
        try:
            check(make)
        except AssertionError as e:
            raise AssertionError(f"{name}: {e}") from e


def assert_linear_decoding(decoder: Decoder, make: Callable[[int], bytes], largest: int = LARGEST) -> None:
    """Assert that a payload is decoded or reported in linear time and memory.

    Args:
        make: returns a payload of about this many bytes.
    """

    def run(payload: pa.BinaryArray) -> None:
        errors: list[DecodeError] = []
        decoder.decode(payload, errors)
        assert [error.row for error in errors] in ([], [0])
        assert all(len(str(error)) < 500 for error in errors)

    assert_linear(lambda size: pa.array([make(size)], pa.binary()), run, largest)


def assert_linear(make: Callable[[int], T], run: Callable[[T], object], largest: int = LARGEST) -> None:
    """Assert that the CPU time and the memory of ``run`` are linear in the size of its input.

    Args:
        make: returns an input of about this many bytes.
        run: what is measured. It is called several times per input.
        largest: bytes; the largest input that is tried.
    """
    run(make(FIRST))  # compiles loops and imports modules
    traced = min(largest, _LARGEST_TRACED)
    costs = assert_linear_time(cpu_time(make, run), traced)
    assert_linear_memory(peak_memory(make, run), traced)
    assert_linear_time(cpu_time(make, run), largest, costs)


def assert_linear_time(cost: Cost, largest: int = LARGEST, known: Mapping[int, float] = {}) -> dict[int, float]:
    """Assert that seconds are linear in the size of the input; return the cost of each size.

    Args:
        known: the costs of smaller sizes, which are not measured again.
    """
    costs = dict(known) or {FIRST: cost(FIRST)}
    size = max(costs)
    while size < largest and (size < 4 * FIRST or costs[size] < ENOUGH_TIME):
        size *= 2
        costs[size] = cost(size)
        smaller = max(size // 4, FIRST)
        if costs[size] > SMALLEST_TIME and costs[size] > MOST_GROWTH * costs[smaller]:
            costs[size], costs[smaller] = _lowest(cost, size, smaller)
            assert costs[size] <= MOST_GROWTH * max(costs[smaller], SMALLEST_TIME / MOST_GROWTH), (
                f"{smaller:,} bytes take {costs[smaller]:.4f} s, {size:,} bytes take {costs[size]:.4f} s"
            )
    return costs


def _lowest(cost: Cost, size: int, smaller: int) -> tuple[float, float]:
    """Measure two sizes in turn, until the larger one is within the limit or is certainly not."""
    larger_cost = smaller_cost = float("inf")
    for _ in range(_REPETITIONS):
        smaller_cost = min(smaller_cost, cost(smaller))
        larger_cost = min(larger_cost, cost(size))
        if larger_cost <= MOST_GROWTH * smaller_cost or larger_cost > 1:
            break
    return larger_cost, smaller_cost


def assert_linear_memory(cost: Cost, largest: int) -> None:
    """Assert that bytes of memory are linear in the size of the input."""
    size, smaller = FIRST, cost(FIRST)
    while size * 4 <= largest:
        size *= 4
        larger, limit = cost(size), MOST_GROWTH * max(smaller, SMALLEST_MEMORY / MOST_GROWTH)
        if larger > limit:
            larger = cost(size)  # what the first call loads is not counted
        assert larger <= limit, (
            f"{size // 4:,} bytes need {smaller:,.0f} bytes of memory, {size:,} bytes need {larger:,.0f}"
        )
        smaller = larger


def cpu_time(make: Callable[[int], T], run: Callable[[T], object]) -> Cost:
    """Return a function that measures the CPU time of ``run``, in seconds."""

    def measure(size: int) -> float:
        argument = make(size)
        collects = gc.isenabled()
        gc.disable()  # the time of a collection depends on the objects of other tests
        try:
            start = time.process_time()
            run(argument)
            return time.process_time() - start
        finally:
            if collects:
                gc.enable()

    return measure


def peak_memory(make: Callable[[int], T], run: Callable[[T], object]) -> Cost:
    """Return a function that measures how much memory ``run`` needs at most, in bytes: of Python, NumPy and Arrow."""

    def measure(size: int) -> float:
        argument = make(size)
        pool = pa.default_memory_pool()
        proxy = pa.proxy_memory_pool(pool)
        pa.set_memory_pool(proxy)
        tracemalloc.start()
        try:
            run(argument)
            return tracemalloc.get_traced_memory()[1] + (proxy.max_memory() or 0)
        finally:
            tracemalloc.stop()
            pa.set_memory_pool(pool)

    return measure
