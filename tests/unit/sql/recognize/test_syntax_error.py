import pickle
import traceback

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_sql.errors import KafkaSqlError, SqlSyntaxError
from kafka_sql.sql.declarations.create import parse_create

SECRET = "hunter2"


def error(sql: str) -> SqlSyntaxError:
    with pytest.raises(SqlSyntaxError) as e:
        parse_create(sql)
    return e.value


def test_line_column_and_mark() -> None:
    e = error("CREATE TABLE t (\n  id BIGINT,\n\tprice DECIMAL(10 2)\n) WITH ('connector' = 'kafka')")
    assert str(e) == (
        "[SQL_SYNTAX] line 3, column 19: expected ')' after the size of the type.\n"
        "    3 | \tprice DECIMAL(10 2)\n"
        "      | \t                 ^"
    )
    assert (e.line, e.column) == (3, 19)
    assert e.marked == "    3 | \tprice DECIMAL(10 2)\n      | \t                 ^"


def test_mark_is_as_wide_as_the_word() -> None:
    e = error("CREATE TABLE t (id INT NULLABLE) WITH ('connector' = 'kafka')")
    mark = e.marked.splitlines()[1].removeprefix("      | ")
    assert mark == " " * 23 + "^" * 8


def test_mark_behind_the_end() -> None:
    e = error("CREATE TABLE t (id INT")
    assert str(e).endswith("    1 | CREATE TABLE t (id INT\n      |                       ^")


def test_windows_line_ends() -> None:
    assert error("CREATE TABLE t (\r\n  id,\r\n  b INT)").marked == "    2 |   id,\n      |     ^"


def test_survives_pickling() -> None:
    e = error("CREATE TABLE t (id INT")
    again = pickle.loads(pickle.dumps(e))
    assert (str(again), again.line, again.column, again.marked) == (str(e), e.line, e.column, e.marked)


@pytest.mark.parametrize(
    ("options", "message", "shown"),
    [
        ("'topic' 'orders'", "line 2, column 9: expected '=' after an option's key.", "******"),
        ("'topic' = orders", "expected an option's value in single quotes.", "'topic' = ******"),
        ("'topic' = 'a' 'b' = 'c'", "expected ',' or ')' after the option 'topic'.", "'topic' = ******"),
        ("topic = 'a'", "expected an option's key in single quotes.", "******"),
        ("'a' = 'b',", "line 3, column 1: expected an option's key after the option 'a' in single quotes.", "******"),
        ("'a.password' = hunter2", "expected an option's value in single quotes.", "'a.password' = ******"),
        (
            "'a.password' = 'hunter2, 'b' = 'c'",
            "column 34: this quote, or one before it, is not",
            "'a.password' = ******",
        ),
        ("'a.password' = 'hunter2", "this quote, or one before it, is not closed.", "'a.password' = ******"),
        ("'jaas' = 'x username='bob' password='hunter2';'", "column 23: expected ',' or ')'", "'jaas' = ******"),
        (
            "'key' = 'BEGIN\nhunter2\nhunter2' x",
            "line 4, column 10: expected ',' or ')' after the option 'key'.",
            "******",
        ),
    ],
)
def test_values_of_options_are_masked(options: str, message: str, shown: str) -> None:
    e = error(f"CREATE TABLE t (id INT) WITH (\n{options}\n)")
    assert message in str(e)
    assert e.marked.splitlines()[0].partition("| ")[2] == shown
    assert SECRET not in "".join(traceback.format_exception(e))


def test_the_mark_stays_below_the_mask() -> None:
    e = error("CREATE TABLE t (id INT) WITH ('a.password' = 'hunter2', 'b' 'c')")
    line, mark = (part.partition("| ")[2] for part in e.marked.splitlines())
    assert line == "CREATE TABLE t (id INT) WITH ('a.password' = ******"
    assert mark == " " * (len(line) - 6) + "^" * 6


def test_literals_of_other_lines_stay_to_be_read() -> None:
    e = error("CREATE TABLE t (\n  s STRING COMMENT 'it' s,\n  b INT\n) WITH ('connector' = 'kafka')")
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
def test_masked_where_with_itself_is_wrong(sql: str) -> None:
    assert SECRET not in "".join(traceback.format_exception(error(sql)))


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
def test_no_slip_of_the_pen_shows_a_secret(at: int, deleted: int, inserted: str) -> None:
    sql = VALID[:at] + inserted + VALID[at + deleted :]
    try:
        shown = repr(parse_create(sql))
    except KafkaSqlError as e:
        shown = "".join(traceback.format_exception(e))
    assert "hunter" not in shown


def test_a_long_line_is_cut_around_the_place() -> None:
    sql = "CREATE TABLE t (" + ", ".join(f"c{i} INT" for i in range(1000)) + ", x y z) WITH ('connector' = 'kafka')"
    with pytest.raises(SqlSyntaxError) as e:
        parse_create(sql)
    line, mark = e.value.marked.splitlines()
    assert len(line) < 400
    assert line[mark.index("^") :].startswith("z)")
    assert line.startswith("    1 | ...")


def test_values_in_double_quotes_behind_a_misspelt_with_are_masked() -> None:
    e = error('CREATE TABLE t (id INT) WHIT ("a.password" = "hunter2")')
    assert e.marked.splitlines()[0].partition("| ")[2] == 'CREATE TABLE t (id INT) WHIT ("a.password" = ******'
