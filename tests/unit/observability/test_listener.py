"""Test how Spark's events update the metrics, with and without the query itself."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.observability import listener
from kafka_sql.observability.listener import Observer, query_bytes_in
from kafka_sql.sink.write_stats import Report, WriteStats
from kafka_sql.source.reader.record_counters import BadRecordCounts
from tests.unit.observability.progress_reports import BATCH, IDLE

ID = BATCH["id"]


class Metric:
    """A metric of a leaf of a query's plan."""

    def __init__(self, value: int | None) -> None:
        self._value = value

    def isDefined(self) -> bool:
        return self._value is not None

    def get(self) -> Metric:
        return self

    def value(self) -> int:
        assert self._value is not None
        return self._value


def query_with_plan(batch: int, *sizes: int | None) -> Any:
    """Return a query whose last batch received these sizes; None for a leaf that is not a Python reader."""
    leaves = iter([SimpleNamespace(metrics=lambda s=s: {"pythonDataReceived": Metric(s)}) for s in sizes])
    remaining = list(leaves)
    iterator = SimpleNamespace(hasNext=lambda: bool(remaining), next=lambda: remaining.pop(0))
    execution = SimpleNamespace(
        currentBatchId=lambda: batch,
        executedPlan=lambda: SimpleNamespace(collectLeaves=lambda: SimpleNamespace(iterator=lambda: iterator)),
    )
    handle = SimpleNamespace(streamingQuery=lambda: SimpleNamespace(lastExecution=lambda: execution))
    return SimpleNamespace(_jsq=handle, id=ID, lastProgress=None)


class Streams:
    """The queries of a session.

    Attributes:
        query: the only one; None if Spark no longer has it.
        reports: what its sink reported.
    """

    def __init__(self) -> None:
        self.query: Any = None
        self.reports: dict[str, Report] = {}

    def get(self, query: str) -> Any:
        assert query == ID
        return self.query


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> Streams:
    streams = Streams()
    monkeypatch.setattr(listener, "last_report", streams.reports.get)
    monkeypatch.setattr(listener, "remove_report", lambda query: streams.reports.pop(query, None))
    monkeypatch.setattr(listener.record_counters, "reset_counts", lambda spark, query: None)
    monkeypatch.setattr(listener.record_counters, "bad_record_counts", lambda spark, query: BadRecordCounts(2, 1))
    by_client = {("default.src", "direct"): 590}
    monkeypatch.setattr(listener.record_counters, "records_by_client", lambda spark, query: by_client)
    return streams


def start_event(name: str | None = "copy", run: str = "run-1") -> Any:
    """Return an event of a query's start or end."""
    return SimpleNamespace(id=ID, runId=run, name=name)


def progress_event(progress: dict[str, Any]) -> Any:
    return SimpleNamespace(progress=SimpleNamespace(json=json.dumps(progress)))


def observer(streams: Streams) -> Observer:
    return Observer(SimpleNamespace(streams=streams))  # type: ignore[arg-type]


def test_a_query_is_observed_from_its_start_to_its_end(streams: Streams) -> None:
    observed = observer(streams)
    observed.onQueryStarted(start_event())
    assert observed.jobs()[ID].name == "copy"
    observed.onQueryProgress(progress_event(BATCH))
    job = observed.jobs()[ID]
    assert (job.num_records_in, job.bad_records, job.num_bytes_in) == (600, BadRecordCounts(2, 1), None)
    assert job.records_in_by_client == {("default.src", "direct"): 590}
    assert (job.sink, job.num_records_out) == (None, 0)
    observed.onQueryTerminated(start_event())
    assert observed.jobs() == {}


def test_the_late_end_of_a_run_does_not_remove_the_metrics_of_the_next(streams: Streams) -> None:
    observed = observer(streams)
    observed.onQueryStarted(start_event())
    observed.onQueryStarted(start_event("copied again", "run-2"))
    observed.onQueryTerminated(start_event())
    assert observed.jobs()[ID].name == "copied again"
    observed.onQueryTerminated(start_event(run="run-2"))
    assert observed.jobs() == {}


def test_what_a_sink_reports_is_added(streams: Streams) -> None:
    observed = observer(streams)
    streams.reports[ID] = Report(7, "default.out", WriteStats(rows=5, bytes=50), 2)
    observed.onQueryProgress(progress_event(BATCH))
    job = observed.jobs()[ID]
    assert (job.sink, job.num_records_out, job.num_bytes_out, job.transactions) == ("default.out", 5, 50, 2)
    observed.onQueryStarted(start_event())  # a restarted query does not show the report of its previous run
    observed.onQueryProgress(progress_event(BATCH))
    assert observed.jobs()[ID].sink is None


def test_bytes_of_the_batch_are_read_from_the_query(streams: Streams) -> None:
    observed = observer(streams)
    streams.query = query_with_plan(BATCH["batchId"], 1000, None, 200)
    observed.onQueryProgress(progress_event(BATCH))
    assert observed.jobs()[ID].num_bytes_in == 1200


def test_bytes_of_another_batch_are_unknown() -> None:
    assert query_bytes_in(query_with_plan(8, 1000), 7) is None
    assert query_bytes_in(query_with_plan(7), 7) == 0
    assert query_bytes_in(SimpleNamespace(), 7) is None  # type: ignore[arg-type]  # a Connect client
    without_plan = SimpleNamespace(
        _jsq=SimpleNamespace(streamingQuery=lambda: SimpleNamespace(lastExecution=lambda: None))
    )
    assert query_bytes_in(without_plan, 7) is None  # type: ignore[arg-type]


def test_an_idle_query_reports_its_commits(streams: Streams) -> None:
    observed = observer(streams)
    observed.onQueryStarted(start_event())
    observed.onQueryIdle(start_event())  # Spark no longer has the query
    streams.query = query_with_plan(7)
    observed.onQueryIdle(start_event())  # before the first batch
    assert observed.jobs()[ID].sources == []
    streams.query.lastProgress = SimpleNamespace(numInputRows=0, json=json.dumps(IDLE))
    observed.onQueryIdle(start_event())
    (source,) = observed.jobs()[ID].sources
    assert source.commits_succeeded == 3


def test_an_idle_query_does_not_count_its_last_batch_again(streams: Streams) -> None:
    observed = observer(streams)
    observed.onQueryProgress(progress_event(BATCH))
    streams.query = query_with_plan(7)
    streams.query.lastProgress = SimpleNamespace(numInputRows=600, json=json.dumps(BATCH))
    observed.onQueryIdle(start_event())
    assert observed.jobs()[ID].num_records_in == 600
