"""Interoperability: Java's consumer reads transactions of this package, and a table reads transactions of Java."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.embedded.jars import kafka_jars
from kafka_sql.embedded.java import find_java
from tests.kills.simulated_query import KEYS, ROWS, SimulatedQuery, sink_table
from tests.topics import Topics
from tools.quick_java import FAST

pytestmark = pytest.mark.integration
SOURCE = Path(__file__).parents[2] / "java" / "Transactions.java"


def java(*arguments: str) -> list[str]:
    """Run the Java program and return its output lines."""
    program = find_java()
    jars = os.pathsep.join(map(str, kafka_jars(program)))
    command = [program, *FAST, "-cp", jars, str(SOURCE), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_java_reads_only_committed_rows(topics: Topics, tmp_path: Path) -> None:
    topic = topics.create(3)
    sink = sink_table(topics.bootstrap, topic, f"java-{uuid.uuid4().hex[:6]}")
    query = SimulatedQuery(sink, tmp_path, uuid.uuid4().hex, uuid.uuid4().hex)
    query.run_batch(tasks=3)
    query.run_batch(tasks=2)
    query.prepare_rows(2, 0, [(10_000, 0)])  # prepared, but never decided
    query.close()
    lines = [line.split("\t") for line in java("read", topics.bootstrap, topic, "3")]
    rows = [json.loads(value) for _, _, value in lines]
    assert sorted(row["a"] for row in rows) == list(range(2 * ROWS))
    assert [json.loads(key) for _, key, _ in lines] == [{"k": row["k"]} for row in rows]
    for k in range(KEYS):
        numbers = [row["a"] for row in rows if row["k"] == k]
        assert numbers == sorted(numbers)


def test_a_table_reads_what_java_has_committed(sql: Any, topics: Topics) -> None:
    topic = topics.create(2)
    java("write", topics.bootstrap, topic)
    for level, expected in [
        ("read_committed", [n for n in range(60) if n // 10 % 3 != 1]),
        ("read_uncommitted", list(range(70))),
    ]:
        options = topics.with_options(topic, **{"properties.isolation.level": level})
        sql(f"CREATE TABLE {level} (a INT) {options}")
        assert [row.a for row in sql(f"SELECT a FROM {level} ORDER BY a").collect()] == expected
