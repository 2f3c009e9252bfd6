"""What protects the Python process of Spark's shells from other users: its imports, its secret and its callbacks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest

from kafka_sql.extension import attach as module
from kafka_sql.spark import callback_server, processes
from tests.documents import ROOT

SOURCES = ROOT / "java/src/main/java/io/github/kafkasql/extension"


def test_modules_in_the_current_folder_are_not_imported(tmp_path: Path) -> None:
    program = re.search(r'PROGRAM =\s+"(.*)";', (SOURCES / "Python.java").read_text())
    assert program is not None
    (tmp_path / "kafka_sql").mkdir()
    for planted in ("kafka_sql/__init__.py", "pyspark.py"):
        (tmp_path / planted).write_text("print('planted')")
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PYTHON")},
        "PYSPARK_GATEWAY_PORT": "1",  # nothing listens
        "PYSPARK_GATEWAY_SECRET": "s",
    }
    done = subprocess.run(
        [sys.executable, "-c", program[1]], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert "planted" not in done.stdout
    assert "ConnectionRefusedError" in done.stderr  # it tried to connect


def test_the_secret_is_in_no_argument() -> None:
    """Other users can list the arguments of processes, but not their environment."""
    source = (SOURCES / "Python.java").read_text()
    assert 'new ProcessBuilder(command, "-c", PROGRAM)' in source
    assert 'builder.environment().put("PYSPARK_GATEWAY_SECRET", secret)' in source


def test_the_callback_server_requires_the_secret_of_the_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    starter = SimpleNamespace(context=lambda: SimpleNamespace(version=lambda: pyspark.__version__))
    gateway: Any = SimpleNamespace(
        entry_point=starter,
        gateway_parameters=SimpleNamespace(auth_token="secret-of-the-gateway"),
        callback_server_parameters=SimpleNamespace(auth_token=None),
    )
    tokens: list[str | None] = []

    class Started(Exception):
        """The callback server is started."""

    def start(started: Any) -> None:
        tokens.append(started.callback_server_parameters.auth_token)
        raise Started

    monkeypatch.setenv("PYSPARK_GATEWAY_SECRET", "secret-of-the-gateway")
    monkeypatch.setattr(module.os, "dup2", lambda *_: None)
    monkeypatch.setattr(callback_server, "ensure_callback_server_started", start)
    monkeypatch.setattr(processes, "launch_gateway", lambda: gateway)
    with pytest.raises(Started):
        module.attach()
    assert tokens == ["secret-of-the-gateway"]
    assert "PYSPARK_GATEWAY_SECRET" not in os.environ  # child processes do not inherit it
