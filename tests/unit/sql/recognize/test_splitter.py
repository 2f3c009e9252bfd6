"""Test how text is split into statements: semicolons within a statement, and joined statements as an oracle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.sql.recognize.splitter import split, statements

FLINK = "CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'csv.escape-character' = '\\')"

SCRIPT = """BEGIN
  DECLARE end_ INT DEFAULT 1;
  DECLARE EXIT HANDLER FOR DIVIDE_BY_ZERO BEGIN SELECT 'a;'; END;
  IF end_ = 1 THEN SELECT CASE WHEN 1 = 1 THEN 2 END AS end, w.end FROM w; ELSE BEGIN SELECT 1; END; END IF;
  inner: WHILE end_ < 3 DO SET end_ = end_ + 1; END WHILE inner;
  CASE WHEN end_ = 3 THEN SELECT 1; ELSE SELECT 2; END CASE;
  REPEAT SELECT 1; UNTIL true END REPEAT;
  FOR r AS SELECT 1 DO SELECT begin FROM t; END FOR;
  LOOP LEAVE l; END LOOP;
END"""

SINGLE_STATEMENTS = [
    "SELECT 1",
    "SELECT ';'",
    'SELECT ";"',
    "SELECT 'it\\'s; so'",
    "SELECT 'it''s; so'",
    "SELECT r'\\'",
    "SELECT `a;b` FROM `t``;`",
    "SELECT 1 -- ; 'no string\n+ 1",
    "SELECT /* ; /* ' */ ; */ 1",
    "SELECT CASE WHEN a THEN 1 ELSE begin END FROM t",
    "SELECT a:begin, t.begin, 1 AS begin, end FROM t",
    "SELECT 'Größe; ' AS `übel;`",
    "BEGIN END",
    "lbl: BEGIN SELECT 1; END lbl",
    SCRIPT,
    "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT CASE WHEN 1=1 THEN 2 END; END",
    FLINK,
    "SET 'a' = '\\'",
    "CREATE TABLE s (a STRING DEFAULT 'it\\'s; ok') USING parquet",
    "source a.sql",
    "!echo hi",
]


def texts(text: str) -> list[str]:
    return [piece.text for piece in statements(text)]


@pytest.mark.parametrize("statement", SINGLE_STATEMENTS)
def test_is_one_statement(statement: str) -> None:
    assert texts(statement) == [statement]
    assert texts(f"\n {statement} ; ") == [statement]
    (piece,), rest = split(f"\n {statement} ; ")
    assert (piece, rest) == ((statement, 2), len(statement) + 4)


@given(st.lists(st.sampled_from(SINGLE_STATEMENTS), max_size=6), st.sampled_from(["", "\n", "; ;", " -- c;\n"]))
def test_joined_statements_are_split_again(expected: list[str], between: str) -> None:
    assert texts("".join(f"{statement};{between}" for statement in expected)) == expected


@given(st.text(alphabet="ab;'\"`-/*\\\n \tBEGIN", max_size=40))
def test_statements_are_parts_of_the_text(text: str) -> None:
    pieces = list(statements(text))
    for piece in pieces:
        assert text[piece.start : piece.start + len(piece.text)] == piece.text == piece.text.strip() != ""
    ends = [piece.start + len(piece.text) for piece in pieces]
    assert all(ends[i] <= pieces[i + 1].start for i in range(len(pieces) - 1))


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("SELECT 1", "SELECT 1"),
        ("SELECT 1; SELECT 'a;", " SELECT 'a;"),
        ("SELECT 1 /* ;", "SELECT 1 /* ;"),
        ("BEGIN SELECT 1;", "BEGIN SELECT 1;"),
        ("EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;", "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1;"),
        ("SELECT 1;", ""),
    ],
)
def test_incomplete_statements(text: str, rest: str) -> None:
    assert text[split(text)[1] :] == rest


def test_comments_alone_are_not_a_statement() -> None:
    assert texts("-- a;\n/* b; */ ; -- c") == []


def test_an_unclosed_comment_is_passed_to_spark() -> None:
    assert texts("SELECT 1; /* and") == ["SELECT 1", "/* and"]
