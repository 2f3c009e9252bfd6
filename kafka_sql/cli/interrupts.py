"""Run a function in a background thread while the main thread handles Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any

from pyspark.sql import SparkSession
from pyspark.util import InheritableThread

_TICK_SECONDS = 0.2  # between two progress updates


class Interrupted(Exception):
    """SIGINT or SIGTERM was received while the function ran."""

    def __init__(self, signal: int) -> None:
        super().__init__(signal)
        self.signal = signal


@contextmanager
def handle_signals(on_signal: Callable[[int], None]) -> Iterator[None]:
    """Pass SIGINT and SIGTERM to ``on_signal`` inside a ``with`` block; restore the previous handlers at its end."""
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in previous:
        signal.signal(number, lambda signum, _: on_signal(signum))
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def run_interruptible(
    spark: SparkSession,
    work: Callable[[], object],
    cancel: Callable[[], None],
    tick: Callable[[], None],
    print_line: Callable[[str], None],
) -> None:
    """Run ``work`` in a separate thread, and wait for it.

    Args:
        cancel: called at the first signal, and repeatedly until ``work`` ends: at the first call, Spark may not have
            started the job yet. A second signal ends the process.
        tick: called a few times per second.
        print_line: prints a line for the user.

    Raises:
        Interrupted: a signal was received, even if ``work`` then returned a result.
    """
    events: SimpleQueue[int] = SimpleQueue()  # signal numbers, and 0 when ``work`` has ended
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as e:  # noqa: BLE001  raised in the main thread
            errors.append(e)
        finally:
            events.put(0)

    thread: Any = InheritableThread(target=run, session=spark, daemon=True)
    first_signal = 0
    with handle_signals(events.put):
        thread.start()
        while (event := next_event(events, _TICK_SECONDS)) != 0:
            if event is None and not first_signal:
                tick()
                continue
            if event is not None and first_signal:
                _exit_now(event)
            if event is not None:
                print_line("Stopping the statement. Press Ctrl-C again to exit immediately.")
                first_signal = event
            cancel()
    thread.join()
    if first_signal:
        raise Interrupted(first_signal) from (errors[0] if errors else None)
    if errors:
        raise errors[0]


def next_event(events: SimpleQueue[int], seconds: float) -> int | None:
    """Return the next event; None if none comes in time."""
    try:
        return events.get(timeout=seconds)
    except Empty:
        return None


def _exit_now(number: int) -> None:
    """End the process, and Spark with it, although a thread still waits for Spark."""
    sys.stdout.flush()
    os._exit(128 + number)
