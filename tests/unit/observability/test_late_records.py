"""Test the count of late rows and its warning."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.observability.late_rows import LateRecords


def progress(run: str, batch: int, *dropped: int) -> Any:
    names = ("stateStoreSave", "symmetricHashJoin")
    operators = [
        {"operatorName": name, "numRowsDroppedByWatermark": n} for name, n in zip(names, dropped, strict=False)
    ]
    event_time = {"watermark": "2026-03-02T08:00:00.000Z"}
    fields = {"runId": run, "id": "q", "name": "copy", "batchId": batch, "eventTime": event_time}
    return SimpleNamespace(progress=SimpleNamespace(json=json.dumps({**fields, "stateOperators": operators})))


def session(counts: dict[int, int]) -> Any:
    """Return a session in which the aggregates of micro-batches have received late rows, by micro-batch."""
    counter = SimpleNamespace(count=lambda run, batch: counts.get(batch, -1))
    classes = SimpleNamespace(observability=SimpleNamespace(LateRowCounter=counter))
    jvm = SimpleNamespace(io=SimpleNamespace(github=SimpleNamespace(kafkasql=classes)))
    return SimpleNamespace(_sc=SimpleNamespace(_jvm=jvm))


def test_the_first_late_rows_are_logged_and_all_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    listener, event = LateRecords(session({0: 9, 1: 30})), SimpleNamespace(runId="r")
    listener.onQueryStarted(event)  # type: ignore[arg-type]
    for batch, dropped in enumerate([(0, 0), (3, 1), (), (2,)]):
        listener.onQueryProgress(progress("r", batch, *dropped))
    listener.onQueryProgress(progress("other", 0, 0))
    assert (listener.count("r"), listener.count("other")) == (33, None)  # of batch 3, only Spark's number is known
    (record,) = caplog.records
    assert record.getMessage().startswith(
        "query 'copy': batch 1 dropped 31 late rows: their event time is behind the watermark, "
        "2026-03-02T08:00:00.000Z."
    )
