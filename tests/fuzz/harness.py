"""One run of a target: mutants by the number, each within a time, what became of them, and which one failed."""

from __future__ import annotations

import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

One = Callable[[random.Random], str]

SECONDS: Final = 60.0  # for one input: far more than any needs on a slow machine
_KEPT: Final = 10  # failures that are told of


class TooLong(BaseException):
    """An input that took longer than SECONDS. Nothing that is under test may catch it."""


@dataclass
class Result:
    """What became of a target's inputs.

    Attributes:
        outcomes: how many ended in which way.
        failures: the numbers of the inputs that failed, and how.
        slowest: seconds of processor time, and the input's number.
    """

    inputs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    failed: int = 0
    slowest: tuple[float, int] = (0.0, 0)
    seconds: float = 0.0


def require(fact: bool, told: object = "") -> None:
    """Fail an input."""
    if not fact:
        raise AssertionError(told)


def rng_of(name: str, seed: int, number: int) -> random.Random:
    """The chance of one input, which is the same whenever it is run again."""
    return random.Random(f"{name} {seed} {number}")


def run(name: str, one: One, count: int, seed: int, first: int = 0, seconds: float = float("inf")) -> Result:
    """Feed ``count`` inputs from number ``first`` on, for ``seconds`` at most."""
    result, begun = Result(), time.monotonic()
    with _alarm():
        for number in range(first, first + count):
            if time.monotonic() - begun > seconds:
                break
            _feed(name, one, seed, number, result)
    result.seconds = time.monotonic() - begun
    return result


def _feed(name: str, one: One, seed: int, number: int, result: Result) -> None:
    chance, start = rng_of(name, seed, number), time.process_time()
    try:
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        outcome = one(chance)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001  # a panic of a library in Rust is no Exception
        outcome = "FAILED"
        result.failed += 1
        if len(result.failures) < _KEPT:
            result.failures.append((number, traceback.format_exc()[-3000:]))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    result.inputs += 1
    result.outcomes[outcome] += 1
    result.slowest = max(result.slowest, (time.process_time() - start, number))


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(*_: Any) -> None:
        raise TooLong(f"longer than {SECONDS:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def print_result(name: str, seed: int, result: Result) -> None:
    """Print what became of a target's inputs."""
    ways = ", ".join(f"{way} {number:,}" for way, number in result.outcomes.most_common(8))
    slowest = f"slowest {result.slowest[0]:.3f} s (number {result.slowest[1]})"
    print(f"{name:22} {result.inputs:>9,} in {result.seconds:>6.0f} s: {ways}; {slowest}", flush=True)
    for number, why in result.failures:
        print(f"--- {name}, seed {seed}, number {number}: {why}", file=sys.stderr, flush=True)
