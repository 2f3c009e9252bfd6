"""SHOW JOBS, STOP JOB, and a process that waits for its jobs."""

from __future__ import annotations

import os
import signal
import threading
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark import __version__ as spark_version

from kafka_sql.cli.running_jobs import wait_for_jobs
from kafka_sql.cli.screen import Screen
from kafka_sql.errors import JobNotFoundError, UnsupportedSqlError
from kafka_sql.sql.jobs import registry as jobs
from tests.topics import Topics

pytestmark = pytest.mark.integration


@pytest.fixture
def start(spark: Any, sql: Any, topics: Topics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that starts a job that copies a new topic, and returns its id and the topic."""
    monkeypatch.setitem(spark.__dict__, jobs._ATTRIBUTE, [])
    sql("SET 'execution.runtime-mode' = 'streaming'")
    sql(f"SET 'execution.checkpointing.dir' = '{tmp_path}'")

    def start(name: str) -> tuple[str, str]:
        source = topics.create()
        sql(f"CREATE TABLE s_{name} (a INT) {topics.with_options(source)}")
        sql(f"CREATE TABLE t_{name} (a INT) {topics.with_options(topics.create())}")
        sql(f"SET 'pipeline.name' = '{name}'")
        return sql(f"INSERT INTO t_{name} SELECT a FROM s_{name}").collect()[0][0], source

    return start


def shown(sql: Any) -> dict[str, str]:
    return {row["job name"]: row["status"] for row in sql("SHOW JOBS").collect()}


def test_each_job_with_its_end(spark: Any, sql: Any, start: Any, topics: Topics) -> None:
    failing, source = start("failing")
    stopped, _ = start("stopped")
    finished, _ = start("finished")
    failed = spark.streams.get(failing)
    first = sql("SHOW JOBS EXTENDED").collect()[0]
    assert (first["job id"], first["job name"], first["status"]) == (failing, "failing", "RUNNING")
    assert abs(datetime.now() - first["start time"]) < timedelta(minutes=5)
    short = sql("SHOW JOBS").collect()[1]
    assert short["id"] == stopped[:8]
    assert sql(f"STOP JOB '{short.id}'").collect() == []
    topics.produce(source, b"no JSON")
    with pytest.raises(Exception, match=r"no JSON|DECODE"):
        failed.awaitTermination(300)  # processAllAvailable raises the failure shortly before the query ends
    spark.streams.get(finished).stop()  # without STOP JOB
    assert shown(sql) == {"failing": "FAILED", "stopped": "CANCELED", "finished": "FINISHED"}
    errors = {row["job name"]: row["last error"] for row in sql("SHOW JOBS EXTENDED").collect()}
    assert errors["failing"].startswith(f"[DECODE] {source}[0]@0: ")
    assert (errors["stopped"], errors["finished"]) == (None, None)
    with pytest.raises(JobNotFoundError, match=f"Running job '{stopped}' not found in this session. It is CANCELED."):
        sql(f"STOP JOB '{stopped}'")


@pytest.mark.long
def test_show_jobs_fits_into_80_columns(
    spark: Any, sql: Any, start: Any, topics: Topics, capsys: pytest.CaptureFixture[str]
) -> None:
    id, source = start("a_job_with_a_long_name")
    topics.produce(source, b'{"a": 1}', b'{"a": 2}')
    spark.streams.get(id).processAllAvailable()
    sql("SHOW JOBS").show()
    _, header, _, row, *_ = lines = capsys.readouterr().out.splitlines()
    assert header.strip("|").replace(" ", "").split("|") == ["id", "jobname", "status", "age", "rows", "lag"]
    assert [cell.strip() for cell in row.split("|")[1:4]] == [id[:8], "a_job_with_a_long...", "RUNNING"]
    lag = "0" if spark_version >= "4.2" else "NULL"  # 4.1 does not query sources for metrics
    assert [cell.strip() for cell in row.split("|")[5:7]] == ["2", lag]
    assert max(map(len, lines)) <= 80


def test_a_query_of_the_dataframe_api_is_a_job_too(spark: Any, sql: Any, start: Any) -> None:
    query = spark.readStream.format("rate").load().writeStream.format("noop").queryName("rate").start()
    assert shown(sql) == {"rate": "RUNNING"}
    sql(f"STOP JOB '{query.id}'")
    assert not query.isActive
    assert shown(sql) == {"rate": "CANCELED"}


@pytest.mark.parametrize("clause", ["WITH SAVEPOINT", "WITH DRAIN"])
def test_unsupported_clauses_of_stop_job(start: Any, sql: Any, clause: str) -> None:
    id, _ = start("running")
    with pytest.raises(UnsupportedSqlError, match=f"STOP JOB ... {clause} is not supported.* STOP JOB '{id}'"):
        sql(f"STOP JOB '{id}' {clause}")
    assert shown(sql) == {"running": "RUNNING"}


def test_the_process_ends_when_a_job_fails(
    spark: Any, sql: Any, start: Any, topics: Topics, capsys: pytest.CaptureFixture[str]
) -> None:
    failing, source = start("failing")
    start("other")
    topics.produce(source, b"no JSON")
    assert wait_for_jobs(spark, Screen()) == 1
    assert shown(sql) == {"failing": "FAILED", "other": "CANCELED"}
    *_, last = capsys.readouterr().err.splitlines()
    assert last.startswith(f"Job failing ({failing}) failed: [DECODE] {source}[0]@0")


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_a_signal_stops_the_jobs(spark: Any, sql: Any, start: Any, number: int) -> None:
    start("long")
    before = signal.getsignal(number)
    threading.Timer(3, os.kill, (os.getpid(), number)).start()
    assert wait_for_jobs(spark, Screen()) == 0
    assert shown(sql) == {"long": "CANCELED"}
    assert signal.getsignal(number) is before
