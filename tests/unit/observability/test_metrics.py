"""Test the metrics that are computed from Spark's progress reports."""

from __future__ import annotations

import json
from concurrent.futures import Future

from kafka_sql.observability.metrics import (
    SourceMetrics,
    SparkSource,
    add_sources,
    job_metrics,
    remove_sources,
    source_metrics,
)
from kafka_sql.source.stream.offset_commits import OffsetCommitter
from tests.unit.observability.progress_reports import BATCH, IDLE, NOON


def test_source_offsets() -> None:
    (source,) = source_metrics(BATCH)
    assert source == SourceMetrics(
        "default.src",
        current={("a", 0): 500, ("a", 1): 100},
        latest={("a", 0): 1000, ("a", 1): 100, ("a", 2): 5},
        committed={("a", 0): 400},
        commits_succeeded=3,
        commits_failed=1,
        records_without_row=10,
        max_timestamp=NOON - 20_000,
    )
    assert source.pending == {("a", 0): 500, ("a", 1): 0, ("a", 2): 0}  # partition 2 has not been read yet
    assert source.pending_records == 500


def test_offsets_as_text() -> None:
    texts = {
        **BATCH,
        "sources": [{k: json.dumps(v) if k.endswith("Offset") else v for k, v in s.items()} for s in BATCH["sources"]],
    }
    assert source_metrics(texts) == source_metrics(BATCH)


def test_other_sources_are_ignored() -> None:
    for end, latest in [("no JSON", "{"), ({"version": 1}, {"version": 9}), (None, None), ({"a": 1}, {"version": 1})]:
        assert source_metrics({"sources": [{"endOffset": end, "latestOffset": latest}]}) == []
    assert source_metrics({}) == []


def test_sources_of_real_time_mode() -> None:
    committed: Future[None] = Future()
    committed.set_result(None)
    committer = OffsetCommitter(lambda offsets: committed)
    committer.commit({("a", 0): 2})
    committer.finish(1)
    sources = [SparkSource("default.src", committer)]
    report = {"id": "q", "sources": [{"endOffset": '{"a": {"0": 2, "1": 1}}', "latestOffset": {"a": {"0": 5, "1": 0}}}]}
    assert source_metrics(report) == []
    add_sources("q", sources)
    (source,) = source_metrics(report)
    assert source == SourceMetrics(
        "default.src", {("a", 0): 2, ("a", 1): 1}, {("a", 0): 5, ("a", 1): 0}, {("a", 0): 2}, 1, 0
    )
    assert source.pending_records == 3
    remove_sources("q", [])  # of an earlier run
    assert source_metrics(report)
    remove_sources("q", sources)
    assert source_metrics(report) == []


def test_offsets_without_a_row() -> None:
    """Idle queries report a batch without rows repeatedly."""
    (kafka, rate) = BATCH["sources"]
    no_rows = {**BATCH, "batchId": 8, "numInputRows": 0, "sources": [{**kafka, "numInputRows": 0}, rate]}
    assert job_metrics([BATCH, no_rows, no_rows]).records_without_row == 10 + 600
    more_rows_than_offsets = {**BATCH, "batchId": 9, "sources": [{**kafka, "numInputRows": 700}, rate]}  # a changelog
    assert job_metrics([BATCH, more_rows_than_offsets]).records_without_row == 10
    first_batch = {**BATCH, "sources": [{**kafka, "startOffset": None}, rate]}
    assert job_metrics([first_batch]).records_without_row == 0


def test_a_progress_without_row_counts() -> None:
    source = {k: v for k, v in BATCH["sources"][0].items() if k != "numInputRows"}
    assert source_metrics({"sources": [source]})[0].records_without_row == 600


def test_a_batch_and_an_idle_query() -> None:
    job = job_metrics([BATCH])
    assert (job.name, job.num_records_in, job.records_per_second) == ("copy", 600, 300.0)
    assert job.event_time_lag == 31_500  # the batch ended two seconds after noon
    assert job.watermark_lag(NOON) == 60_000
    assert job.idle_time(NOON + 5000) == 3000
    assert (job.num_bytes_in, job.bytes_per_second) == (None, None)
    job.add_progress(IDLE)
    assert (job.num_records_in, job.records_per_second, job.event_time_lag) == (600, 0.0, 31_500)
    assert job.idle_time(NOON + 10_000) == 8000
    job.add_progress({**BATCH, "timestamp": "2026-01-01T12:01:00.000Z"}, bytes_in=12_000)
    assert (job.num_records_in, job.bytes_per_second) == (1200, 6000.0)
    assert job.num_bytes_in == 24_000  # 12,000 of the measured batch, extrapolated to the other one
    assert job_metrics([BATCH], {7: 12_000}).num_bytes_in == 12_000


def test_event_time_lag_by_kafkas_timestamps_without_a_watermark() -> None:
    job = job_metrics([{**BATCH, "eventTime": {}}])
    assert (job.event_time_lag, job.watermark_lag(NOON)) == (22_000, None)
    job.add_progress({**IDLE, "eventTime": {}})
    assert job.event_time_lag == 22_000
    kafka, rate = BATCH["sources"]
    no_timestamp = {k: v for k, v in kafka["latestOffset"].items() if k != "maxTimestamp"}
    job.add_progress({**BATCH, "eventTime": {}, "sources": [{**kafka, "latestOffset": no_timestamp}, rate]})
    assert job.event_time_lag is None  # the batch did not read any partition to its end
    initial_watermark = {"watermark": "1970-01-01T00:00:00.000Z"}
    assert job_metrics([{**BATCH, "eventTime": initial_watermark}]).watermark_lag(NOON) is None


def test_state() -> None:
    rocksdb = {"numRowsTotal": 5, "memoryUsedBytes": 100, "customMetrics": {"rocksdbSstFileSize": 40}}
    job = job_metrics([{**BATCH, "stateOperators": [rocksdb, {"numRowsTotal": 2, "memoryUsedBytes": 7}]}])
    assert (job.state_rows, job.state_bytes) == (7, 147)
    assert job_metrics([BATCH]).state_rows is None


def test_late_records() -> None:
    size = {"numRowsTotal": 0, "memoryUsedBytes": 0}
    operators = [{**size, "numRowsDroppedByWatermark": 3}, {**size, "numRowsDroppedByWatermark": 4}, size]
    assert job_metrics([{**BATCH, "stateOperators": operators}, BATCH, IDLE]).late_records_dropped == 7
    assert job_metrics([BATCH]).late_records_dropped == 0
