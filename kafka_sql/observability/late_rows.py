"""Count the rows that Spark drops because they are late, and log a warning when a query drops the first one.

Spark counts the rows that an aggregate drops after each task has aggregated its rows. An optimizer rule in Java adds a
filter below the aggregate that counts the rows themselves (``CountLateRows``). It needs a classic session, whose driver
can load its classes.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from kafka_sql.observability.metrics import late_records_dropped
from kafka_sql.spark.context import is_pipeline, spark_context
from kafka_sql.spark.jar import PACKAGE, add_jar, java_classes
from kafka_sql.spark.jvm import JavaError
from kafka_sql.spark.planner import add_optimizer_rule
from kafka_sql.spark.streaming_queries import add_listener

_LOG = logging.getLogger("kafka_sql.observability")
_MAX_RUNS: Final = 1_000  # whose counts are kept
_ATTRIBUTE: Final = "_kafka_sql_late_records"
_RULE: Final = f"{PACKAGE}.observability.CountLateRows"
_AGGREGATES: Final = ("stateStoreSave", "sessionWindowStateStoreSaveExec")  # Spark's names of its operators


class LateRecords(StreamingQueryListener):
    """Counts the late rows of a session's queries."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._counts: dict[str, int] = {}  # by run id
        self._lock = threading.Lock()

    def count(self, run_id: str) -> int | None:
        """Return how many rows a run of a query has dropped; None if it was not observed."""
        with self._lock:
            return self._counts.get(run_id)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        with self._lock:
            self._counts[str(event.runId)] = 0
            if len(self._counts) > _MAX_RUNS:
                del self._counts[next(iter(self._counts))]

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
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


def count_late_rows(spark: SparkSession) -> None:
    """From now on, count the late rows of the session's new streams. Repeated calls have no effect."""
    context: Any = spark_context(spark)
    if context is None or is_pipeline() or add_jar(context) is None:
        return
    try:
        add_optimizer_rule(spark, _RULE, java_classes(context).observability.CountLateRows)
    except JavaError:  # Spark internals, which may differ between versions
        _LOG.debug("late rows are counted by Spark", exc_info=True)


def late_rows(spark: SparkSession, progress: Mapping[str, Any]) -> int:
    """Return how many rows a micro-batch has dropped. A row of windows that overlap counts once for each of them.

    If the rows cannot be counted, it is Spark's number, in which the rows of a group in a task are one.

    Args:
        progress: the JSON of a StreamingQueryProgress.
    """
    dropped = late_records_dropped(progress)
    aggregates = [o for o in progress.get("stateOperators", ()) if o.get("operatorName") in _AGGREGATES]
    by_aggregates = late_records_dropped({"stateOperators": aggregates})
    if by_aggregates:
        counted = _counted(spark, str(progress["runId"]), int(progress["batchId"]))
        dropped += max(counted - by_aggregates, 0)
    return dropped


def _counted(spark: SparkSession, run_id: str, batch: int) -> int:
    """Return how many late rows the aggregates of a micro-batch received; -1 if they were not counted."""
    context: Any = spark_context(spark)
    try:
        return int(java_classes(context).observability.LateRowCounter.count(run_id, batch))
    except (JavaError, TypeError, AttributeError):  # the class was not loaded, or the session is one of Connect
        return -1
