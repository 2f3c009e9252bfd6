"""Flink's statements in a Spark Connect session, in a separate process: a process has one type of session."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]  # starts a server

PROGRAM = """
import sys
import kafka_sql
from kafka_sql.errors import UnknownOptionError
from pyspark.sql import SparkSession

folder, options, sink = sys.argv[1:]
spark = SparkSession.builder.remote("local[2]").getOrCreate()
assert "connect" in type(spark).__module__
assert kafka_sql.enable(spark) is spark
columns = "a INT, b AS a + 1, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'"
columns += ", WATERMARK FOR ts AS ts - INTERVAL '5' SECOND"
assert spark.sql(f"CREATE TABLE orders ({columns}) {options}").collect() == []
spark.sql("INSERT INTO orders (a) VALUES (1), (2)")
assert [tuple(r) for r in spark.sql("SELECT a, b FROM orders WHERE a = :x", {"x": 1}).collect()] == [(1, 2)]
assert [tuple(r) for r in spark.sql("SELECT sum({t}.b) FROM {t}", t=spark.table("orders")).collect()] == [(5,)]
assert [r.name for r in spark.sql("DESCRIBE orders").collect()] == ["a", "b", "ts"]
assert [r.tableName for r in spark.sql("SHOW TABLES").collect()] == ["orders"]
assert spark.sql("SHOW CREATE TABLE orders").first()[0].startswith("CREATE TABLE `default`.`orders` (")
try:
    spark.sql("CREATE TABLE x (a INT) " + options.replace("'topic'", "'topics'"))
except UnknownOptionError as e:
    assert "'topics' (did you mean 'topic'?)" in str(e)
else:
    raise AssertionError
assert spark.readStream.table("orders").isStreaming

spark.sql(f"CREATE TABLE sink (a INT, b INT) {sink}")
spark.sql("SET 'execution.runtime-mode' = 'streaming'")
spark.sql(f"SET 'execution.checkpointing.dir' = '{folder}'")
job = spark.sql("INSERT INTO sink SELECT a, b FROM orders").first()[0]
query = spark.streams.get(job)
query.processAllAvailable()
query.stop()
spark.sql("SET 'execution.runtime-mode' = 'batch'")
assert sorted(map(tuple, spark.sql("SELECT * FROM sink").collect())) == [(1, 2), (2, 3)]
spark.sql("DROP TABLE orders")
assert [r.tableName for r in spark.sql("SHOW TABLES").collect()] == ["sink"]

other = kafka_sql.enable(spark.newSession())
other.sql(f"CREATE TABLE theirs (a INT) {options}")
assert other.sql("SELECT count(*) FROM theirs").first()[0] == 2
print("passed")
"""


def test_statements_over_connect(topics: Topics, tmp_path: Path) -> None:
    options = [topics.with_options(topics.create()) for _ in range(2)]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "checkpoints"), *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=580,
        cwd=tmp_path,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["passed"]), done.stderr[-5000:]
