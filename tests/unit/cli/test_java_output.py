"""Test what is printed of a process that starts, with a shell command in the place of Java."""

from __future__ import annotations

import subprocess

import pytest
from pyspark.errors import PySparkRuntimeError

from kafka_sql.cli.java_output import hold_startup_output


def test_lines_are_printed_once_the_process_has_started(capfd: pytest.CaptureFixture[str]) -> None:
    with hold_startup_output():
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
        with hold_startup_output():
            subprocess.run(["sh", "-c", "echo no java >&2"], check=True)
            raise error

    with pytest.raises(PySparkRuntimeError):
        start()
    assert capfd.readouterr().err == printed
