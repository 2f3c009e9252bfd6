"""Test that the command line waits for the jobs it started, and exits with 1 if one of them failed."""

from __future__ import annotations

import os
import signal
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.cli import running_jobs as module
from kafka_sql.cli.running_jobs import job_progress, wait_for_jobs
from kafka_sql.cli.screen import Screen
from kafka_sql.errors import TopicNotFoundError
from kafka_sql.sql.jobs.registry import Job


class Query:
    """A continuous query, which runs until it is stopped or ended."""

    def __init__(self, id: str, failure: Exception | None = None, is_ended: bool = False) -> None:
        self.id, self.name, self.runId = id, f"name-{id}", f"run-{id}"
        self.failure, self.lastProgress = failure, None
        self.ended = threading.Event()
        if is_ended:
            self.ended.set()

    @property
    def isActive(self) -> bool:
        return not self.ended.is_set()

    def exception(self) -> Exception | None:
        return self.failure if self.ended.is_set() else None

    def stop(self) -> None:
        self.ended.set()

    def awaitTermination(self) -> None:
        assert self.ended.wait(30)


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that waits for the jobs of queries and returns the exit code."""

    def thread(*, session: object, **arguments: Any) -> threading.Thread:
        return threading.Thread(**arguments)

    monkeypatch.setattr(module, "InheritableThread", thread)
    monkeypatch.setattr(module, "_TICK_SECONDS", 0.02)

    def call(*queries: Any) -> int:
        jobs = [Job(query, query.id, query.name) for query in queries]
        monkeypatch.setattr(module, "session_jobs", lambda _: jobs)
        spark: Any = None
        return wait_for_jobs(spark, Screen())

    return call


def test_ended_jobs(wait: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert wait() == 0
    assert wait(Query("a", is_ended=True)) == 0
    assert capsys.readouterr().err == ""
    assert wait(Query("a", is_ended=True), Query("b", TopicNotFoundError("no"), is_ended=True)) == 1
    assert capsys.readouterr().err == "Job name-b (b) failed: [TOPIC_NOT_FOUND] no\n"


def test_jobs_that_end(wait: Any, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = Query("a"), Query("b")
    threading.Timer(0.1, first.stop).start()
    threading.Timer(0.2, second.stop).start()
    assert wait(first, second) == 0
    assert "Running until the jobs end or Ctrl-C stops them: name-a (a), name-b (b)" in capsys.readouterr().err


def test_a_failed_job_stops_the_others(wait: Any, capsys: pytest.CaptureFixture[str]) -> None:
    failing, running = Query("a", TopicNotFoundError("no")), Query("b")
    threading.Timer(0.1, failing.stop).start()
    assert wait(failing, running) == 1
    assert running.ended.is_set()
    assert capsys.readouterr().err.endswith("Job name-a (a) failed: [TOPIC_NOT_FOUND] no\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_all_jobs(wait: Any, number: signal.Signals) -> None:
    first, second = Query("a"), Query("b")
    threading.Timer(0.1, lambda: os.kill(os.getpid(), number)).start()
    assert wait(first, second) == 0
    assert first.ended.is_set()
    assert second.ended.is_set()


def test_progress() -> None:
    query: Any = Query("a")
    job = Job(query, "a", "orders")
    assert job_progress(job) == "orders: starting"
    query.lastProgress = SimpleNamespace(batchId=3, processedRowsPerSecond=1234.5)
    assert job_progress(job) == "orders: batch 3, 1,234 rows/s"
    query.lastProgress = SimpleNamespace(batchId=3, processedRowsPerSecond=None)
    assert job_progress(job) == "orders: batch 3, 0 rows/s"
