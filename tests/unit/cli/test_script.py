"""Test scripts in a string, a pipe or a file: order, locations and exit codes, and spark-sql's commands."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from kafka_sql.cli import script
from kafka_sql.cli.interrupts import Interrupted
from kafka_sql.cli.screen import Screen
from kafka_sql.errors import StatementError


class Runner:
    """Records statements; ``FAIL`` fails and ``STOP`` is interrupted."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.screen = Screen(silent=False)

    def run(self, statement: str) -> None:
        self.statements.append(statement)
        if statement == "FAIL":
            raise StatementError("it fails")
        if statement == "STOP":
            raise Interrupted(signal.SIGTERM)


@pytest.fixture
def runner() -> Any:
    return Runner()


def test_statements_run_up_to_quit(runner: Any) -> None:
    with pytest.raises(script.Quit):
        script.run_text(runner, "A; B x;\nQUIT;\nC")
    assert runner.statements == ["A", "B x"]


def test_quit_with_more_words_is_a_statement(runner: Any) -> None:
    script.run_text(runner, "exit now; quitting")
    assert runner.statements == ["exit now", "quitting"]


def test_help(runner: Any, capsys: pytest.CaptureFixture[str]) -> None:
    script.run_text(runner, "Help; A; help me")
    assert runner.statements == ["A", "help me"]
    assert capsys.readouterr().out == script.HELP + "\n"


def test_the_first_error_ends_the_script(runner: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.sql"
    file.write_text("A;\n\n  FAIL;\nB;")
    with pytest.raises(script.StatementFailed) as failed:
        script.run_file(runner, str(file))
    assert failed.value.exit_code == 1
    assert runner.statements == ["A", "FAIL"]
    assert capsys.readouterr().err == f"[STATEMENT] it fails\nat {file}:3\n"


def test_an_interrupted_statement_has_the_signals_exit_code(runner: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(script.StatementFailed) as failed:
        script.run_text(runner, "STOP; A")
    assert failed.value.exit_code == 143
    assert capsys.readouterr().err == "The statement was stopped.\n"


def test_a_pipe_runs_each_statement_at_its_semicolon(runner: Any, capsys: pytest.CaptureFixture[str]) -> None:
    statement_counts: list[int] = []

    def lines() -> Any:
        for line in ("A; B\n", "b; SELECT ';\n", "';\n", "C\n"):
            statement_counts.append(len(runner.statements))
            yield line

    script.run_lines(runner, lines())
    assert runner.statements == ["A", "B\nb", "SELECT ';\n'", "C"]
    assert statement_counts == [0, 1, 2, 3]
    with pytest.raises(script.StatementFailed):
        script.run_lines(runner, ["A;\n", "\n", "FAIL;\n"])
    assert capsys.readouterr().err.endswith("at stdin:3\n")


def test_sources_run_in_order(runner: Any, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("A; source " + str(tmp_path / "b.sql") + ";")
    (tmp_path / "b.sql").write_text("B")
    script.run_sources(runner, [("text", "X"), ("file", str(tmp_path / "a.sql")), ("text", "Y")])
    assert runner.statements == ["X", "A", "B", "Y"]


def test_a_missing_file(runner: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(script.StatementFailed) as failed:
        script.run_file(runner, "/nowhere.sql")
    assert failed.value.exit_code == 1
    assert capsys.readouterr().err == "/nowhere.sql cannot be read: No such file or directory.\n"


def test_a_file_with_a_byte_order_mark(runner: Any, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_bytes(b"\xef\xbb\xbfA;\r\nB;\r\n")
    script.run_file(runner, str(tmp_path / "a.sql"))
    assert runner.statements == ["A", "B"]


def test_text_that_is_not_utf_8(
    runner: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.sql").write_bytes(b"A;\n\xff;")
    monkeypatch.setattr(sys, "stdin", (tmp_path / "a.sql").open(encoding="utf-8"))
    for path, source in (("-", "Standard input"), (str(tmp_path / "a.sql"), str(tmp_path / "a.sql"))):
        with pytest.raises(script.StatementFailed):
            script.run_file(runner, path)
        assert capsys.readouterr().err.startswith(f"{source} cannot be read: 'utf-8' codec can't decode byte 0xff")
    sys.stdin.close()


def test_shell_commands(runner: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script.run_text(runner, "!echo hello; !exit 3")
    out, err = capfd.readouterr()
    assert out == "hello\n"
    assert "Command failed with exit code = 3\n" in err
    assert err.count("Time taken: ") == 2
    assert runner.statements == []


class TableNotFound(AnalysisException):
    """Spark's error of a classic session or over Connect."""

    def __init__(self, name: str) -> None:
        super().__init__("[TABLE_OR_VIEW_NOT_FOUND] It cannot be found.")
        self.name = name

    def getCondition(self) -> str:
        return "TABLE_OR_VIEW_NOT_FOUND"

    def getMessageParameters(self) -> dict[str, str]:
        return {"relationName": self.name}


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("`ordesr`", "\nDid you mean 'orders'?"), ("`shop`.`order`", "\nDid you mean 'orders'?"), ("`x`", "")],
)
def test_a_misspelled_table(runner: Any, name: str, suggestion: str) -> None:
    runner.spark = SimpleNamespace(catalog=SimpleNamespace(listTables=lambda: [SimpleNamespace(name="orders")]))
    assert script.similar_table(runner, TableNotFound(name)) == suggestion
    assert script.similar_table(runner, AnalysisException("another error")) == ""
