"""Parsing of SQL test files."""

from tests.sql_script import NONE, Step, parse_steps, render


def test_statements_with_rows() -> None:
    text = """-- a title
CREATE TABLE t (
  a INT
);

SELECT a,
  b FROM t;
--> 1 | x
--> 2 | NULL

-- none
SELECT 1;
--> (no rows)
"""
    assert parse_steps(text) == [
        Step("-- a title\nCREATE TABLE t (\n  a INT\n)", [], None),
        Step("SELECT a,\n  b FROM t", ["1 | x", "2 | NULL"], None),
        Step("-- none\nSELECT 1", [NONE], None),
    ]


def test_statement_with_an_error() -> None:
    assert parse_steps("SELECT 1;\n--! no such thing\nSELECT 2;\n") == [
        Step("SELECT 1", [], "no such thing"),
        Step("SELECT 2", [], None),
    ]


def test_a_statement_set_is_one_statement() -> None:
    text = "EXECUTE STATEMENT SET BEGIN\n  INSERT INTO a SELECT 1;\n  INSERT INTO b SELECT 2;\nEND;\nSELECT 1;\n--> 1\n"
    assert [step.statement[-4:] for step in parse_steps(text)] == ["\nEND", "CT 1"]


def test_rendered_values() -> None:
    assert render({"b": [None, True], "a": b"\x00\xff"}) == "{a: X'00ff', b: [NULL, true]}"
