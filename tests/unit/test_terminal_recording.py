"""Recordings of a terminal in the format of asciinema."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT
from tools.record import HEIGHT, WIDTH, main, record

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


def test_the_recording_of_the_demo_is_complete() -> None:
    header, *events = map(json.loads, (ROOT / "docs/demo.cast").read_text(encoding="utf-8").splitlines())
    assert header["version"] == 2
    output = "".join(text for _, _, text in events)
    assert "All results are as expected" in output
    assert "CREATE TABLE orders" in output
    assert str(ROOT) not in output
    assert "WARN" not in output
