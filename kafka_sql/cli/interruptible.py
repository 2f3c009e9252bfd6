"""Work in the background while the main thread minds the keyboard."""

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
_TICK = 0.2  # seconds between two looks at the progress


class Interrupted(Exception):
    """The user stopped it.

    Attributes:
        signal: by which signal.
    """

    def __init__(self, signal: int) -> None:
        super().__init__(signal)
        self.signal = signal


@contextmanager
def handle_signals(receive: Callable[[int], None]) -> Iterator[None]:
    """Give SIGINT and SIGTERM to ``receive`` for a while, in place of what they do else."""
    kept = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    for number, _ in kept:
        signal.signal(number, lambda got, _: receive(got))
    try:
        yield
    finally:
        for number, handler in kept:
            signal.signal(number, handler)


def run_interruptible(
    spark: SparkSession,
    work: Callable[[], T],
    cancel: Callable[[], None],
    tick: Callable[[], None],
    say: Callable[[str], None],
) -> T:
    """The result of ``work``, which runs in a thread of its own.

    Args:
        say: prints a line for the user.
        cancel: called at the first signal and again until the work ends, as what it does may just be about to start.
            A second signal ends the process.
        tick: called a few times a second.

    Raises:
        Stopped: there was a signal; whatever the work ended with.
    """
    events: SimpleQueue[int] = SimpleQueue()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as e:  # noqa: BLE001  raised in the other thread
            errors.append(e)
        finally:
            events.put(0)

    thread: Any = InheritableThread(target=run, session=spark, daemon=True)
    stopped = 0
    with handle_signals(events.put):
        thread.start()
        while (event := _next(events)) != 0:
            if event is None and not stopped:
                tick()
                continue
            if event is not None and stopped:
                _leave(event)
            if event is not None:
                say("Stopping the statement. Press Ctrl-C again to leave at once.")
                stopped = event
            cancel()
    thread.join()
    if stopped:
        raise Interrupted(stopped) from (errors[0] if errors else None)
    if errors:
        raise errors[0]
    return results[0]


def _next(events: SimpleQueue[int]) -> int | None:
    try:
        return events.get(timeout=_TICK)
    except Empty:
        return None


def _leave(number: int) -> None:
    """End the process although a thread of it is at work in Spark; Spark ends with it."""
    sys.stdout.flush()
    os._exit(128 + number)
