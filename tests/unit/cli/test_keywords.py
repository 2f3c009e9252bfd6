"""Variables, highlighting, history, error messages and the progress bar."""

from __future__ import annotations

import stat
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from kafka_sql.cli.highlighting import styled_lines
from kafka_sql.cli.history import MaskedHistory
from kafka_sql.cli.screen import progress_bar
from kafka_sql.cli.shell import is_complete
from kafka_sql.cli.variables import expand
from kafka_sql.errors import StatementError, TopicNotFoundError
from kafka_sql.sql.spark_errors import error_message


def test_variables() -> None:
    values = {"a": "1", "b": "<${a}>", "spark.x.y": "z"}
    text = "${a} ${hivevar:b} ${hiveconf:spark.x.y} ${none} ${env:a} ${system:a} $a {a}"
    assert expand(text, values.get) == "1 <1> z ${none} ${env:a} ${system:a} $a {a}"


def test_a_variable_that_contains_itself() -> None:
    with pytest.raises(StatementError, match="The value of variable 'b' refers to the variable itself"):
        expand("${b}", {"a": "${b}${b}", "b": "${a}"}.get)


@given(st.text(alphabet="aS1 '\"`/*-\n\\E", max_size=60))
def test_highlighted_lines_are_the_text(text: str) -> None:
    assert "\n".join("".join(part[1] for part in line) for line in styled_lines(text)) == text


def test_styles() -> None:
    (line,) = styled_lines("SELECT 'a', b -- c")
    assert [(s, t) for s, t, *_ in line if t.strip()] == [
        ("class:keyword", "SELECT"),
        ("class:string", "'a'"),
        ("", ","),
        ("", "b"),
        ("class:comment", " -- c"),
    ]


def test_history_is_private_and_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.touch(mode=0o644)
    MaskedHistory(path).store_string("CREATE TABLE t (a INT)\nWITH ('x.password' = 'hunter2');")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(MaskedHistory(path).load_history_strings()) == [
        "CREATE TABLE t (a INT)\nWITH ('x.password' = '******');"
    ]


@pytest.mark.parametrize(
    "text", ["", "SELECT 1;", "quit", " EXIT ", "!ls", "SELECT 1; SELECT ';';\n", "BEGIN SELECT 1; END;"]
)
def test_enter_runs_a_complete_text(text: str) -> None:
    assert is_complete(text)


@pytest.mark.parametrize("text", ["SELECT 1", "SELECT ';", "SELECT 1; SELECT", "BEGIN SELECT 1;", "/* a;"])
def test_enter_continues_an_incomplete_text(text: str) -> None:
    assert not is_complete(text)


def test_errors_are_one_line() -> None:
    trace = "Traceback (most recent call last):\n  File x\n"
    wrapped = f"Aborted: {trace}kafka_sql.errors.FetchError: [FETCH] t[0]@5: gone\n\tat a.b(C)"
    assert error_message(PySparkException(wrapped)) == "[FETCH] t[0]@5: gone"
    assert error_message(TopicNotFoundError("no")) == "[TOPIC_NOT_FOUND] no"
    assert error_message(PySparkException("[A_B] c\n\nDriver stacktrace:\n\tat x.y(Z)")) == "[A_B] c"
    python = "[UDF] failed:\nTraceback (most recent call last):\n  File x\n    y\nValueError: z\n\n\tat a.b(C)"
    assert error_message(PySparkException(python)) == "[UDF] failed:\nValueError: z"
    stream = "[STREAM_FAILED] Query [id = a] terminated: b\n=== Streaming Query ===\nIdentifier: c\nThread State: d"
    assert error_message(PySparkException(stream)) == "[STREAM_FAILED] Query [id = a] terminated: b"
    call = "An error occurred while calling o1.start.\n: org.a.B: [C_D] e\n\tat f.g(H)"
    java = Py4JJavaError.__new__(Py4JJavaError)
    java.__class__ = type("Call", (Py4JJavaError,), {"__str__": lambda _: call})
    assert error_message(java) == "[C_D] e"
    assert error_message(RuntimeError("x")) == "RuntimeError: x"


def test_progress_bar() -> None:
    now = time.monotonic()
    assert progress_bar(1, 2, now) is None
    assert progress_bar(1, 2, now - 3) == "[============            ] 1/2 tasks, 3 s"
    assert progress_bar(0, 0, now - 3) == "3 s"
