"""Recordings of a terminal in the format of asciinema."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT
from tools.record import HEIGHT, WIDTH, SparkMessageFilter, main, record

PYTHON = [sys.executable, "-c"]


def test_record_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = "import os, sys; print('größe', os.get_terminal_size().columns, sys.stdout.isatty())"
    main([str(tmp_path / "x.cast"), *PYTHON, program])
    header, *events = map(json.loads, (tmp_path / "x.cast").read_text(encoding="utf-8").splitlines())
    assert (header["version"], header["width"], header["height"]) == (2, WIDTH, HEIGHT)
    assert "".join(text for _, _, text in events) == f"größe {WIDTH} True\r\n"
    times = [time for time, _, _ in events]
    assert times == sorted(times)
    assert {event_type for _, event_type, _ in events} == {"o"}
    assert "größe" in capsys.readouterr().out


def test_a_failed_command_is_not_recorded() -> None:
    with pytest.raises(RuntimeError, match="exited with 3"):
        list(record([*PYTHON, "raise SystemExit(3)"], "x"))


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_spark_messages_are_removed_if_they_are_split_between_reads(size: int) -> None:
    text = (
        "one\r\n"
        "26/11/23 12:00:00 WARN Utils: Your hostname resolves to a loopback address\r\n"
        "WARNING: Using incubator modules: jdk.incubator.vector\r\n"
        "two: 26/11/23 12:00:00 WARN\r\nthree? "
    )
    messages = SparkMessageFilter()
    output = "".join(messages.feed(text[i : i + size]) for i in range(0, len(text), size))
    assert output + messages.flush() == "one\r\ntwo: 26/11/23 12:00:00 WARN\r\nthree? "


def test_the_rest_of_a_line_is_not_a_spark_message() -> None:
    messages = SparkMessageFilter()
    assert messages.feed("> ") == ""
    assert messages.flush() == "> "
    assert messages.feed("Using Spark's default\nUsing Spark's default\n") == "Using Spark's default\n"
    assert messages.feed("Using Spark's default") == ""
    assert messages.flush() == ""


def test_a_prompt_is_recorded_before_its_line_is_complete() -> None:
    program = "import time; print('name? ', end='', flush=True); time.sleep(1); print('x')"
    _, *events = map(json.loads, record([*PYTHON, program], "x"))
    assert [text for _, _, text in events] == ["name? ", "x\r\n"]
    assert events[1][0] - events[0][0] > 0.5


def test_the_recording_of_the_demo_is_complete() -> None:
    header, *events = map(json.loads, (ROOT / "docs/demo.cast").read_text(encoding="utf-8").splitlines())
    assert header["version"] == 2
    output = "".join(text for _, _, text in events)
    assert "All results are as expected" in output
    assert "CREATE TABLE orders" in output
    assert str(ROOT) not in output
    assert "WARN" not in output
