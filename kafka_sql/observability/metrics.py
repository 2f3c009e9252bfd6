"""A continuous query's metrics, from the progress that Spark reports of its batches.

Names and meanings: the metrics of Flink's Kafka source (its documentation's page "Monitoring", FLIP-33).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kafka_sql.errors import CheckpointError
from kafka_sql.kafka.types import TopicPartition
from kafka_sql.sink.write_stats import Report
from kafka_sql.source.reader.bad_record_counters import BadRecordCounts
from kafka_sql.source.stream.stream_offset import Offsets, flatten, from_json

Json = Mapping[str, Any]


@dataclass(frozen=True)
class SourceMetrics:
    """One Kafka table of a query.

    Attributes:
        table: its name.
        current: currentOffset: the next offset of each partition.
        latest: the end of each partition.
        committed: committedOffset: what Kafka has last confirmed.
        commits_succeeded, commits_failed: since the query's start.
        without_row: offsets that the last batch has read past and that gave no row.
        max_timestamp: Kafka's time of the newest record that has been read, milliseconds since 1970-01-01 UTC; None
            where the last batch has not read to the end of any partition.
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
        """How many offsets of each partition have not been read."""
        return {p: max(0, end - self.current.get(p, end)) for p, end in self.latest.items()}

    @property
    def pending_records(self) -> int:
        """pendingRecords: their sum."""
        return sum(self.pending.values())


@dataclass
class JobMetrics:
    """A query, since its start or since somebody looks.

    Attributes:
        name: the query's, or None.
        sources: its Kafka tables.
        num_records_in: rows that its batches have read, of all sources.
        records_without_row: offsets that its batches have read past and that gave no row: records that were skipped or
            became dead letters, tombstones, and what transactions and compaction leave.
        unreadable: records that could not be read; None where their tasks cannot tell.
        records_per_second: of the last batch.
        rows_measured, bytes_measured: of the batches of which Spark tells the bytes of columns that it took over from
            the readers, their rows and these bytes.
        bytes_per_second: of the last one of them.
        event_time_lag: currentEmitEventTimeLag, milliseconds: how old the latest event of the last batch was at its
            end, by the watermark's column or, without one, by Kafka's timestamps; None where nobody knows.
        watermark: milliseconds since 1970-01-01 UTC; None without one.
        last_read: milliseconds since 1970-01-01 UTC when a batch last read rows, or the first report.
        num_records_out, num_bytes_out, num_send_errors: of its Kafka sink.
        send_time: currentSendTime, milliseconds: how long the last batch's last records took to be acknowledged.
        transactions: how many the last batch had open until it was decided.
        sink: the sink's table; None where nothing is known of one.
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
    last_read: int | None = None
    num_records_out: int = 0
    num_bytes_out: int = 0
    num_send_errors: int = 0
    send_time: float | None = None
    transactions: int | None = None
    sink: str | None = None
    _counted: int | None = None  # the last batch whose offsets without a row are in the sum

    def add_progress(self, progress: Json, bytes_in: int | None = None) -> None:
        """Take over what Spark reports of a batch, or of the time without one.

        Args:
            progress: the JSON of a StreamingQueryProgress.
            bytes_in: what the batch's readers gave, where it is known.
        """
        self.name = progress.get("name")
        self.sources = source_metrics(progress)
        rows, duration = int(progress.get("numInputRows", 0)), int(progress.get("batchDuration", 0))
        end = parse_millis(progress["timestamp"]) + duration
        times = progress.get("eventTime") or {}
        self.num_records_in += rows
        self.records_per_second = float(progress.get("processedRowsPerSecond") or 0.0)
        without_row = sum(s.records_without_row for s in self.sources)
        if without_row and progress["batchId"] != self._counted:  # it comes again while there is nothing to read
            self.records_without_row, self._counted = self.records_without_row + without_row, progress["batchId"]
        if rows or self.last_read is None:
            self.last_read = end
        if bytes_in is not None:
            self.rows_measured, self.bytes_measured = self.rows_measured + rows, self.bytes_measured + bytes_in
            self.bytes_per_second = 1000 * bytes_in / duration if duration else self.bytes_per_second
        if rows:
            newest: list[int | None] = (
                [parse_millis(times["max"])] if "max" in times else [s.max_timestamp for s in self.sources]
            )
            known = [at for at in newest if at is not None]
            self.event_time_lag = end - max(known) if known else None
        if parse_millis(times.get("watermark", _NO_WATERMARK)):  # Spark's is 1970 until a batch has been read
            self.watermark = parse_millis(times["watermark"])

    def add_sink_report(self, report: Report) -> None:
        """Take over what has been written. A batch that was repeated counts again, as its rows do."""
        figures = report.stats
        self.sink = report.table
        self.num_records_out, self.num_bytes_out = figures.rows, figures.bytes
        self.num_send_errors = figures.errors
        self.send_time, self.transactions = figures.send_time, report.transactions

    @property
    def num_bytes_in(self) -> int | None:
        """numBytesIn: bytes of columns that all batches took over; None where Spark tells of none.

        It tells of its last batch only. One that was over before it could be asked is taken to have had as many a row.
        """
        if not self.rows_measured:
            return None
        return round(self.bytes_measured * self.num_records_in / self.rows_measured)

    def watermark_lag(self, now: int) -> int | None:
        """watermarkLag, milliseconds: how far the watermark is behind the clock."""
        return None if self.watermark is None else now - self.watermark

    def idle_time(self, now: int) -> int:
        """sourceIdleTime, milliseconds: how long no row has been read."""
        return 0 if self.last_read is None else max(0, now - self.last_read)


_NO_WATERMARK = "1970-01-01T00:00:00.000Z"


def job_metrics(progresses: Iterable[Json], bytes_in: Mapping[int, int | None] | None = None) -> JobMetrics:
    """The metrics of a query whose reports are given, oldest first.

    Args:
        bytes_in: what the readers of batches gave, where it is known.
    """
    job = JobMetrics()
    for progress in progresses:
        job.add_progress(progress, (bytes_in or {}).get(progress["batchId"]) if progress.get("numInputRows") else None)
    return job


def source_metrics(progress: Json) -> list[SourceMetrics]:
    """The Kafka tables among a query's sources; those of other kinds are left out."""
    found = (_source(source) for source in progress.get("sources", ()))
    return [source for source in found if source is not None]


def _source(source: Json) -> SourceMetrics | None:
    end, latest = parse_offset(source.get("endOffset")), parse_offset(source.get("latestOffset"))
    # PySpark 4.1 asks no source for its report, and shows the end of the batch for it
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
            _without_row(parse_offset(source.get("startOffset")), current, int(source.get("numInputRows", 0))),
            latest.get("maxTimestamp"),
        )
    except CheckpointError:  # another source, whose offsets happen to have a version
        return None


def _without_row(start: Any, end: Offsets, rows: int) -> int:
    """Offsets between two places that gave no row; 0 where records give several, as those of changes may."""
    if not isinstance(start, Mapping):
        return 0
    begin = from_json(start).positions
    return max(0, sum(offset - begin.get(place, offset) for place, offset in end.items()) - rows)


def parse_offset(offset: Any) -> Any:
    """An offset in the JSON of the whole progress is JSON; alone, it is its text."""
    if not isinstance(offset, str):
        return offset
    try:
        return json.loads(offset)
    except ValueError:  # Spark's own sources may report any text
        return None


def parse_millis(text: str) -> int:
    """Milliseconds since 1970-01-01 UTC of a time as Spark reports it."""
    return round(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)
