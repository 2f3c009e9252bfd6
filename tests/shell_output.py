"""Run statements in the shell as ``spark.sql`` runs them, and compare what it prints with the rows."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from kafka_sql.cli.runner import Runner
from kafka_sql.cli.screen import Screen

_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|(.))", re.DOTALL)
_BYTES = {0xDC00 + byte: byte for byte in range(0x80, 0x100)}  # read_line returns a byte as a character
_NAMES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"}
_QUERY = re.compile(r"\s*(?:SELECT|WITH|VALUES|TABLE)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Result:
    """The rows of a statement that ran in the shell."""

    columns: list[str]
    rows: list[Row]

    def collect(self) -> list[Row]:
        """Return the rows."""
        return self.rows


def shell_sql(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Return a function like ``spark.sql`` that runs a statement in the shell.

    It asserts that the shell prints the rows of a query.
    """
    frames: list[DataFrame] = []
    sql, runner = spark.sql, Runner(spark, Screen(silent=True))

    def record(statement: str) -> DataFrame:
        frames.append(sql(statement))
        return frames[-1]

    def run(statement: str) -> Any:
        is_query = _QUERY.match(statement) is not None
        if is_query and spark.conf.get("execution.runtime-mode", "batch") == "streaming":
            return sql(statement)  # the shell would print its rows until it is stopped
        frames.clear()
        with monkeypatch.context() as patch, redirect_stdout(io.StringIO()) as output:
            patch.setattr(spark, "sql", record)
            runner.run(statement)
        (frame,) = frames
        rows = frame.collect() if frame.columns else []
        if is_query:
            lines = output.getvalue().splitlines()
            expected = [[None if value is None else shell_text(value) for value in row] for row in rows]
            printed = [read_line(line) for line in lines]
            assert sorted(printed, key=str) == sorted(expected, key=str), f"{statement}\nprinted {printed}"
        return Result(frame.columns, rows)

    return run


def read_line(line: str) -> list[str | None]:
    """Return the values of a line of the shell."""

    def unescape(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        return chr(int(code, 16)) if code else _NAMES.get(match[3], match[3])

    return [None if value == "NULL" else _ESCAPE.sub(unescape, value) for value in line.split("\t")]


def shell_text(value: Any, nested: bool = False) -> str:
    """Return the text that spark-sql prints for a value of ``DataFrame.collect()``."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case bytes() | bytearray():
            return (
                value.decode("utf-8", "replace")
                if nested
                else value.decode("utf-8", "surrogateescape").translate(_BYTES)
            )
        case datetime():
            text = value.isoformat(" ")
            return text.rstrip("0") if value.microsecond else text
        case float():
            return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(str(value), str(value))
        case Decimal():
            return format(value, "f")
        case str():
            return f'"{value}"' if nested else value
        case Row():
            return "{" + ",".join(f'"{k}":{shell_text(v, True)}' for k, v in value.asDict().items()) + "}"
        case dict():
            return (
                "{" + ",".join(sorted(f"{shell_text(k, True)}:{shell_text(v, True)}" for k, v in value.items())) + "}"
            )
        case list():
            return "[" + ",".join(shell_text(v, True) for v in value) + "]"
        case _:
            return str(value)
