"""Test the count of late rows and its warning."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.observability.late_records import LateRecords


def progress(run: str, batch: int, *dropped: int) -> Any:
    operators = [SimpleNamespace(numRowsDroppedByWatermark=n) for n in dropped]
    event_time = {"watermark": "2026-03-02T08:00:00.000Z"}
    fields = {"runId": run, "id": "q", "name": "copy", "batchId": batch, "eventTime": event_time}
    return SimpleNamespace(progress=SimpleNamespace(**fields, stateOperators=operators))


def test_the_first_late_rows_are_logged_and_all_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    listener, event = LateRecords(), SimpleNamespace(runId="r")
    listener.onQueryStarted(event)  # type: ignore[arg-type]
    for batch, dropped in enumerate([(0, 0), (3, 1), (), (2,)]):
        listener.onQueryProgress(progress("r", batch, *dropped))
    listener.onQueryProgress(progress("other", 0, 0))
    assert (listener.count("r"), listener.count("other")) == (6, None)
    (record,) = caplog.records
    assert record.getMessage().startswith(
        "query 'copy': batch 1 dropped 4 late rows: their event time is behind the watermark, 2026-03-02T08:00:00.000Z."
    )
