"""Test what is reported before Spark starts, and if it does not start."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkRuntimeError

from kafka_sql.cli import __main__ as command
from kafka_sql.cli import spark_session
from kafka_sql.cli.arguments import parse
from kafka_sql.cli.screen import Screen


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Start no Spark; return the command lines with which it would start."""
    sessions: list[Any] = []

    def create_session(arguments: Any) -> Any:
        sessions.append(arguments)
        raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})

    monkeypatch.setattr(spark_session, "create_session", create_session)
    return sessions


@pytest.mark.parametrize("words", [[], ["check", "orders"]], ids=["shell", "check"])
@pytest.mark.parametrize("option", ["-f", "-i"])
def test_a_missing_file_is_reported_before_spark_starts(
    words: list[str],
    option: str,
    started: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["kafka-sql", *words, "-e", "SELECT 1", option, "missing.sql"])
    assert command.main() == 1
    assert capsys.readouterr() == ("", "missing.sql cannot be read: No such file or directory.\n")
    assert not started


def test_a_folder_cannot_be_read(tmp_path: Path, started: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert spark_session.start_session(parse(["-f", str(tmp_path)]), Screen()) is None
    assert capsys.readouterr() == ("", f"{tmp_path} cannot be read: Is a directory.\n")
    assert not started


def test_a_pipe_is_not_opened(tmp_path: Path, started: list[Any]) -> None:
    os.mkfifo(tmp_path / "pipe")
    spark_session.start_session(parse(["-f", str(tmp_path / "pipe"), "-f", "-"]), Screen())
    assert len(started) == 1


@pytest.mark.parametrize("words", [[], ["check", "orders"]], ids=["shell", "check"])
@pytest.mark.usefixtures("started")
def test_spark_without_java(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["kafka-sql", *words, "-e", "SELECT 1"])
    assert command.main() == 1
    message = capsys.readouterr().err
    assert message.startswith("[JAVA_GATEWAY_EXITED] ")
    assert (
        f" Java does not run: {tmp_path}/bin/java (from JAVA_HOME): No such file or directory. Install Java" in message
    )


@pytest.mark.parametrize("words", [[], ["check", "orders"]], ids=["shell", "check"])
def test_ctrl_c_while_spark_starts(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(spark_session, "create_session", interrupt)
    monkeypatch.setattr(sys, "argv", ["kafka-sql", *words, "-e", "SELECT 1"])
    assert command.main() == 130
