"""``format("kafka_sql")``: options and schema instead of DDL."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.topics import Topics

pytestmark = pytest.mark.integration


def options(topics: Topics, topic: str) -> dict[str, str]:
    return {
        "topic": topic,
        "properties.bootstrap.servers": topics.bootstrap,
        "scan.startup.mode": "earliest-offset",
        "format": "json",
    }


def test_write_and_read(spark: Any, topics: Topics) -> None:
    topic = topics.create()
    frame = spark.sql("SELECT 1 AS a, 'x' AS b")
    frame.write.format("kafka_sql").options(**options(topics, topic)).mode("append").save()
    read = spark.read.format("kafka_sql").options(**options(topics, topic)).schema("a INT, b STRING")
    assert read.load().collect() == [(1, "x")]


@pytest.mark.long
def test_stream_to_stream(spark: Any, topics: Topics, tmp_path: Path) -> None:
    source, target = topics.create(), topics.create()
    topics.produce(source, b'{"a": 1}')
    frame = spark.readStream.format("kafka_sql").options(**options(topics, source)).schema("a INT").load()
    writer = frame.writeStream.format("kafka_sql").options(**options(topics, target))
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    query.processAllAvailable()
    query.stop()
    assert [m.value() for m in topics.consume(target, 1)] == [b'{"a":1}']


def test_a_missing_schema_is_an_error_with_an_example(spark: Any, topics: Topics) -> None:
    with pytest.raises(Exception, match=r"needs a schema\. Add, for example, \.schema"):
        spark.read.format("kafka_sql").options(**options(topics, "x")).load()


def test_unknown_option(spark: Any, topics: Topics) -> None:
    read = spark.read.format("kafka_sql").options(**options(topics, "x"), fromat="json").schema("a INT").load()
    with pytest.raises(Exception, match=r"'fromat'.*did you mean 'format'"):
        read.collect()


PROGRAM = """
import json
import sys
import kafka_sql
from pyspark.sql import SparkSession

options = json.loads(sys.argv[1])
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
reader = spark.read.format("kafka_sql").options(**options).schema("a BIGINT")
try:
    reader.load()
except Exception as e:  # as docs/troubleshooting.md quotes it
    assert "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: kafka_sql." in str(e), e
else:
    raise AssertionError("python3 has kafka_sql")
kafka_sql.enable(spark)
spark.range(3).toDF("a").write.format("kafka_sql").options(**options).mode("append").save()
print(sorted(row.a for row in reader.load().collect()))
"""


@pytest.mark.long
def test_a_program_whose_environment_is_not_activated(topics: Topics, tmp_path: Path) -> None:
    python3 = tmp_path / "python3"  # without site-packages, and so without kafka_sql
    python3.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n', encoding="utf-8")
    python3.chmod(0o755)
    java = str(Path(shutil.which("java") or "/usr/bin/java").parent)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PY") and k != "VIRTUAL_ENV"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(options(topics, topics.create()))],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        cwd=tmp_path,
        env={**environment, "PATH": f"{tmp_path}:{java}:/usr/bin:/bin"},
    )
    assert (done.returncode, done.stdout) == (0, "[0, 1, 2]\n"), done.stderr[-5000:]
