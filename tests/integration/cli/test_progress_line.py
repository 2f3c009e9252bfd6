"""The line that tells the progress, where the program and its work take turns in the worst way."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.cli import classic, screen
from kafka_sql.cli.engine import Lines
from kafka_sql.cli.runner import Runner

pytestmark = pytest.mark.integration


class Terminal(io.StringIO):
    """What is printed to it, and when the row was."""

    def __init__(self) -> None:
        super().__init__()
        self.row = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if "a row" in text:
            self.row.set()
        return super().write(text)


def test_no_progress_is_told_below_rows(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the first rows come while Spark is asked how many tasks are done."""
    terminal, asked, told = Terminal(), threading.Event(), threading.Event()
    lines, status = classic.lines, screen.Screen.status

    def until_rows_are_printed(*_: Any) -> tuple[int, int]:
        asked.set()
        assert terminal.row.wait(60)
        return 1, 2

    def between_question_and_answer(frame: DataFrame) -> Iterator[Lines]:
        assert asked.wait(60)
        yield from lines(frame)
        assert told.wait(60)

    def tell(*given: Any) -> None:
        status(*given)
        told.set()

    monkeypatch.setattr(classic, "tasks", until_rows_are_printed)
    monkeypatch.setattr(classic, "lines", between_question_and_answer)
    monkeypatch.setattr(screen.Screen, "status", tell)
    monkeypatch.setattr(screen, "_PATIENCE", 0)
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    Runner(spark, screen.Screen()).run("SELECT 'a row'")
    assert terminal.getvalue().startswith("a row\nTime taken: ")
