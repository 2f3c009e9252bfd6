"""What a batch has written, told from one process to another."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.observability.metrics import JobMetrics
from kafka_sql.sink.batch_reports import Report, forget, last_report, report
from kafka_sql.sink.spark_writers import Written
from kafka_sql.sink.write_stats import Figures, total
from kafka_sql.table.declaration import Column, Table


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def table(**more: str) -> Definition:
    options = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1", "format": "json"}
    return validate_table(Table(("t",), (Column("a", "INT", "INT"),), {**options, **more}))


@dataclass
class Prepared:
    """As exactly-once has it."""

    figures: Figures | None
    transaction: str | None
    query: str = "q"
    batch: int = 7


def test_figures_are_summed_and_the_send_time_is_the_longest() -> None:
    assert total([Figures(1, 20, 0, 3.5), Figures(10, 200, 2, 1.0)]) == Figures(11, 220, 2, 3.5)
    assert total([]) == Figures()


def test_the_last_batch_of_a_query() -> None:
    assert last_report("q") is None
    report(table(), [Written(Figures(1, 10, 0, 1.0), "q", 6)])
    report(table(), [Written(Figures(2, 20, 1, 5.0), "q", 7), None, Written(Figures(3, 30, 0, 4.0), "q", 7)])
    assert last_report("q") == Report(7, "t", Figures(6, 60, 1, 5.0), 0)
    report(table(), [Written(Figures(0, 0, 0, 2.0), "q", 8)])
    assert last_report("q") == Report(8, "t", Figures(6, 60, 1, 2.0), 0)
    assert last_report("other") is None
    forget("q")
    forget("q")
    assert last_report("q") is None


def test_transactions_are_counted() -> None:
    messages: list[Any] = [Prepared(Figures(1), "p-1"), Prepared(Figures(2), "p-2"), Prepared(None, None)]
    report(table(), messages)
    assert last_report("q") == Report(7, "t", Figures(3), 2)


def test_a_statement_that_is_no_query_leaves_nothing(tmp_path: Path) -> None:
    report(table(), [Written(Figures(1, 10, 0, 1.0))])
    report(table(), [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", ["register.producer.metrics", "properties.register.producer.metrics"])
def test_nothing_is_told_where_the_table_says_so(key: str) -> None:
    report(table(**{key: "false"}), [Written(Figures(1, 10, 0, 1.0), "q", 0)])
    assert last_report("q") is None


def test_a_job_has_the_last_report() -> None:
    job = JobMetrics()
    job.take_sink(Report(0, "t", Figures(1, 10, 1, 2.0), 3))
    job.take_sink(Report(1, "t", Figures(3, 30, 1, 1.0), 4))
    assert (job.sink, job.num_records_out, job.num_bytes_out, job.num_send_errors) == ("t", 3, 30, 1)
    assert (job.send_time, job.transactions) == (1.0, 4)
