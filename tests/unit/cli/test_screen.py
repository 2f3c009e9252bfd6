"""Test that results are printed to standard output, and messages and the progress line to standard error."""

from __future__ import annotations

import os
import shutil
import sys
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafka_sql.cli.runner import Runner
from kafka_sql.cli.screen import Screen, progress_bar
from kafka_sql.sql.jobs.targets import builtin_sinks


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the captured standard error be a terminal of 11 columns."""
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda _: True)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((11, 5)))


def test_streams(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    screen.rows(["a", "b"])
    screen.rows([])
    screen.info("i")
    screen.error("e")
    screen.status("not on a terminal")
    screen.clear()
    assert capsys.readouterr() == ("a\nb\n", "i\ne\n")


def test_silent(capsys: pytest.CaptureFixture[str], terminal: None) -> None:
    screen = Screen(silent=True)
    screen.rows(["a"])
    screen.info("i")
    screen.error("e")
    screen.status("s")
    assert capsys.readouterr() == ("a\n", "e\n")


def test_the_progress_line_is_erased_once(capsys: pytest.CaptureFixture[str], terminal: None) -> None:
    screen = Screen()
    screen.status("1234567890abc")
    screen.rows(["a"])
    screen.error("e")
    screen.clear()
    assert capsys.readouterr().err == "\r\x1b[K1234567890\r\x1b[Ke\n"


def test_a_printed_row_erases_the_progress_line(
    capsys: pytest.CaptureFixture[str], terminal: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builtin_sinks, "line_printer", builtin_sinks.line_printer)  # restored after the test
    monkeypatch.setattr("kafka_sql.cli.runner.engine_for", lambda spark: None)
    screen, entry = Screen(), SimpleNamespace(table=SimpleNamespace(options={"connector": "print"}))
    Runner(cast(Any, None), screen)
    screen.status("s")
    builtin_sinks.print_rows(cast(Any, entry), [("+I", (1, "a")), ("-D", (2, None))])
    assert capsys.readouterr() == ("+I[1, a]\n-D[2, null]\n", "\r\x1b[Ks\r\x1b[K")


def test_an_obsolete_progress_line_is_not_drawn(capsys: pytest.CaptureFixture[str], terminal: None) -> None:
    screen = Screen()
    screen.status("s", lambda: False)
    screen.clear()
    assert capsys.readouterr().err == ""


def test_progress_bar() -> None:
    now = time.monotonic()
    assert progress_bar(1, 2, now) is None
    assert progress_bar(1, 2, now - 3) == "[============            ] 1/2 tasks, 3 s"
    assert progress_bar(0, 0, now - 3) == "3 s"
