"""SQL files as tests: statements, each followed by what it gives.

A statement ends with ``;`` at the end of a line. Below it stand its rows, a line each: ``--> a | b``. A statement that
gives rows must be followed by them; ``--> (no rows)`` says that there are none. ``--! words`` stands below a statement
that fails: the error holds these words. Topics of the file get names of their own, ``localhost:9092`` becomes the run's
broker, and ``${kafka}`` the options that most tables share.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from kafka_sql.errors import KafkaSqlError
from kafka_sql.sql.jobs.job_registry import session_jobs
from tests.topics import Topics

NONE = "(no rows)"
REGISTRY = "http://localhost:8081"  # as files name the schema registry
_KAFKA = """'connector' = 'kafka', 'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset'"""
_ENDS = re.compile(r"(?<=;)[ \t]*\n(?![ \t]*(?:INSERT[^;]*;\s*)*END;)")  # the INSERTs of a set stay together
_TOPIC = re.compile(r"'topic' = '([^']*)'")
_PATTERN = re.compile(r"'topic-pattern' = '([^']*)'")
_CHOSEN = re.compile(r"'scan.partitions' = '([^']*)'")
_OF_TOPIC = re.compile(r"\btopic:[\w.-]+")
_PARTITIONS = re.compile(r"^-- topic (\S+): (\d+) partitions$", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A statement and what it gives."""

    statement: str
    rows: list[str]
    error: str | None


def steps(text: str) -> list[Step]:
    """The statements of a file, in order."""
    found: list[Step] = []
    for part in _ENDS.split(text + "\n"):
        lines = part.splitlines()
        expected = [line for line in lines if line.startswith(("-->", "--!"))]
        rows = [line.removeprefix("-->").strip() for line in expected if line.startswith("-->")]
        errors = [line.removeprefix("--!").strip() for line in expected if line.startswith("--!")]
        if expected:
            found[-1] = Step(found[-1].statement, rows, errors[0] if errors else None)
        rest = "\n".join(line for line in lines if line not in expected).strip()
        if rest.endswith(";"):
            found.append(Step(rest.removesuffix(";"), [], None))
        else:
            assert all(not line or line.startswith("--") for line in rest.splitlines()), f"no ';' after: {rest}"
    return found


def run(path: Path, sql: Callable[[str], DataFrame], topics: Topics, folder: Path, registry: str = REGISTRY) -> int:
    """Carry out a file; how many statements it has. ``/checkpoints`` stands for ``folder``."""
    text = path.read_text(encoding="utf-8")
    text = text.replace("${kafka}", _KAFKA).replace("localhost:9092", topics.bootstrap)
    text = text.replace(REGISTRY, registry)
    text = text.replace("'/checkpoints", f"'{folder}")
    text = _own_topics(text, topics)
    found = steps(text)
    spark = SparkSession.getActiveSession()
    assert spark is not None
    for step in found:
        if step.error is not None:
            with pytest.raises((KafkaSqlError, PySparkException)) as e:  # a SELECT's error comes wrapped
                _rows(sql(step.statement))
            assert step.error in str(e.value), f"{step.statement}\nfails with {e.value}"
            continue
        frame = sql(step.statement)
        if frame.columns == ["job id"]:
            assert not step.rows, f"a job's id is no row to expect: {step.statement}"
            for (job,) in frame.collect():
                known = next(
                    j for j in reversed(session_jobs(spark)) if j.id == job
                )  # Spark forgets those that have ended
                known.query.processAllAvailable()
                assert known.failure is None
        elif not step.statement.startswith(("SET ", "USE ")) or step.rows:
            rows = _rows(frame)
            assert rows == (step.rows if step.rows != [NONE] else []), f"{step.statement}\ngives {rows}"
    return len(found)


def _own_topics(text: str, topics: Topics) -> str:
    """The text with topics that are nobody else's; they are made."""
    partitions = {name: int(count) for name, count in _PARTITIONS.findall(text)}
    names = {name for value in _TOPIC.findall(text) for name in value.split(";")}
    ending = f"-{uuid.uuid4().hex[:8]}"
    settings = {"retention.ms": "-1"}
    new = [NewTopic(name + ending, partitions.get(name, 1), 1, config=settings) for name in names]
    for done in topics.admin.create_topics(new).values() if new else ():
        done.result(30)
    text = _PATTERN.sub(lambda m: f"'topic-pattern' = '(?:{m[1]}){ending}'", text)
    text = _CHOSEN.sub(lambda m: f"'scan.partitions' = '{m[1].replace(':', ending + ':')}'", text)
    text = _OF_TOPIC.sub(lambda m: f"{m[0]}{ending}", text)
    return _TOPIC.sub(lambda m: f"'topic' = '{';'.join(name + ending for name in m[1].split(';'))}'", text)


def _rows(frame: DataFrame) -> list[str]:
    return [" | ".join(map(show, row)) for row in frame.collect()] if frame.columns else []


def show(value: Any) -> str:
    """A value as the files write it: as Spark's shell does, bytes in hexadecimal."""
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
            return "{" + ", ".join(f"{k}: {show(v)}" for k, v in value.asDict().items()) + "}"
        case dict():
            return "{" + ", ".join(f"{show(k)}: {show(v)}" for k, v in sorted(value.items())) + "}"
        case list():
            return "[" + ", ".join(map(show, value)) + "]"
        case _:
            return str(value)
