"""Run a target with numbered random inputs, each with a time limit; count outcomes and report failures."""

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

InputTarget = Callable[[random.Random], str]  # processes one input; returns its outcome

SECONDS: Final = 60.0  # time limit per input; far more than any input needs on a slow machine
_MAX_FAILURES: Final = 10  # reported failures


class TooLong(BaseException):
    """Raised if an input takes longer than SECONDS. A BaseException, so that the tested code does not catch it."""


@dataclass
class Result:
    """Outcomes of a target's inputs.

    Attributes:
        inputs: count of inputs.
        outcomes: count of inputs per outcome.
        failures: the first failed inputs: the input's number, and the traceback.
        failed: count of failed inputs.
        slowest: CPU seconds of the slowest input, and its number.
        seconds: duration of the run.
    """

    inputs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    failed: int = 0
    slowest: tuple[float, int] = (0.0, 0)
    seconds: float = 0.0


def require(condition: bool, message: object = "") -> None:
    """Fail the input if a condition is false."""
    if not condition:
        raise AssertionError(message)


def rng_of(name: str, seed: int, number: int) -> random.Random:
    """Return the random number generator of an input, which is the same in each run."""
    return random.Random(f"{name} {seed} {number}")


def run(name: str, target: InputTarget, count: int, seed: int, first: int = 0, seconds: float = float("inf")) -> Result:
    """Feed ``count`` inputs, starting with number ``first``, for at most ``seconds``."""
    result, started = Result(), time.monotonic()
    with _alarm():
        for number in range(first, first + count):
            if time.monotonic() - started > seconds:
                break
            _feed(name, target, seed, number, result)
    result.seconds = time.monotonic() - started
    return result


def _feed(name: str, target: InputTarget, seed: int, number: int, result: Result) -> None:
    rng, start = rng_of(name, seed, number), time.process_time()
    try:
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        outcome = target(rng)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001  # a panic of a Rust library is not an Exception
        outcome = "FAILED"
        result.failed += 1
        if len(result.failures) < _MAX_FAILURES:
            result.failures.append((number, traceback.format_exc()[-3000:]))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    result.inputs += 1
    result.outcomes[outcome] += 1
    result.slowest = max(result.slowest, (time.process_time() - start, number))


@contextmanager
def _alarm() -> Iterator[None]:
    def expire(*_: Any) -> None:
        raise TooLong(f"longer than {SECONDS:g} s")

    before = signal.signal(signal.SIGALRM, expire)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def print_result(name: str, seed: int, result: Result) -> None:
    """Print the outcomes of a target's inputs."""
    outcomes = ", ".join(f"{outcome} {number:,}" for outcome, number in result.outcomes.most_common(8))
    slowest = f"slowest {result.slowest[0]:.3f} s (number {result.slowest[1]})"
    print(f"{name:22} {result.inputs:>9,} in {result.seconds:>6.0f} s: {outcomes}; {slowest}", flush=True)
    for number, error in result.failures:
        print(f"--- {name}, seed {seed}, number {number}: {error}", file=sys.stderr, flush=True)
