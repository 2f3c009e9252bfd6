"""Run a function in the background while the main thread handles Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from pyspark.sql import SparkSession
from pyspark.util import InheritableThread

T = TypeVar("T")
_TICK = 0.2  # seconds between two progress updates


class Interrupted(Exception):
    """The user interrupted the function.

    Attributes:
        signal: the signal number.
    """

    def __init__(self, signal: int) -> None:
        super().__init__(signal)
        self.signal = signal


@contextmanager
def handle_signals(receive: Callable[[int], None]) -> Iterator[None]:
    """Pass SIGINT and SIGTERM to ``receive`` for a ``with`` block, instead of their handlers."""
    previous = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    for number, _ in previous:
        signal.signal(number, lambda received, _: receive(received))
    try:
        yield
    finally:
        for number, handler in previous:
            signal.signal(number, handler)


def run_interruptible(
    spark: SparkSession,
    work: Callable[[], T],
    cancel: Callable[[], None],
    tick: Callable[[], None],
    print_line: Callable[[str], None],
) -> T:
    """Run ``work`` in a separate thread and return its result.

    Args:
        cancel: called at the first signal and repeatedly until ``work`` ends, because the request to cancel may start
            only later. A second signal ends the process.
        tick: called a few times per second.
        print_line: prints a line for the user.

    Raises:
        Interrupted: a signal was received, however ``work`` ended.
    """
    events: SimpleQueue[int] = SimpleQueue()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as e:  # noqa: BLE001  raised in the main thread
            errors.append(e)
        finally:
            events.put(0)

    thread: Any = InheritableThread(target=run, session=spark, daemon=True)
    interrupted = 0
    with handle_signals(events.put):
        thread.start()
        while (event := _next_event(events)) != 0:
            if event is None and not interrupted:
                tick()
                continue
            if event is not None and interrupted:
                _exit_now(event)
            if event is not None:
                print_line("Stopping the statement. Press Ctrl-C again to exit immediately.")
                interrupted = event
            cancel()
    thread.join()
    if interrupted:
        raise Interrupted(interrupted) from (errors[0] if errors else None)
    if errors:
        raise errors[0]
    return results[0]


def _next_event(events: SimpleQueue[int]) -> int | None:
    try:
        return events.get(timeout=_TICK)
    except Empty:
        return None


def _exit_now(number: int) -> None:
    """End the process although a thread still waits for Spark; Spark ends with it."""
    sys.stdout.flush()
    os._exit(128 + number)
