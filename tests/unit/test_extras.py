"""What needs a package that is not installed says which one to install."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.cli import shell
from kafka_sql.cli.screen import Screen
from kafka_sql.errors import UnsupportedOptionError
from kafka_sql.formats.protobuf.protoc import run_protoc
from kafka_sql.observability import listener


def test_protoc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ValueError, match=r"needs protoc, .* \(pip install 'kafka-sql\[protoc\]'\)"):
        run_protoc((("a.proto", "message A {}"),), "a.proto")


def test_prometheus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "find_spec", lambda _: None)
    spark: Any = SimpleNamespace(**{listener._ATTRIBUTE: SimpleNamespace()})
    with pytest.raises(UnsupportedOptionError, match=r"pip install 'kafka-sql\[prometheus\]'") as raised:
        listener.observe(spark, port=0)
    assert raised.value.option == "metrics.reporter.prom.port"


def test_line_editing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(shell, "find_spec", lambda _: None)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(shell.sys.stdout, "isatty", lambda: True)
    runner: Any = SimpleNamespace(screen=Screen())
    assert shell._prompt_reader(runner) is shell._read_plain
    assert "pip install 'kafka-sql[shell]'" in capsys.readouterr().err
