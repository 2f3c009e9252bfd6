"""Test what happens after a job has started."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from kafka_sql.sql.jobs import run
from kafka_sql.sql.jobs.registry import FAILED


def test_a_failure_after_the_start_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    failure = StreamingQueryException("[DECODE] src[0]@1: 'properties.sasl.password' = 'hunter2-4711'\nat Java(1)")

    def fail() -> None:
        raise failure

    def job(status: str) -> Any:
        return SimpleNamespace(
            id="id-1", name="copy", status=status, failure=failure, query=SimpleNamespace(awaitTermination=fail)
        )

    caplog.set_level(logging.ERROR, "kafka_sql.sql.jobs")
    running, stopped = (
        SimpleNamespace(
            _sc=SimpleNamespace(_jsc=SimpleNamespace(sc=lambda stop=stop: SimpleNamespace(isStopped=lambda: stop)))
        )
        for stop in (False, True)
    )
    for session, status in ((running, FAILED), (running, "CANCELED"), (stopped, FAILED)):
        run._wait_for_end(session, job(status), "tgt", None)  # type: ignore[arg-type]
    (record,) = caplog.records
    message = record.getMessage()
    assert message.startswith("INSERT INTO 'tgt': job 'id-1' (copy) failed: [DECODE] src[0]@1: ")
    assert "hunter2" not in message
    assert "Java" not in message
