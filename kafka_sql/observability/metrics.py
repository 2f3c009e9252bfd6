"""Compute a streaming query's metrics from the progress that Spark reports for its batches.

Names and semantics are those of Flink's Kafka source (page "Monitoring" of its documentation, FLIP-33).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from kafka_sql.errors import CheckpointError
from kafka_sql.kafka.topic_partition import TopicPartition
from kafka_sql.sink.write_stats import Report
from kafka_sql.source.reader.record_counters import BadRecordCounts
from kafka_sql.source.stream.offset_commits import OffsetCommitter
from kafka_sql.source.stream.stream_offset import Offsets, flatten, from_json

Json = Mapping[str, Any]


@dataclass(frozen=True)
class SourceMetrics:
    """The metrics of one Kafka table of a query.

    Attributes:
        current: currentOffset: the next offset of each partition.
        latest: the end of each partition.
        committed: committedOffset: the offsets last committed to Kafka.
        commits_succeeded, commits_failed: number of commits since the start of the query.
        records_without_row: number of offsets of the last batch that gave no row.
        max_timestamp: Kafka's timestamp of the newest record read, milliseconds since 1970-01-01 UTC; None if the last
            batch did not read any partition to its end.
    """

    table: str
    current: Offsets
    latest: Offsets
    committed: Offsets
    commits_succeeded: int
    commits_failed: int
    records_without_row: int = 0
    max_timestamp: int | None = None

    @property
    def pending(self) -> dict[TopicPartition, int]:
        """The number of offsets of each partition that have not been read."""
        return {p: max(0, end - self.current.get(p, end)) for p, end in self.latest.items()}

    @property
    def pending_records(self) -> int:
        """pendingRecords: the sum of ``pending``."""
        return sum(self.pending.values())


@dataclass
class JobMetrics:
    """The metrics of a query since its start, or since it was first observed.

    Attributes:
        num_records_in: rows read from all sources.
        records_without_row: offsets read that gave no row: skipped records, dead letters, tombstones, and the gaps that
            transactions and compaction leave.
        bad_records: records that could not be decoded; None if tasks cannot report them.
        records_per_second: rate of the last batch.
        rows_measured, bytes_measured: rows and bytes of those batches whose column sizes Spark has reported.
        bytes_per_second: rate of the last one of these batches.
        event_time_lag: currentEmitEventTimeLag, milliseconds: the age of the latest event of the last batch at the
            batch's end, by the watermark column or else by Kafka's timestamps; None if unknown.
        watermark: milliseconds since 1970-01-01 UTC; None without a watermark.
        late_records_dropped: numLateRecordsDropped: rows that were behind the watermark.
        state_rows, state_bytes: rows in the state of the query's operators, and their size in memory and on the
            executors' disks; None if they have no state.
        last_read: milliseconds since 1970-01-01 UTC of the last batch with rows, or of the first report.
        num_records_out, num_bytes_out, num_send_errors: statistics of the Kafka sink.
        send_time: currentSendTime, milliseconds until the last records of the last batch were acknowledged.
        transactions: number of transactions in which the last batch was written.
        sink: the sink's table; None if there is none, or it has not reported yet.
        records_in_by_client, rows_out_by_client: how many were read and written, by table and Kafka client.
    """

    name: str | None = None
    sources: list[SourceMetrics] = field(default_factory=list)
    num_records_in: int = 0
    records_without_row: int = 0
    bad_records: BadRecordCounts | None = None
    records_per_second: float = 0.0
    rows_measured: int = 0
    bytes_measured: int = 0
    bytes_per_second: float | None = None
    event_time_lag: int | None = None
    watermark: int | None = None
    late_records_dropped: int = 0
    state_rows: int | None = None
    state_bytes: int | None = None
    last_read: int | None = None
    num_records_out: int = 0
    num_bytes_out: int = 0
    num_send_errors: int = 0
    send_time: float | None = None
    transactions: int | None = None
    sink: str | None = None
    records_in_by_client: Mapping[tuple[str, str], int] = field(default_factory=dict)
    rows_out_by_client: Mapping[tuple[str, str], int] = field(default_factory=dict)
    _last_counted_batch: int | None = None  # the last batch that is included in records_without_row

    def add_progress(self, progress: Json, bytes_in: int | None = None, late_rows: int | None = None) -> None:
        """Add the progress of a batch, or of an idle query.

        Args:
            progress: the JSON of a StreamingQueryProgress.
            bytes_in: the size of the batch's columns, if known.
            late_rows: how many rows were dropped; by default, the number that Spark reports.
        """
        self.name = progress.get("name")
        self.sources = source_metrics(progress)
        rows, duration = int(progress.get("numInputRows", 0)), int(progress.get("batchDuration", 0))
        end_time = parse_millis(progress["timestamp"]) + duration
        event_times = progress.get("eventTime") or {}
        self.num_records_in += rows
        self.records_per_second = float(progress.get("processedRowsPerSecond") or 0.0)
        without_row = sum(s.records_without_row for s in self.sources)
        if without_row and progress["batchId"] != self._last_counted_batch:  # idle queries report it repeatedly
            self.records_without_row += without_row
            self._last_counted_batch = progress["batchId"]
        self.late_records_dropped += late_records_dropped(progress) if late_rows is None else late_rows
        operators = progress.get("stateOperators")
        if operators:
            self.state_rows = sum(int(operator["numRowsTotal"]) for operator in operators)
            self.state_bytes = sum(map(_state_bytes, operators))
        if rows or self.last_read is None:
            self.last_read = end_time
        if bytes_in is not None:
            self.rows_measured, self.bytes_measured = self.rows_measured + rows, self.bytes_measured + bytes_in
            self.bytes_per_second = 1000 * bytes_in / duration if duration else self.bytes_per_second
        if rows:
            max_timestamps = [s.max_timestamp for s in self.sources if s.max_timestamp is not None]
            if "max" in event_times:
                max_timestamps = [parse_millis(event_times["max"])]
            self.event_time_lag = end_time - max(max_timestamps) if max_timestamps else None
        if parse_millis(event_times.get("watermark", _NO_WATERMARK)):  # 1970 until the first batch has been read
            self.watermark = parse_millis(event_times["watermark"])

    def add_sink_report(self, report: Report) -> None:
        """Add the statistics of a sink. A repeated batch counts again, as its rows do."""
        stats = report.stats
        self.sink = report.table
        self.num_records_out, self.num_bytes_out = stats.rows, stats.bytes
        self.num_send_errors = stats.errors
        self.send_time, self.transactions = stats.send_time, report.transactions
        self.rows_out_by_client = {(report.table, client): rows for client, rows in report.rows_by_client.items()}

    @property
    def num_bytes_in(self) -> int | None:
        """numBytesIn: the size of the columns of all batches; None if Spark has not reported any.

        Spark reports the size of its last batch only. Batches that were missed are extrapolated from the average bytes
        per row.
        """
        if not self.rows_measured:
            return None
        return round(self.bytes_measured * self.num_records_in / self.rows_measured)

    def watermark_lag(self, now: int) -> int | None:
        """Return watermarkLag, in milliseconds: the lag of the watermark behind the clock."""
        return None if self.watermark is None else now - self.watermark

    def idle_time(self, now: int) -> int:
        """Return sourceIdleTime, in milliseconds: the time since a row was read."""
        return 0 if self.last_read is None else max(0, now - self.last_read)


_NO_WATERMARK = "1970-01-01T00:00:00.000Z"


def job_metrics(progresses: Iterable[Json], bytes_in: Mapping[int, int | None] | None = None) -> JobMetrics:
    """Compute the metrics of a query from its progress reports, oldest first.

    Args:
        bytes_in: the size of batches' columns, if known, by batch id.
    """
    job = JobMetrics()
    for progress in progresses:
        job.add_progress(progress, (bytes_in or {}).get(progress["batchId"]) if progress.get("numInputRows") else None)
    return job


def late_records_dropped(progress: Json) -> int:
    """Return how many rows the stateful operators of a batch have dropped because they were behind the watermark."""
    return sum(int(o.get("numRowsDroppedByWatermark", 0)) for o in progress.get("stateOperators", ()))


def _state_bytes(operator: Json) -> int:
    files = operator.get("customMetrics", {}).get("rocksdbSstFileSize", 0)
    return int(operator["memoryUsedBytes"]) + int(files)


def source_metrics(progress: Json) -> list[SourceMetrics]:
    """Return the metrics of the Kafka tables among a query's sources. Other sources are ignored."""
    sources = progress.get("sources", ())
    known = _SOURCES.get(str(progress.get("id")), ())
    if len(known) == len(sources) > 0:
        return list(map(_spark_source_metrics, sources, known))
    metrics = map(_source_metrics, sources)
    return [source for source in metrics if source is not None]


