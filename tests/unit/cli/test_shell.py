"""Test the shell's highlighting, history and recognition of complete statements."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.cli.editor import MaskedHistory, styled_lines
from kafka_sql.cli.shell import is_complete


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
    "text", ["", "SELECT 1;", "quit", "help", " EXIT ", "!ls", "SELECT 1; SELECT ';';\n", "BEGIN SELECT 1; END;"]
)
def test_enter_runs_a_complete_text(text: str) -> None:
    assert is_complete(text)


@pytest.mark.parametrize("text", ["SELECT 1", "SELECT ';", "SELECT 1; SELECT", "BEGIN SELECT 1;", "/* a;"])
def test_enter_continues_an_incomplete_text(text: str) -> None:
    assert not is_complete(text)
