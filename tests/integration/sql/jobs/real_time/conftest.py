"""A session in real-time mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

_MIN_BATCH = "spark.sql.streaming.realTimeMode.minBatchDuration"


@pytest.fixture
def real_time(spark: Any, streaming: Any) -> Iterator[Any]:
    """Return ``sql`` in real-time mode, with short batches."""
    streaming("SET 'execution.latency-mode' = 'real-time'")
    streaming("SET 'execution.checkpointing.interval' = '1 s'")
    spark.conf.set(_MIN_BATCH, "1000")
    yield streaming
    spark.conf.unset(_MIN_BATCH)
