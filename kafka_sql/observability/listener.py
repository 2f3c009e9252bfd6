"""The listener that keeps the last report of each continuous query of a session."""

from __future__ import annotations

import json
import logging
import threading
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.observability.metrics import JobMetrics
from kafka_sql.sink.write_stats import last_report, remove_report
from kafka_sql.source.reader import bad_record_counters

_LOG = logging.getLogger("kafka_sql.observability")
_ATTRIBUTE = "_kafka_sql_observer"


class Observer(StreamingQueryListener):
    """Metrics of the running queries by their ids."""

    def __init__(self, spark: SparkSession) -> None:
        """Nothing is observed until Spark knows the listener."""
        self._spark = spark
        self._jobs: dict[str, JobMetrics] = {}
        self._lock = threading.Lock()

    def jobs(self) -> dict[str, JobMetrics]:
        """Metrics by query id; of queries that have ended there are none."""
        with self._lock:
            return dict(self._jobs)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """A query begins without any figures."""
        remove_report(str(event.id))
        bad_record_counters.reset_counts(self._spark, str(event.id))
        with self._lock:
            self._jobs[str(event.id)] = JobMetrics(event.name)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """A batch has ended."""
        progress = json.loads(event.progress.json)
        query = self._spark.streams.get(progress["id"])
        self._take(progress, query_bytes_in(query, progress["batchId"]) if query is not None else None)
        self._take_sink(progress["id"])
        with self._lock:
            self._jobs[progress["id"]].bad_records = bad_record_counters.bad_record_counts(self._spark, progress["id"])

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """There was nothing to read; what became of the last commit is known by now."""
        query = self._spark.streams.get(str(event.id))
        last = query.lastProgress if query is not None else None
        if last is not None and not last.numInputRows:
            self._take(json.loads(last.json), None)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """A query that has ended has no metrics."""
        with self._lock:
            self._jobs.pop(str(event.id), None)
        remove_report(str(event.id))

    def _take_sink(self, query: str) -> None:
        report = last_report(query)
        if report is not None:
            with self._lock:
                self._jobs.setdefault(query, JobMetrics()).add_sink_report(report)

    def _take(self, progress: dict[str, Any], bytes_in: int | None) -> None:
        with self._lock:
            self._jobs.setdefault(progress["id"], JobMetrics()).add_progress(progress, bytes_in)


def observe(spark: SparkSession, port: int | None = None) -> Observer:
    """Observe a session's continuous queries from now on; calling it again changes nothing.

    Where OpenTelemetry's API is installed, the metrics go to its meter provider as well.

    Args:
        port: where to serve Prometheus text (``http://<host>:<port>/metrics``); 0 takes a free one.

    Raises:
        InvalidOptionError: the port is taken.
    """
    observer: Observer | None = spark.__dict__.get(_ATTRIBUTE)
    if observer is None:
        observer = Observer(spark)
        spark.streams.addListener(observer)
        spark.__dict__[_ATTRIBUTE] = observer
        from kafka_sql.observability.opentelemetry import register_gauges  # here, as below

        register_gauges(observer)
    if port is not None:
        from kafka_sql.observability.prometheus import serve_metrics  # here: who wants no port needs no library

        serve_metrics(observer, port)
    return observer


def query_bytes_in(query: StreamingQuery, batch: int) -> int | None:
    """Bytes of columns that a batch took over from the readers; None where it is not Spark's last one any more."""
    handle = getattr(query, "_jsq", None)
    if handle is None:  # the session is a Connect client
        return None
    try:
        execution = handle.streamingQuery().lastExecution()
        if execution is None or execution.currentBatchId() != batch:
            return None
        leaves = execution.executedPlan().collectLeaves().iterator()
        total = 0
        while leaves.hasNext():
            metric = leaves.next().metrics().get("pythonDataReceived")
            total += metric.get().value() if metric.isDefined() else 0
    except (Py4JError, TypeError):  # Spark's inside, which another version may have otherwise
        _LOG.debug("bytes of batch %d of query %s cannot be had", batch, query.id, exc_info=True)
        return None
    return int(total)
