"""Recordings of a terminal, as asciinema plays them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT
from tools.record import HEIGHT, WIDTH, main, record

PYTHON = [sys.executable, "-c"]


def test_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = "import os, sys; print('größe', os.get_terminal_size().columns, sys.stdout.isatty())"
    main([str(tmp_path / "x.cast"), *PYTHON, program])
    header, *events = map(json.loads, (tmp_path / "x.cast").read_text(encoding="utf-8").splitlines())
    assert (header["version"], header["width"], header["height"]) == (2, WIDTH, HEIGHT)
    assert "".join(text for _, _, text in events) == f"größe {WIDTH} True\r\n"
    times = [at for at, _, _ in events]
    assert times == sorted(times)
    assert {kind for _, kind, _ in events} == {"o"}
    assert "größe" in capsys.readouterr().out


def test_a_command_that_fails_is_no_recording() -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        list(record([*PYTHON, "raise SystemExit(3)"], "x"))


def test_the_demos_recording_is_whole() -> None:
    header, *events = map(json.loads, (ROOT / "docs/demo.cast").read_text(encoding="utf-8").splitlines())
    assert header["version"] == 2
    shown = "".join(text for _, _, text in events)
    assert "All figures are what the input implies" in shown
    assert "CREATE TABLE orders" in shown
    assert str(ROOT) not in shown
    assert "WARN" not in shown
