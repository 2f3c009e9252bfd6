"""Test statement sets: the names of their jobs, and sets that fail halfway."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.sql.jobs.statement_sets import statement_sets
from kafka_sql.sql.recognize.statement_types import StatementSet
from tests.unit.sql.jobs.fake_session import Session


def job_names(*sinks: str, **settings: str) -> list[str]:
    spark: Any = Session(**settings)
    streams: Any = [SimpleNamespace(stream=SimpleNamespace(target_name=sink) if sink else None) for sink in sinks]
    return statement_sets._job_names(spark, streams)


def test_job_names_are_unique() -> None:
    assert job_names("a", "b", "", "a", "a") == [
        "insert-into_a", "insert-into_b", "", "insert-into_a-2", "insert-into_a-3",
    ]  # fmt: skip
    assert job_names("a-x", "a") == ["insert-into_a-x", "insert-into_a"]
    assert job_names("a-2", "a", "a") == ["insert-into_a-2", "insert-into_a", "insert-into_a-3"]
    assert job_names("a", "a", **{"pipeline.name": "p"}) == ["p/a", "p/a-2"]


class Job:
    id = name = "job"

    def __init__(self, fails: type[BaseException] | None) -> None:
        self.stops, self.fails = 0, fails

    def stop(self) -> None:
        self.stops += 1
        if self.fails:
            raise self.fails("stuck")


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_set_that_fails_stops_its_jobs(monkeypatch: pytest.MonkeyPatch, failure: type[BaseException]) -> None:
    jobs = [Job(RuntimeError), Job(None), Job(KeyboardInterrupt), Job(None)]
    remaining = list(jobs)

    def start(*_: Any) -> Job:
        if not remaining:
            raise failure("first failure")
        return remaining.pop(0)

    prepared = SimpleNamespace(stream=object())
    monkeypatch.setattr(statement_sets, "_prepare", lambda *_: prepared)
    monkeypatch.setattr(statement_sets, "_job_names", lambda spark, ready: [str(n) for n in range(len(ready))])
    monkeypatch.setattr(statement_sets, "share_reads", lambda _, streams, names: list(zip(streams, names, strict=True)))
    monkeypatch.setattr(statement_sets.streaming, "check_job", lambda *_: object())
    monkeypatch.setattr(statement_sets.streaming, "start_job", start)
    with pytest.raises(failure, match="first failure"):
        statement_sets.execute(None, None, StatementSet(("INSERT",) * 5), None)  # type: ignore[arg-type]
    assert [job.stops for job in jobs] == [1, 1, 1, 1]
