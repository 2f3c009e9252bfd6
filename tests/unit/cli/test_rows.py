"""Test the text of rows: one line per row, from which each value can be read back, and nothing that a terminal runs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.cli.screen import bytes_text, escape_text, escape_value, format_line, format_lines
from tests.shell_output import read_line

VALUES = st.none() | st.just("NULL") | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ESCAPED = VALUES | st.text("\\\t\n\r\x00\x1b\x9bntNx", max_size=8)


@given(st.lists(ESCAPED, min_size=1, max_size=4))
def test_each_value_can_be_read_back(row: list[str | None]) -> None:
    line = format_line(row)
    assert read_line(line) == row
    assert re.search(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]", line) is None


@given(st.lists(st.binary(max_size=8), min_size=2, max_size=2, unique=True))
def test_different_bytes_have_different_texts(values: list[bytes]) -> None:
    one, other = (escape_value(bytes_text(value)) for value in values)
    assert one != other
    one.encode()  # without surrogates


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"A\0", r"A\x00"),
        (b"\xff\xfeA", r"\xff\xfeA"),
        ("zoë".encode(), "zoë"),
        (b"a\\b", r"a\\b"),
        (b"\x1b]0;title\x07", r"\x1b]0;title\x07"),
    ],
)
def test_bytes_are_printed_as_text(value: bytes, text: str) -> None:
    assert escape_value(bytes_text(value)) == text


def test_a_text_of_several_lines_stays_readable() -> None:
    rows = [["== Plan ==\n\t'a\\b' \x1b[31m"]]
    for statement in ("EXPLAIN SELECT 1", "show /* */ create TABLE t", "DESC FUNCTION abs", "DESCRIBE\nFUNCTION f"):
        assert format_lines(rows, statement, ["text"]) == ["== Plan ==\n\t'a\\b' \\x1b[31m"]
    for statement in ("SELECT 'EXPLAIN'", "SHOW TABLES", "DESCRIBE t", "SHOW"):
        assert format_lines(rows, statement, ["text"]) == [r"== Plan ==\n\t'a\\b' \x1b[31m"]


def test_columns_of_describe_are_padded() -> None:
    columns = ["col_name", "data_type", "comment"]
    assert format_lines([["id", "int", None]], "DESCRIBE t", columns) == [f"{'id':20}\t{'int':20}\t{'':20}"]


def test_messages_contain_nothing_that_a_terminal_runs() -> None:
    assert escape_text("[CAST]\tvalue '\x1b[2J\r'\nat line 1: C:\\") == "[CAST]\tvalue '\\x1b[2J\\x0d'\nat line 1: C:\\"
