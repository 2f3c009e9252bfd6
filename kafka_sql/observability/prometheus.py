"""The metrics as Prometheus text on a port, under Flink's names with ``kafka_sql_`` before them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kafka_sql.errors import InvalidOptionError
from kafka_sql.observability.listener import Observer
from kafka_sql.observability.metrics import JobMetrics, SourceMetrics
from kafka_sql.source.checkpoint import Offsets

_JOB: Final = ("job_id", "job_name")
_SOURCE: Final = (*_JOB, "table")
_PARTITION: Final = (*_SOURCE, "topic", "partition")

_JOBS: Final[dict[str, tuple[str, Callable[[JobMetrics, int], float | None]]]] = {
    "numRecordsIn": ("Rows read since the query's start.", lambda j, _: j.num_records_in),
    "numRecordsWithoutRow": (
        "Offsets read past that gave no row: skipped records, dead letters, tombstones.",
        lambda j, _: j.records_without_row,
    ),
    "numRecordsInPerSecond": ("Rows a second of the last batch.", lambda j, _: j.records_per_second),
    "numBytesIn": ("Bytes of columns read since the query's start.", lambda j, _: j.num_bytes_in),
    "numBytesInPerSecond": ("Bytes of columns a second of the last batch.", lambda j, _: j.bytes_per_second),
    "currentEmitEventTimeLag": ("Age of the last batch's latest event, ms.", lambda j, _: j.event_time_lag),
    "watermarkLag": ("How far the watermark is behind the clock, ms.", JobMetrics.watermark_lag),
    "numRecordsOut": ("Rows written since the query's start.", lambda j, _: j.num_records_out if j.sink else None),
    "numBytesOut": ("Bytes of keys and values written.", lambda j, _: j.num_bytes_out if j.sink else None),
    "numRecordsOutErrors": (
        "Errors of the brokers that the client reported while writing.",
        lambda j, _: j.num_send_errors if j.sink else None,
    ),
    "currentSendTime": (
        "How long the last records took to be acknowledged, ms.",
        lambda j, _: j.send_time,
    ),
    "openTransactions": ("Transactions of the last batch before it was decided.", lambda j, _: j.transactions),
    "sourceIdleTime": ("How long no row has been read, ms.", JobMetrics.idle_time),
}
_SOURCES: Final[dict[str, tuple[str, Callable[[SourceMetrics], float]]]] = {
    "pendingRecords": ("Offsets that have not been read, of all partitions.", lambda s: s.pending_records),
    "commitsSucceeded": ("Commits of offsets to Kafka.", lambda s: s.commits_succeeded),
    "commitsFailed": ("Failed commits of offsets to Kafka.", lambda s: s.commits_failed),
}
_PARTITIONS: Final[dict[str, tuple[str, Callable[[SourceMetrics], Offsets]]]] = {
    "currentOffset": ("The next offset to be read.", lambda s: s.current),
    "committedOffset": ("The offset that Kafka has last confirmed.", lambda s: s.committed),
    "records_lag": ("Offsets that have not been read.", lambda s: s.pending),
}


class _Metrics(Collector):
    """An observer's metrics when they are asked for."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def collect(self) -> Iterator[Metric]:
        jobs, now = self._observer.jobs(), time.time_ns() // 1_000_000
        tables = [((id, job.name or "", s.table), s) for id, job in jobs.items() for s in job.sources]
        for name, (text, of_job) in _JOBS.items():
            figures = [((id, job.name or ""), of_job(job, now)) for id, job in jobs.items()]
            yield _family(name, text, _JOB, figures)
        for name, (text, of_source) in _SOURCES.items():
            yield _family(name, text, _SOURCE, [(labels, of_source(s)) for labels, s in tables])
        for name, (text, of_partitions) in _PARTITIONS.items():
            places = [((*labels, t, str(p)), n) for labels, s in tables for (t, p), n in of_partitions(s).items()]
            yield _family(name, text, _PARTITION, places)


def _family(
    name: str, text: str, labels: Sequence[str], figures: Sequence[tuple[Sequence[str], float | None]]
) -> Metric:
    family = GaugeMetricFamily(f"kafka_sql_{name}", text, labels=labels)
    for values, figure in figures:
        if figure is not None:
            family.add_metric(values, figure)
    return family


_served: dict[int, int] = {}  # the ports by the observers' identities, for the process's life


def serve(observer: Observer, port: int) -> int:
    """Serve an observer's metrics; the port. A second call for the same observer gives the first one's.

    Raises:
        InvalidOptionError: the port is taken, or not this user's.
    """
    if id(observer) not in _served:
        registry = CollectorRegistry()
        registry.register(_Metrics(observer))
        try:
            server, _ = start_http_server(port, registry=registry)
        except OSError as e:
            raise InvalidOptionError(
                f"Invalid value '{port}' for option 'metrics.reporter.prom.port': metrics cannot be served there "
                f"({e.strerror}). Choose another port, or '0' for a free one."
            ) from e
        _served[id(observer)] = server.server_port
    return _served[id(observer)]
