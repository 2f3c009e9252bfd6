"""Test what is reported before Spark starts, and if it does not start."""

from __future__ import annotations

import os
import subprocess
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


def test_lines_are_printed_once_the_process_has_started(capfd: pytest.CaptureFixture[str]) -> None:
    with spark_session.hold_startup_output():
        script = "echo starting >&2; echo; read line; echo later >&2"
        process = subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
    process.communicate(b"\n")
    printed = ""
    while not printed:  # another thread prints it
        printed = capfd.readouterr().err
    assert printed == "later\n"


@pytest.mark.parametrize(("condition", "printed"), [("JAVA_GATEWAY_EXITED", "no java\n"), ("OTHER", "")])
def test_the_cause_is_printed_if_java_exits(
    condition: str, printed: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    error = PySparkRuntimeError(message="failed")
    monkeypatch.setattr(error, "getCondition", lambda: condition)

    def start() -> None:
        with spark_session.hold_startup_output():
            subprocess.run(["sh", "-c", "echo no java >&2"], check=True)
            raise error

    with pytest.raises(PySparkRuntimeError):
        start()
    assert capfd.readouterr().err == printed
