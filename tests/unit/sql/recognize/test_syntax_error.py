import pickle
import traceback

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_sql.errors import KafkaSqlError, SqlSyntaxError
from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.sql.recognize.syntax_error import unclosed_quote_error

SECRET = "hunter2"


def parse_error(sql: str) -> SqlSyntaxError:
    with pytest.raises(SqlSyntaxError) as e:
        parse_create(sql)
    return e.value


def test_message_has_line_column_and_marker() -> None:
    e = parse_error("CREATE TABLE t (\n  id BIGINT,\n\tprice DECIMAL(10 2)\n) WITH ('connector' = 'kafka')")
    assert str(e) == (
        "[SQL_SYNTAX] line 3, column 19: expected ')' after the size of the type.\n"
        "    3 | \tprice DECIMAL(10 2)\n"
        "      | \t                 ^"
    )
    assert (e.line, e.column) == (3, 19)
    assert e.marked == "    3 | \tprice DECIMAL(10 2)\n      | \t                 ^"


def test_marker_is_as_wide_as_the_word() -> None:
    e = parse_error("CREATE TABLE t (id INT NULLABLE) WITH ('connector' = 'kafka')")
    marker = e.marked.splitlines()[1].removeprefix("      | ")
    assert marker == " " * 23 + "^" * 8


def test_marker_after_the_end_of_the_text() -> None:
    e = parse_error("CREATE TABLE t (id INT")
    assert str(e).endswith("    1 | CREATE TABLE t (id INT\n      |                       ^")


def test_windows_line_endings() -> None:
    assert parse_error("CREATE TABLE t (\r\n  id,\r\n  b INT)").marked == "    2 |   id,\n      |     ^"


def test_survives_pickling() -> None:
    e = parse_error("CREATE TABLE t (id INT")
    copy = pickle.loads(pickle.dumps(e))
    assert (str(copy), copy.line, copy.column, copy.marked) == (str(e), e.line, e.column, e.marked)


@pytest.mark.parametrize(
    ("options", "message", "shown"),
    [
        ("'topic' 'orders'", "line 2, column 9: expected '=' after the option key.", "******"),
        ("'topic' = orders", "expected an option value in single quotes.", "******"),
        ("'topic' = 'a' 'b' = 'c'", "expected ',' or ')' after option 'topic'.", "******"),
        ("topic = 'a'", "expected an option key in single quotes.", "******"),
        ("'a' = 'b',", "line 3, column 1: expected an option key in single quotes after option 'a'.", "******"),
        ("'a.password' = hunter2", "expected an option value in single quotes.", "******"),
        (
            "'a.password' = 'hunter2, 'b' = 'c'",
            "column 34: unclosed quote; the missing quote",
            "******",
        ),
        (
            "'a.password' = 'hunter2",
            "unclosed quote; the missing quote may be earlier in the statement.",
            "******",
        ),
        ("'jaas' = 'x username='bob' password='hunter2';'", "column 23: expected ',' or ')'", "******"),
        (
            "'key' = 'BEGIN\nhunter2\nhunter2' x",
            "line 4, column 10: expected ',' or ')' after option 'key'.",
            "******",
        ),
    ],
)
def test_option_values_are_masked(options: str, message: str, shown: str) -> None:
    e = parse_error(f"CREATE TABLE t (id INT) WITH (\n{options}\n)")
    assert message in str(e)
    assert e.marked.splitlines()[0].partition("| ")[2] == shown
    assert SECRET not in "".join(traceback.format_exception(e))


def test_marker_stays_below_the_mask() -> None:
    e = parse_error("CREATE TABLE t (id INT) WITH ('a.password' = 'hunter2', 'b' 'c')")
    line, marker = (part.partition("| ")[2] for part in e.marked.splitlines())
    assert line == "CREATE TABLE t (id INT) WITH (******"
    assert marker == " " * (len(line) - 6) + "^" * 6


def test_literals_on_other_lines_stay_visible() -> None:
    e = parse_error("CREATE TABLE t (\n  s STRING COMMENT 'it' s,\n  b INT\n) WITH ('connector' = 'kafka')")
    assert e.marked.splitlines()[0] == "    2 |   s STRING COMMENT 'it' s,"


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t (id INT) WIHT ('a.password' = 'hunter2')",
        "CREATE TABLE t (id INT) WITH 'a.password' = 'hunter2'",
        "CREATE TABLE t (id INT WITH ('a.password' = 'hunter2')",
        "CREATE TABLE t (id INT) ('a.password' = 'hunter2')",
        "CREATE TABLE t (id INT) COMMENT 'x WITH ('a.password' = 'hunter2')",
        "CREATE TABLE t (id INT) WITH ('a.password' = 'hunter2') EXTRA hunter2",
        "CREATE TABLE t (id INT) WIT'' 'conne, 'a.password' -- 'hunter2'",
        "CREATE TABLE t (id INT) COMMENT 'a'W,nector' = 'kafka', 'a.password = 'hunter2'",
        "CREATE TABLE t (`id INT) WITH ('a.password' = 'hunter2', 'b' `= 'c')",
        "CREATE TABLE t (id INT) WITH ('a.password' = 'hunter2\n', b' = 'c')",
    ],
)
def test_values_are_masked_if_with_is_invalid(sql: str) -> None:
    assert SECRET not in "".join(traceback.format_exception(parse_error(sql)))


VALID = """CREATE TABLE t (
  id INT COMMENT 'the id', total AS CASE WHEN id = 1 THEN 'a' ELSE 'b' END,
  PRIMARY KEY (id) NOT ENFORCED
) COMMENT 'a table' WITH (
  'connector' = 'kafka', 'a.password' = 'hunter2',
  'properties.sasl.jaas.config' = 'Login required username="u"
     password="hunter2";', 'format' = 'json'
)"""


@given(
    st.integers(0, len(VALID)),
    st.integers(0, 3),
    st.sampled_from(["", "'", "''", "(", ")", "=", ",", "`", "x", ";", "--", "\n"]),
)
@example(0, 0, "")
def test_no_typo_exposes_a_secret(index: int, deleted: int, inserted: str) -> None:
    sql = VALID[:index] + inserted + VALID[index + deleted :]
    try:
        shown = repr(parse_create(sql))
    except KafkaSqlError as e:
        shown = "".join(traceback.format_exception(e))
    assert "hunter" not in shown


def test_a_long_line_is_cut_around_the_error() -> None:
    sql = "CREATE TABLE t (" + ", ".join(f"c{i} INT" for i in range(1000)) + ", x y z) WITH ('connector' = 'kafka')"
    with pytest.raises(SqlSyntaxError) as e:
        parse_create(sql)
    line, marker = e.value.marked.splitlines()
    assert len(line) < 400
    assert line[marker.index("^") :].startswith("z)")
    assert line.startswith("    1 | ...")


def test_double_quoted_values_after_a_misspelled_with_are_masked() -> None:
    e = parse_error('CREATE TABLE t (id INT) WHIT ("a.password" = "hunter2")')
    assert e.marked.splitlines()[0].partition("| ")[2] == "CREATE TABLE t (id INT) WHIT (******"


def test_a_literal_at_the_start_of_the_statement_is_masked_if_a_quote_is_missing() -> None:
    error = unclosed_quote_error(f"'{SECRET}", 0)
    assert SECRET not in str(error)
    assert error.marked == "    1 | ******\n      | ^^^^^^"
