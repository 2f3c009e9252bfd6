"""Test which streaming queries are bounded, and when they are stopped."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.options import connector as opt
from kafka_sql.source.stream.stream_offset import StreamOffset, to_json
from kafka_sql.sql.jobs.micro_batch import bounded as bounded_module
from kafka_sql.sql.jobs.micro_batch.bounded import _EndListener, are_all_bounded, is_end_reached
from tests.unit.sql.jobs.fake_session import Query
from tests.unit.sql.jobs.plans import join, source
from tests.waiting import wait_until


def progress(run: str, offset: int, stop: int = 3) -> Any:
    """Return the progress of a run of query "a" that has read partition 0 to an offset."""
    end = to_json(StreamOffset({("t", 0): offset}, stops={("t", 0): stop}))
    report = json.dumps({"sources": [{"endOffset": end}]})
    return SimpleNamespace(id="a", runId=run, json=report, eventTime=None)


def listener(query: Query) -> _EndListener:
    """Return the listener of a session that runs a query."""
    query.lastProgress = None  # type: ignore[attr-defined]
    streams = SimpleNamespace(get=lambda id: query if id == query.id else None)
    return _EndListener(SimpleNamespace(streams=streams))  # type: ignore[arg-type]


def test_a_query_is_stopped_once_at_its_end() -> None:
    query = Query("a", "run-1")
    events = listener(query)
    events.onQueryProgress(SimpleNamespace(progress=progress("run-1", 2)))  # type: ignore[arg-type]
    assert query.isActive
    for _ in range(2):
        events.onQueryProgress(SimpleNamespace(progress=progress("run-1", 3)))  # type: ignore[arg-type]
    wait_until(lambda: not query.isActive, "the query stops")
    assert query.stops == 1


def test_late_progress_of_an_earlier_run_does_not_stop_the_next_run() -> None:
    query = Query("a", "run-2")
    events = listener(query)
    events.onQueryProgress(SimpleNamespace(progress=progress("run-1", 3)))  # type: ignore[arg-type]
    assert not events._stopping
    events.onQueryProgress(SimpleNamespace(progress=progress("run-2", 3)))  # type: ignore[arg-type]
    wait_until(lambda: not query.isActive, "the query stops")
    assert query.stops == 1


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (None, False),
        ("null", False),
        ({"version": 1, "offsets": {"t": {"0": 3}}, "stops": {"t": {"0": 3}}}, True),
        ("17", False),  # of another source
        ("no JSON", False),
        ('{"version": 1, "offsets": {"t": {"0": 3}}}', False),  # no end
        ('{"version": 1, "offsets": {"t": {"0": 3, "1": 5}}, "stops": {"t": {"0": 3, "1": 6}}}', False),
        ('{"version": 1, "offsets": {"t": {"0": 3, "1": 6}}, "stops": {"t": {"0": 3, "1": 6}}}', True),
    ],
)
def test_is_end_reached(end: Any, expected: bool) -> None:
    assert is_end_reached(end) is expected


def bounded_table(mode: str) -> Any:
    return SimpleNamespace(provider=f"kafka.{mode}", definition=SimpleNamespace(options={opt.BOUNDED_MODE: mode}))


def test_a_query_ends_if_all_its_streams_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    bounded, unbounded = bounded_table(opt.LATEST), bounded_table(opt.UNBOUNDED)
    monkeypatch.setattr(bounded_module, "read_plan", lambda query: query)
    query: Any = source("kafka.latest-offset", a=1)
    other: Any = join(query, source("rate", a=2), None)
    assert are_all_bounded([bounded], query)
    assert not are_all_bounded([bounded], other)
    assert not are_all_bounded([bounded, unbounded], query)
    assert not are_all_bounded([], query)


@pytest.mark.parametrize(
    ("offsets", "stops", "expected"),
    [
        ({"0": 5, "1": 7}, {"0": 5, "1": 7}, True),
        ({"0": 6, "1": 7}, {"0": 5, "1": 7}, True),
        ({"0": 5, "1": 6}, {"0": 5, "1": 7}, False),
        ({"1": 7}, {"0": 5, "1": 7}, True),
        ({"0": 5}, {}, False),
    ],
)
def test_the_end_of_a_bounded_table(offsets: dict[str, int], stops: dict[str, int], expected: bool) -> None:
    end = {"version": 1, "offsets": {"t": offsets}, **({"stops": {"t": stops}} if stops else {})}
    assert is_end_reached(end) is expected
