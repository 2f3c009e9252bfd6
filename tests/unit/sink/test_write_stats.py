"""Write statistics of a batch are summed up and passed to the observing process."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.observability.metrics import JobMetrics
from kafka_sql.sink.spark_writers import TaskCommitMessage
from kafka_sql.sink.write_stats import Report, WriteStats, last_report, remove_report, report_batch, total_stats
from kafka_sql.table.table import Column, Table


@pytest.fixture(autouse=True)
def report_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def table(**overrides: str) -> Definition:
    options = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1", "format": "json"}
    return validate_table(Table(("t",), (Column("a", "INT", "INT"),), {**options, **overrides}))


@dataclass
class FakePreparedTransaction:
    """Has the attributes of an exactly-once commit message."""

    stats: WriteStats | None
    transaction: str | None
    query: str = "q"
    batch: int = 7


def test_stats_are_summed_and_the_send_time_is_the_longest() -> None:
    assert total_stats([WriteStats(1, 20, 0, 3.5), WriteStats(10, 200, 2, 1.0)]) == WriteStats(11, 220, 2, 3.5)
    assert total_stats([]) == WriteStats()


def test_clients_are_listed() -> None:
    stats = [
        WriteStats(1, client="librdkafka"),
        WriteStats(2, client="direct"),
        WriteStats(),
        WriteStats(client="direct"),
    ]
    assert total_stats(stats) == WriteStats(3, client="direct, librdkafka")
    assert total_stats([total_stats(stats), total_stats(stats)]).client == "direct, librdkafka"


def test_last_report_accumulates_the_batches_of_a_query() -> None:
    assert last_report("q") is None
    report_batch(table(), [TaskCommitMessage(WriteStats(1, 10, 0, 1.0, "direct"), "q", 6)])
    report_batch(
        table(),
        [
            TaskCommitMessage(WriteStats(2, 20, 1, 5.0, "direct"), "q", 7),
            None,
            TaskCommitMessage(WriteStats(3, 30, 0, 4.0, "direct"), "q", 7),
        ],
    )
    assert last_report("q") == Report(7, "t", WriteStats(6, 60, 1, 5.0, "direct"), 0, {"direct": 6})
    report_batch(table(), [TaskCommitMessage(WriteStats(0, 0, 0, 2.0), "q", 8)])
    assert last_report("q") == Report(8, "t", WriteStats(6, 60, 1, 2.0, "direct"), 0, {"direct": 6})
    assert last_report("other") is None
    remove_report("q")
    remove_report("q")
    assert last_report("q") is None


def test_a_folder_that_is_not_private_is_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Any user may create folders and links among the temporary files."""
    report = [TaskCommitMessage(WriteStats(1, 10, 0, 1.0, "direct"), "q", 6)]
    folder = tmp_path / f"kafka_sql-{os.getuid()}"
    (tmp_path / "target").mkdir(0o700)
    folder.symlink_to(tmp_path / "target")
    report_batch(table(), report)
    assert last_report("q") is None
    assert list((tmp_path / "target").iterdir()) == []
    folder.unlink()
    folder.mkdir()
    folder.chmod(0o777)
    report_batch(table(), report)
    assert list(folder.iterdir()) == []
    message = f"could not be stored: no private folder in {tmp_path}"
    assert [message in record.getMessage() for record in caplog.records] == [True, True]
    folder.chmod(0o700)
    report_batch(table(), report)
    assert last_report("q") is not None


def test_rows_are_counted_by_client() -> None:
    report_batch(table(), [TaskCommitMessage(WriteStats(1, client="direct"), "q", 6)])
    messages = [
        TaskCommitMessage(WriteStats(rows, client=client), "q", 7)
        for rows, client in ((2, "direct"), (4, "librdkafka"), (0, ""))
    ]
    report_batch(table(), messages)
    report = last_report("q")
    assert report is not None
    assert report.rows_by_client == {"direct": 3, "librdkafka": 4}
    job = JobMetrics()
    job.add_sink_report(report)
    assert job.rows_out_by_client == {("t", "direct"): 3, ("t", "librdkafka"): 4}


def test_transactions_of_the_last_batch_are_counted() -> None:
    messages: list[Any] = [
        FakePreparedTransaction(WriteStats(1, client="direct"), "p-1"),
        FakePreparedTransaction(WriteStats(2, client="direct"), "p-2"),
        FakePreparedTransaction(None, None),
    ]
    report_batch(table(), messages)
    assert last_report("q") == Report(7, "t", WriteStats(3, client="direct"), 2, {"direct": 3})


def test_a_batch_statement_stores_no_report(tmp_path: Path) -> None:
    report_batch(table(), [TaskCommitMessage(WriteStats(1, 10, 0, 1.0))])
    report_batch(table(), [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", ["register.producer.metrics", "properties.register.producer.metrics"])
def test_no_report_if_disabled_by_the_table(key: str) -> None:
    report_batch(table(**{key: "false"}), [TaskCommitMessage(WriteStats(1, 10, 0, 1.0), "q", 0)])
    assert last_report("q") is None


def test_job_metrics_take_the_last_report() -> None:
    job = JobMetrics()
    job.add_sink_report(Report(0, "t", WriteStats(1, 10, 1, 2.0), 3))
    job.add_sink_report(Report(1, "t", WriteStats(3, 30, 1, 1.0), 4))
    assert (job.sink, job.num_records_out, job.num_bytes_out, job.num_send_errors) == ("t", 3, 30, 1)
    assert (job.send_time, job.transactions) == (1.0, 4)


@pytest.mark.parametrize("content", ["", "[]", '{"batch": 1, "table": "t", "figures": {"rows": 1}}'])
def test_a_report_of_another_version_is_ignored(tmp_path: Path, content: str) -> None:
    report_batch(table(), [TaskCommitMessage(WriteStats(1, 10, 0, 1.0), "q", 6)])
    (file,) = tmp_path.rglob("metrics-q.json")
    file.write_text(content)
    assert last_report("q") is None
