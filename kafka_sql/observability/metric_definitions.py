"""Define the exported metrics with Flink's names, and their scope: a query, a table, a partition or a Kafka client."""

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
CLIENT: Final = (*SOURCE, "client")

# name: description, and the value (for jobs: at a time in milliseconds)
JOBS: Final[dict[str, tuple[str, Callable[[JobMetrics, int], float | None]]]] = {
    "numRecordsIn": ("Rows read since the start of the query.", lambda j, _: j.num_records_in),
    "numRecordsWithoutRow": (
        "Offsets read that gave no row: skipped records, dead letters, tombstones.",
        lambda j, _: j.records_without_row,
    ),
    "numRecordsInErrors": (
        "Records that could not be decoded: skipped, or dead letters.",
        lambda j, _: j.bad_records.skipped + j.bad_records.dead_lettered if j.bad_records else None,
    ),
    "numRecordsSkipped": (
        "Records that could not be decoded and were skipped.",
        lambda j, _: j.bad_records.skipped if j.bad_records else None,
    ),
    "numDeadLetters": (
        "Records that could not be decoded and were written to the dead letter topic.",
        lambda j, _: j.bad_records.dead_lettered if j.bad_records else None,
    ),
    "numRecordsInPerSecond": ("Rows per second of the last batch.", lambda j, _: j.records_per_second),
    "numBytesIn": ("Size of the columns read since the start of the query, bytes.", lambda j, _: j.num_bytes_in),
    "numBytesInPerSecond": ("Bytes of columns per second of the last batch.", lambda j, _: j.bytes_per_second),
    "currentEmitEventTimeLag": ("Age of the latest event of the last batch, ms.", lambda j, _: j.event_time_lag),
    "watermarkLag": ("Lag of the watermark behind the clock, ms.", JobMetrics.watermark_lag),
    "numLateRecordsDropped": (
        "Rows that were dropped because they were behind the watermark.",
        lambda j, _: j.late_records_dropped,
    ),
    "numRecordsOut": (
        "Rows written since the start of the query.",
        lambda j, _: j.num_records_out if j.sink else None,
    ),
    "numBytesOut": ("Size of the keys and values written, bytes.", lambda j, _: j.num_bytes_out if j.sink else None),
    "numRecordsOutErrors": (
        "Broker errors that the client reported while writing.",
        lambda j, _: j.num_send_errors if j.sink else None,
    ),
    "currentSendTime": (
        "Time until the last records were acknowledged, ms.",
        lambda j, _: j.send_time,
    ),
    "openTransactions": ("Transactions in which the last batch was written.", lambda j, _: j.transactions),
    "sourceIdleTime": ("Time since a row was read, ms.", JobMetrics.idle_time),
}
SOURCES: Final[dict[str, tuple[str, Callable[[SourceMetrics], float]]]] = {
    "pendingRecords": ("Offsets that have not been read, in all partitions.", lambda s: s.pending_records),
    "commitsSucceeded": ("Successful offset commits to Kafka.", lambda s: s.commits_succeeded),
    "commitsFailed": ("Failed offset commits to Kafka.", lambda s: s.commits_failed),
}
PARTITIONS: Final[dict[str, tuple[str, Callable[[SourceMetrics], Offsets]]]] = {
    "currentOffset": ("The next offset to read.", lambda s: s.current),
    "committedOffset": ("The offset last committed to Kafka.", lambda s: s.committed),
    "records_lag": ("Offsets that have not been read.", lambda s: s.pending),
}
CLIENTS: Final[dict[str, tuple[str, Callable[[JobMetrics], Mapping[tuple[str, str], int]]]]] = {
    "numRecordsInByClient": ("Records read with each Kafka client.", lambda j: j.records_in_by_client),
    "numRecordsOutByClient": ("Rows written with each Kafka client.", lambda j: j.rows_out_by_client),
}


@dataclass(frozen=True)
class Metric:
    """A metric with its current values."""

    name: str  # Flink's name
    description: str
    labels: tuple[str, ...]
    values: list[tuple[tuple[str, ...], float]]  # the values with their label values. Unknown values are omitted.


def all_metrics(jobs: Mapping[str, JobMetrics], now: int) -> Iterator[Metric]:
    """Yield all metrics of queries.

    Args:
        now: milliseconds since 1970-01-01 UTC.
    """
    tables = [((id, job.name or "", s.table), s) for id, job in jobs.items() for s in job.sources]
    for name, (description, job_value) in JOBS.items():
        values = [((id, job.name or ""), job_value(job, now)) for id, job in jobs.items()]
        yield Metric(name, description, JOB, [(labels, value) for labels, value in values if value is not None])
    for name, (description, source_value) in SOURCES.items():
        yield Metric(name, description, SOURCE, [(labels, source_value(s)) for labels, s in tables])
    for name, (description, offsets) in PARTITIONS.items():
        partitions = [((*labels, t, str(p)), n) for labels, s in tables for (t, p), n in offsets(s).items()]
        yield Metric(name, description, PARTITION, [(labels, float(n)) for labels, n in partitions])
    for name, (description, by_client) in CLIENTS.items():
        counts: list[tuple[tuple[str, ...], float]] = [
            ((id, job.name or "", *table_and_client), float(count))
            for id, job in jobs.items()
            for table_and_client, count in by_client(job).items()
        ]
        yield Metric(name, description, CLIENT, counts)
