"""The job file of docs/targets.md, run again by ``kafka-sql -f`` after it was killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.topics import Topics
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[4]
COMMAND = [sys.executable, "-m", "kafka_sql.cli", "--master", "local[2]", "--conf", "spark.ui.enabled=false"]


@pytest.mark.long  # starts two Spark applications; test_spark_targets.py has the same statements in one session
def test_the_job_file_runs_again_after_a_kill(spark: Any, topics: Topics, tmp_path: Path) -> None:
    topic, lake = topics.create(2), tmp_path / "data" / "lake"
    page = (ROOT / "docs" / "targets.md").read_text()
    (first,) = re.findall(r"^<!-- first: (CREATE TABLE orders .*?) -->$", page, re.MULTILINE)[:1]
    (job,) = re.findall(r"^```sql\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[:1]
    text = f"{first}\n{job}".replace("localhost:9092", topics.bootstrap).replace("'/data/", f"'{tmp_path}/data/")
    (tmp_path / "job.sql").write_text(text.replace("'topic' = 'orders'", f"'topic' = '{topic}'"))
    values = [b'{"order_id": %d, "country": "%s", "price": 1.5}' % (n, b"DE" if n % 3 else b"FR") for n in range(150)]
    for end in (50, 100, 150):
        topics.produce(topic, *values[end - 50 : end], partition=end // 50 % 2)
        with running(tmp_path):
            wait_until(lambda end=end: count(spark, lake) == end, "the rows are written")
    rows = spark.read.parquet(str(lake)).select("order_id", "country").collect()
    assert sorted(map(tuple, rows)) == [(n, "DE" if n % 3 else "FR") for n in range(150)]


def count(spark: Any, lake: Path) -> int:
    """Return the number of rows that readers of a table see."""
    return int(spark.read.parquet(str(lake)).count()) if any(lake.glob("_spark_metadata/[0-9]*")) else 0


@contextmanager
def running(folder: Path) -> Iterator[None]:
    """Run the job file, and kill its Python and Java processes at the end."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [*COMMAND, "-f", "job.sql"]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        yield
        assert process.poll() is None, (folder / "log").read_text()
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
