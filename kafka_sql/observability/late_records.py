"""Count the rows that Spark drops because they are late, and log a warning when a query drops the first one."""

from __future__ import annotations

import json
import logging
import threading
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from kafka_sql.observability.late_row_counts import count_late_rows, late_rows
from kafka_sql.spark.query_listeners import add_listener

_LOG = logging.getLogger("kafka_sql.observability")
_MAX_RUNS: Final = 1_000  # whose counts are kept
_ATTRIBUTE: Final = "_kafka_sql_late_records"


class LateRecords(StreamingQueryListener):
    """Counts the late rows of a session's queries."""

    def __init__(self, spark: SparkSession) -> None:
        """Create a listener. It counts nothing until it is added to the session's listeners."""
        self._spark = spark
        self._counts: dict[str, int] = {}  # by run id
        self._lock = threading.Lock()

    def count(self, run_id: str) -> int | None:
        """Return how many rows a run of a query has dropped; None if it was not observed."""
        with self._lock:
            return self._counts.get(run_id)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Count a query that starts."""
        with self._lock:
            self._counts[str(event.runId)] = 0
            if len(self._counts) > _MAX_RUNS:
                del self._counts[next(iter(self._counts))]

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Add the rows that a batch has dropped."""
        progress = json.loads(event.progress.json)
        dropped = late_rows(self._spark, progress)
        if not dropped:
            return
        run_id = progress["runId"]
        with self._lock:
            is_first = not self._counts.get(run_id)
            self._counts[run_id] = self._counts.get(run_id, 0) + dropped
        if is_first:
            _LOG.warning(
                "query '%s': batch %d dropped %d late rows: their event time is behind the watermark, %s. Choose a "
                "larger delay in WATERMARK FOR, and see 'Event time' in streaming.md. The metric numLateRecordsDropped "
                "counts all of them",
                progress.get("name") or progress["id"],
                progress["batchId"],
                dropped,
                progress.get("eventTime", {}).get("watermark", "unknown"),
            )

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Keep the count of a query that has ended, for SHOW JOBS."""


def watch_late_records(spark: SparkSession) -> None:
    """Count the late rows of a session's queries that start from now on. Repeated calls have no effect."""
    if _ATTRIBUTE not in spark.__dict__:
        count_late_rows(spark)
        listener = LateRecords(spark)
        add_listener(spark, listener)
        spark.__dict__[_ATTRIBUTE] = listener


def late_record_count(spark: SparkSession, run_id: str) -> int | None:
    """Return how many rows a run of a query has dropped; None if they are not counted."""
    listener: LateRecords | None = spark.__dict__.get(_ATTRIBUTE)
    return listener.count(run_id) if listener is not None else None