def _spark_source_metrics(source: Json, known: SparkSource) -> SourceMetrics:
    end, latest = (parse_offset(source.get(key)) or {} for key in ("endOffset", "latestOffset"))
    committer = known.committer
    counts = (0, 0) if committer is None else (committer.succeeded, committer.failed)
    committed = {} if committer is None else committer.committed
    return SourceMetrics(known.table, flatten(end), flatten(latest), committed, *counts)


def _source_metrics(source: Json) -> SourceMetrics | None:
    """Return the metrics of a source; None if it is not a Kafka table, or PySpark 4.1 runs the query."""
    end, latest = parse_offset(source.get("endOffset")), parse_offset(source.get("latestOffset"))
    # PySpark 4.1 does not call reportLatestOffset, and reports the end of the batch instead
    if not (isinstance(end, Mapping) and isinstance(latest, Mapping) and "table" in latest):
        return None
    try:
        current = from_json(end).positions
        return SourceMetrics(
            str(latest["table"]),
            current,
            from_json(latest).offsets,
            flatten(latest.get("committedOffsets", {})),
            int(latest.get("commitsSucceeded", 0)),
            int(latest.get("commitsFailed", 0)),
            _count_without_row(parse_offset(source.get("startOffset")), current, int(source.get("numInputRows", 0))),
            latest.get("maxTimestamp"),
        )
    except CheckpointError:  # another source whose offsets have a version, too
        return None


