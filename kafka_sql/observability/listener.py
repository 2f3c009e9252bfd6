"""Collect the metrics of a session's streaming queries with a StreamingQueryListener."""

from __future__ import annotations

import json
import logging
import threading
from importlib.util import find_spec
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.query import StreamingQuery

from kafka_sql.errors import UnsupportedOptionError
from kafka_sql.observability.late_rows import count_late_rows, late_rows
from kafka_sql.observability.metrics import JobMetrics
from kafka_sql.observability.opentelemetry import register_gauges
from kafka_sql.sink.write_stats import last_report, remove_report
from kafka_sql.source.reader import record_counters
from kafka_sql.spark.jvm import JavaError
from kafka_sql.spark.streaming_queries import add_listener, bytes_read

_LOG = logging.getLogger("kafka_sql.observability")
_ATTRIBUTE = "_kafka_sql_observer"


class Observer(StreamingQueryListener):
    """The metrics of the running queries, by query id."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._jobs: dict[str, JobMetrics] = {}
        self._runs: dict[str, str] = {}  # the last run of each query
        self._lock = threading.Lock()

    def jobs(self) -> dict[str, JobMetrics]:
        """Return the metrics by query id. Queries that have ended are not included."""
        with self._lock:
            return dict(self._jobs)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        remove_report(str(event.id))
        record_counters.reset_counts(self._spark, str(event.id))
        with self._lock:
            self._jobs[str(event.id)] = JobMetrics(event.name)
            self._runs[str(event.id)] = str(event.runId)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        progress = json.loads(event.progress.json)
        query = self._spark.streams.get(progress["id"])
        self._add_progress(progress, query_bytes_in(query, progress["batchId"]) if query is not None else None)
        report = last_report(progress["id"])
        bad_records = record_counters.bad_record_counts(self._spark, progress["id"])
        by_client = record_counters.records_by_client(self._spark, progress["id"])
        with self._lock:
            job = self._jobs[progress["id"]]
            job.bad_records, job.records_in_by_client = bad_records, by_client
            if report is not None:
                job.add_sink_report(report)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Add the progress of an idle query, which includes the result of the last offset commit."""
        query = self._spark.streams.get(str(event.id))
        last = query.lastProgress if query is not None else None
        if last is not None and not last.numInputRows:
            self._add_progress(json.loads(last.json), None)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Remove the metrics of a query that has ended, unless it was restarted: the event arrives late."""
        with self._lock:
            if self._runs.get(str(event.id), str(event.runId)) != str(event.runId):
                return
            self._jobs.pop(str(event.id), None)
            self._runs.pop(str(event.id), None)
        remove_report(str(event.id))

    def _add_progress(self, progress: dict[str, Any], bytes_in: int | None) -> None:
        with self._lock:
            job = self._jobs.setdefault(progress["id"], JobMetrics())
            job.add_progress(progress, bytes_in, late_rows(self._spark, progress))


def observe(spark: SparkSession, port: int | None = None, host: str = "127.0.0.1") -> Observer:
    """Observe a session's streaming queries. Repeated calls return the same observer.

    If OpenTelemetry's API is installed, the metrics are also reported to its meter provider.

    Args:
        port: where to serve Prometheus metrics (``http://<host>:<port>/metrics``); 0 selects a free port.
        host: the address to listen on; '0.0.0.0' for all addresses of this machine.

    Raises:
        InvalidOptionError: the port is in use, or this machine does not have the address.
        UnsupportedOptionError: a port is set, and prometheus_client is not installed.
    """
    observer: Observer | None = spark.__dict__.get(_ATTRIBUTE)
    if observer is None:
        count_late_rows(spark)
        observer = Observer(spark)
        add_listener(spark, observer)
        spark.__dict__[_ATTRIBUTE] = observer
        register_gauges(observer)
    if port is not None:
        if find_spec("prometheus_client") is None:
            raise UnsupportedOptionError(
                "Option 'metrics.reporter.prom.port' needs the Python package prometheus_client on the driver: "
                "pip install 'kafka-sql[prometheus]'.",
                option="metrics.reporter.prom.port",
            )
        from kafka_sql.observability.prometheus import serve_metrics

        serve_metrics(observer, port, host)
    return observer


def query_bytes_in(query: StreamingQuery, batch: int) -> int | None:
    """Return the size of the columns that a batch received from the readers; None if it is not the query's last batch.

    Also None for a Connect client.
    """
    try:
        return bytes_read(query, batch)
    except (JavaError, TypeError):  # Spark internals, which may differ between versions
        _LOG.debug("bytes of batch %d of query %s are unavailable", batch, query.id, exc_info=True)
        return None
