"""``kafka_sql.install()``, in a separate process because it changes the class of all sessions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.topics import Topics

pytestmark = pytest.mark.integration

CODE = """
import sys
import kafka_sql
from pyspark.sql import SparkSession

older = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
kafka_sql.install()
installed = SparkSession.sql
kafka_sql.install()
assert SparkSession.sql is installed
older.sql("CREATE TABLE t (a INT) " + sys.argv[1])
older.sql("INSERT INTO t VALUES (1)")
later = older.newSession()
print(later.sql("SELECT a FROM t WHERE a = :a", {"a": 1}).collect())
print(kafka_sql.enable(later) is later, later.sql("SHOW CREATE TABLE t").first()[0].splitlines()[0])
"""


@pytest.mark.long
def test_every_session_executes_flinks_statements(topics: Topics, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, topics.with_options(topics.create())],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[Row(a=1)]", "True CREATE TABLE `default`.`t` ("]
