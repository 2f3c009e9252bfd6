"""The figures by their names, under Flink's names, and where each belongs: a query, a table or a partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kafka_sql.observability.metrics import JobMetrics, SourceMetrics
from kafka_sql.source.stream.stream_offset import Offsets

PREFIX: Final = "kafka_sql_"

JOB: Final = ("job_id", "job_name")
SOURCE: Final = (*JOB, "table")
PARTITION: Final = (*SOURCE, "topic", "partition")

JOBS: Final[dict[str, tuple[str, Callable[[JobMetrics, int], float | None]]]] = {
    "numRecordsIn": ("Rows read since the query's start.", lambda j, _: j.num_records_in),
    "numRecordsWithoutRow": (
        "Offsets read past that gave no row: skipped records, dead letters, tombstones.",
        lambda j, _: j.records_without_row,
    ),
    "numRecordsInErrors": (
        "Records that could not be read: left out, or dead letters.",
        lambda j, _: j.bad_records.skipped + j.bad_records.dead_lettered if j.bad_records else None,
    ),
    "numRecordsSkipped": (
        "Records that could not be read and were left out.",
        lambda j, _: j.bad_records.skipped if j.bad_records else None,
    ),
    "numDeadLetters": (
        "Records that could not be read and were written into the topic for them.",
        lambda j, _: j.bad_records.dead_lettered if j.bad_records else None,
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
SOURCES: Final[dict[str, tuple[str, Callable[[SourceMetrics], float]]]] = {
    "pendingRecords": ("Offsets that have not been read, of all partitions.", lambda s: s.pending_records),
    "commitsSucceeded": ("Commits of offsets to Kafka.", lambda s: s.commits_succeeded),
    "commitsFailed": ("Failed commits of offsets to Kafka.", lambda s: s.commits_failed),
}
PARTITIONS: Final[dict[str, tuple[str, Callable[[SourceMetrics], Offsets]]]] = {
    "currentOffset": ("The next offset to be read.", lambda s: s.current),
    "committedOffset": ("The offset that Kafka has last confirmed.", lambda s: s.committed),
    "records_lag": ("Offsets that have not been read.", lambda s: s.pending),
}


@dataclass(frozen=True)
class MetricDefinition:
    """A metric with all its values.

    Attributes:
        name: Flink's.
        text: what it is.
        labels: the names of the labels of each value.
        values: by the labels' values; those that nobody knows are left out.
    """

    name: str
    text: str
    labels: tuple[str, ...]
    values: list[tuple[tuple[str, ...], float]]


def all_metrics(jobs: Mapping[str, JobMetrics], now: int) -> Iterator[MetricDefinition]:
    """All metrics of some queries.

    Args:
        jobs: by the queries' ids.
        now: milliseconds since 1970-01-01 UTC.
    """
    tables = [((id, job.name or "", s.table), s) for id, job in jobs.items() for s in job.sources]
    for name, (text, of_job) in JOBS.items():
        known = [((id, job.name or ""), of_job(job, now)) for id, job in jobs.items()]
        yield MetricDefinition(name, text, JOB, [(labels, value) for labels, value in known if value is not None])
    for name, (text, of_source) in SOURCES.items():
        yield MetricDefinition(name, text, SOURCE, [(labels, of_source(s)) for labels, s in tables])
    for name, (text, of_partitions) in PARTITIONS.items():
        places = [((*labels, t, str(p)), n) for labels, s in tables for (t, p), n in of_partitions(s).items()]
        yield MetricDefinition(name, text, PARTITION, [(labels, float(n)) for labels, n in places])
