"""Run SQL files as tests: each statement is followed by its expected rows or error.

A statement ends with ``;`` at the end of a line. Its rows follow, one per line: ``--> a | b``. If a statement returns
rows, they (or ``--> (no rows)``) are required. A statement that fails is followed by ``--! text``, and the error must
contain the text. Topic names in the file are made unique, ``localhost:9092`` is replaced by the test broker, and
``${kafka}`` by the options that most tables share.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from kafka_sql.errors import KafkaSqlError
from kafka_sql.sql.jobs.registry import session_jobs
from tests.topics import Topics

NONE = "(no rows)"
REGISTRY = "http://localhost:8081"  # the schema registry in SQL files
_KAFKA = """'connector' = 'kafka', 'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset'"""
_STATEMENT_END = re.compile(r"(?<=;)[ \t]*\n(?![ \t]*(?:INSERT[^;]*;\s*)*END;)")  # a statement set is one statement
_TOPIC = re.compile(r"'(topic|stream-ids)' = '([^']*)'")
_PATTERN = re.compile(r"'(topic|stream)-pattern' = '([^']*)'")
_INSERT = re.compile(r"^INSERT", re.MULTILINE)
_SCAN_PARTITIONS = re.compile(r"'scan.partitions' = '([^']*)'")
_TOPIC_PREFIX = re.compile(r"\btopic:[\w.-]+")
_PARTITIONS = re.compile(r"^-- topic (\S+): (\d+) partitions$", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A statement with its expected rows or error."""

    statement: str
    rows: list[str]
    error: str | None


def parse_steps(text: str) -> list[Step]:
    """Parse the statements of a file, in order."""
    steps: list[Step] = []
    for part in _STATEMENT_END.split(text + "\n"):
        lines = part.splitlines()
        markers = [line for line in lines if line.startswith(("-->", "--!"))]
        rows = [line.removeprefix("-->").strip() for line in markers if line.startswith("-->")]
        errors = [line.removeprefix("--!").strip() for line in markers if line.startswith("--!")]
        if markers:
            steps[-1] = Step(steps[-1].statement, rows, errors[0] if errors else None)
        rest = "\n".join(line for line in lines if line not in markers).strip()
        if rest.endswith(";"):
            steps.append(Step(rest.removesuffix(";"), [], None))
        else:
            assert all(not line or line.startswith("--") for line in rest.splitlines()), f"no ';' after: {rest}"
    return steps


def run_script(
    path: Path,
    sql: Callable[[str], DataFrame],
    topics: Topics,
    folder: Path,
    registry: str = REGISTRY,
    restarts: bool = False,
) -> int:
    """Run a file and return the number of statements.

    Args:
        folder: replaces ``/checkpoints`` and the parent of ``/data``.
        registry: replaces the address of the schema registry.
        restarts: whether to run the file a second time without its INSERTs in batch mode, after the tables were
            dropped, as an in-memory catalog forgets them. Its queries must have the same rows.
    """
    text = path.read_text(encoding="utf-8")
    text = text.replace("${kafka}", _KAFKA).replace("localhost:9092", topics.bootstrap)
    text = text.replace(REGISTRY, registry)
    text = text.replace("'/checkpoints", f"'{folder}").replace("'/data", f"'{folder}/data")
    text = _create_unique_topics(text, topics)
    steps = parse_steps(text)
    spark = SparkSession.getActiveSession()
    assert spark is not None
    tables = {row.tableName for row in sql("SHOW TABLES").collect()}
    _run(spark, steps, sql)
    if restarts:
        _forget_tables(spark, tables)
        _run(spark, list(_without_batches(steps)), sql)
    return len(steps)


def _without_batches(steps: list[Step]) -> Iterator[Step]:
    """Yield the statements without INSERTs in batch mode, and without rows that are expected before the first job."""
    is_streaming, has_job = False, False
    for step in steps:
        if "'execution.runtime-mode' =" in step.statement:
            is_streaming = "'streaming'" in step.statement
        starts_job = is_streaming or "FROM STREAM" in step.statement
        if starts_job if _INSERT.search(step.statement) else has_job or not step.rows:
            yield step
        has_job |= starts_job and _INSERT.search(step.statement) is not None


def _forget_tables(spark: SparkSession, known: set[str]) -> None:
    """Stop all queries and drop the tables that are not known. This keeps the files of tables with a location."""
    for query in spark.streams.active:
        query.stop()
    spark.sql("SET 'execution.runtime-mode' = 'batch'")
    for row in spark.sql("SHOW TABLES").collect():
        if row.tableName not in known:
            spark.catalog.dropTempView(row.tableName)
            spark.sql(f"DROP TABLE IF EXISTS `{row.tableName}`")


def _run(spark: SparkSession, steps: list[Step], sql: Callable[[str], DataFrame]) -> None:
    for step in steps:
        if step.error is not None:
            with pytest.raises((KafkaSqlError, PySparkException)) as e:  # the error of a SELECT is wrapped by Spark
                _render_rows(sql(step.statement))
            assert step.error in str(e.value), f"{step.statement}\nfailed with {e.value}"
            continue
        dataframe = sql(step.statement)
        if dataframe.columns == ["job id"]:
            assert not step.rows, f"job ids cannot be expected rows: {step.statement}"
            for (job_id,) in dataframe.collect():
                # not from Spark, which forgets queries that have ended
                job = next(j for j in reversed(session_jobs(spark)) if j.id == job_id)
                job.query.processAllAvailable()
                assert job.failure is None
        elif not step.statement.startswith(("SET ", "USE ")) or step.rows:
            rows = _render_rows(dataframe)
            assert rows == (step.rows if step.rows != [NONE] else []), f"{step.statement}\nreturned {rows}"


def _create_unique_topics(text: str, topics: Topics) -> str:
    """Create topics with unique names; return the text with these names."""
    partitions = {name: int(count) for name, count in _PARTITIONS.findall(text)}
    names = {name for _, value in _TOPIC.findall(text) for name in value.split(";")}
    suffix = f"-{uuid.uuid4().hex[:8]}"
    settings = {"retention.ms": "-1"}
    new = [NewTopic(name + suffix, partitions.get(name, 1), 1, config=settings) for name in names]
    for future in topics.admin.create_topics(new).values() if new else ():
        future.result(30)
    text = _PATTERN.sub(lambda m: f"'{m[1]}-pattern' = '(?:{m[2]}){suffix}'", text)
    text = _SCAN_PARTITIONS.sub(lambda m: f"'scan.partitions' = '{m[1].replace(':', suffix + ':')}'", text)
    text = _TOPIC_PREFIX.sub(lambda m: f"{m[0]}{suffix}", text)
    return _TOPIC.sub(lambda m: f"'{m[1]}' = '{';'.join(name + suffix for name in m[2].split(';'))}'", text)


def _render_rows(dataframe: DataFrame) -> list[str]:
    return [" | ".join(map(render, row)) for row in dataframe.collect()] if dataframe.columns else []


def render(value: Any) -> str:
    """Return a value like Spark's shell, with bytes in hexadecimal."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case bytes() | bytearray():
            return "X'" + value.hex() + "'"
        case datetime():
            return value.isoformat(" ")
        case Row():
            return "{" + ", ".join(f"{k}: {render(v)}" for k, v in value.asDict().items()) + "}"
        case dict():
            return "{" + ", ".join(f"{render(k)}: {render(v)}" for k, v in sorted(value.items())) + "}"
        case list():
            return "[" + ", ".join(map(render, value)) + "]"
        case _:
            return str(value)