def _count_without_row(start: Any, end: Offsets, rows: int) -> int:
    """Return the number of offsets that gave no row; 0 if records have several rows, as in changelogs."""
    if not isinstance(start, Mapping):
        return 0
    starts = from_json(start).positions
    return max(0, sum(offset - starts.get(p, offset) for p, offset in end.items()) - rows)


def parse_offset(offset: Any) -> Any:
    """Parse an offset of a progress report. It is JSON in the report's JSON, and text in a SourceProgress."""
    if not isinstance(offset, str):
        return offset
    try:
        return json.loads(offset)
    except ValueError:  # other sources may report any text
        return None


def parse_millis(text: str) -> int:
    """Parse a timestamp of a progress report to milliseconds since 1970-01-01 UTC."""
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


@dataclass(frozen=True)
class SparkSource:
    """A table of a query in real-time mode, whose sources are Spark's own and report no table.

    Attributes:
        committer: commits the table's offsets; None if they are not committed.
    """

    table: str
    committer: OffsetCommitter | None


_SOURCES: Final[dict[str, Sequence[SparkSource]]] = {}  # by query id


def add_sources(query: str, sources: Sequence[SparkSource]) -> None:
    """Add the sources of a query that starts, in the order in which Spark reports them."""
    _SOURCES[query] = sources


def remove_sources(query: str, sources: Sequence[SparkSource]) -> None:
    """Remove the sources of a query that has ended, unless it was restarted."""
    if _SOURCES.get(query) is sources:
        del _SOURCES[query]
