"""The progress line, with the worst interleaving of the main thread and the statement's thread."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from kafka_sql.cli import screen
from kafka_sql.cli.engine import Classic
from kafka_sql.cli.runner import Runner
from kafka_sql.cli.screen import Rows

pytestmark = pytest.mark.integration


class Terminal(io.StringIO):
    """Records what is printed; the event is set when the row is printed."""

    def __init__(self) -> None:
        super().__init__()
        self.row = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if "a row" in text:
            self.row.set()
        return super().write(text)


def test_no_progress_is_shown_below_rows(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first rows arrive while the main thread asks Spark for the number of completed tasks."""
    terminal, tasks_requested, status_called = Terminal(), threading.Event(), threading.Event()
    collect_rows, status = Classic.collect_rows, screen.Screen.status

    def tasks_after_rows_are_printed(*_: Any) -> tuple[int, int]:
        tasks_requested.set()
        assert terminal.row.wait(60)
        return 1, 2

    def rows_during_tasks(engine: Classic, frame: DataFrame) -> Iterator[Rows]:
        assert tasks_requested.wait(60)
        yield from collect_rows(engine, frame)
        assert status_called.wait(60)

    def record_status(*arguments: Any) -> None:
        status(*arguments)
        status_called.set()

    monkeypatch.setattr(Classic, "count_tasks", tasks_after_rows_are_printed)
    monkeypatch.setattr(Classic, "collect_rows", rows_during_tasks)
    monkeypatch.setattr(screen.Screen, "status", record_status)
    monkeypatch.setattr(screen, "_PROGRESS_AFTER", 0)
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    Runner(spark, screen.Screen()).run("SELECT 'a row'")
    assert terminal.getvalue().startswith("a row\nTime taken: ")
