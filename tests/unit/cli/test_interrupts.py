"""Test Ctrl-C while a statement runs: the first signal cancels it, the second ends the process."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kafka_sql.cli import interrupts
from kafka_sql.cli.interrupts import Interrupted, handle_signals, run_interruptible


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return ``run_interruptible`` without Spark."""

    def thread(*, session: object, **arguments: Any) -> threading.Thread:
        return threading.Thread(**arguments)

    monkeypatch.setattr(interrupts, "InheritableThread", thread)
    monkeypatch.setattr(interrupts, "_TICK_SECONDS", 0.01)

    def call(
        work: Callable[[], Any],
        cancel: Callable[[], None] = lambda: None,
        tick: Callable[[], None] = lambda: None,
        print_line: Callable[[str], None] = lambda _: None,
    ) -> Any:
        spark: Any = None
        return run_interruptible(spark, work, cancel, tick, print_line)

    return call


def test_end_and_error(run: Callable[..., Any]) -> None:
    results: list[int] = []
    run(lambda: results.append(5))
    assert results == [5]
    with pytest.raises(ZeroDivisionError):
        run(lambda: 1 // 0)


def test_progress_is_updated_until_the_end(run: Callable[..., Any]) -> None:
    ticked = threading.Event()
    run(lambda: ticked.wait(10), tick=ticked.set)
    assert ticked.is_set()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_cancels_repeatedly(run: Callable[..., Any], number: signal.Signals) -> None:
    cancellations: list[None] = []
    lines: list[str] = []
    is_canceled_three_times = threading.Event()
    cancellations_at_ticks: list[int] = []

    def cancel() -> None:
        cancellations.append(None)
        if len(cancellations) == 3:
            is_canceled_three_times.set()

    def work() -> None:
        os.kill(os.getpid(), number)
        assert is_canceled_three_times.wait(10)
        raise ValueError("canceled")

    original_handler = signal.getsignal(number)
    with pytest.raises(Interrupted) as interrupted:
        run(work, cancel, lambda: cancellations_at_ticks.append(len(cancellations)), lines.append)
    assert interrupted.value.signal == number
    assert isinstance(interrupted.value.__cause__, ValueError)
    assert lines == ["Stopping the statement. Press Ctrl-C again to exit immediately."]
    assert not any(cancellations_at_ticks)  # no progress after the signal
    assert signal.getsignal(number) is original_handler


def test_the_second_signal_exits(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    exits: list[int] = []
    done, canceled = threading.Event(), threading.Event()

    def exit_now(number: int) -> None:
        exits.append(number)
        done.set()

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert canceled.wait(10)
        os.kill(os.getpid(), signal.SIGINT)
        assert done.wait(10)

    monkeypatch.setattr(interrupts, "_exit_now", exit_now)
    with pytest.raises(Interrupted):
        run(work, canceled.set)
    assert exits == [signal.SIGINT]


def test_a_result_after_a_signal_is_discarded(run: Callable[..., Any]) -> None:
    canceled = threading.Event()

    def work() -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        return canceled.wait(10)

    with pytest.raises(Interrupted):
        run(work, canceled.set)


def test_handlers_are_restored_after_an_error() -> None:
    original_handler = signal.getsignal(signal.SIGTERM)

    def fail() -> None:
        with handle_signals(lambda _: None):
            assert signal.getsignal(signal.SIGTERM) is not original_handler
            raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        fail()
    assert signal.getsignal(signal.SIGTERM) is original_handler
