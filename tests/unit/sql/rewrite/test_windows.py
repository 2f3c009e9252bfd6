"""Windows in statements: all forms of Flink's functions, their parameters, and the text for Spark."""

from __future__ import annotations

import re

import pytest

from kafka_sql.errors import SqlSyntaxError, StatementError, UnsupportedSqlError
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.edits import apply_edits
from kafka_sql.sql.rewrite.windows.subqueries import rewrite_windows


def rewrite(sql: str, streaming: bool = False, *, merges_sessions: bool = False) -> str:
    query = QueryText(sql)
    return apply_edits(sql, rewrite_windows(query, streaming, merges_sessions).edits)


def windows(sql: str) -> list[str]:
    """Return the calls of Spark's window function in the rewritten statement."""
    return re.findall(r"window\((.*?)\) AS", rewrite(sql))


TUMBLE = "TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10' MINUTES)"


@pytest.mark.parametrize(
    "source",
    [
        TUMBLE,
        f"TABLE({TUMBLE})",
        f"TABLE ( {TUMBLE.lower()} )",
        "TUMBLE(TABLE (Bid), DESCRIPTOR(`bidtime`), INTERVAL '10' MINUTE)",
        "TUMBLE(DATA => TABLE Bid, TIMECOL => DESCRIPTOR(bidtime), SIZE => INTERVAL '10' MINUTES)",
        "TUMBLE(TABLE Bid, SIZE => INTERVAL '600' SECOND(3), TIMECOL => DESCRIPTOR(bidtime))",
        "TUMBLE(TABLE Bid, DESCRIPTOR(bidtime), INTERVAL '10:00' MINUTE TO SECOND, INTERVAL '-1' DAY)",
    ],
)
def test_forms(source: str) -> None:
    expected = rewrite(f"SELECT * FROM {TUMBLE} AS w WHERE a = 1")
    actual = rewrite(f"SELECT * FROM {source} AS w WHERE a = 1")
    normalized = actual.replace("(Bid)", "Bid").replace("(bid)", "Bid").replace("FROM bid", "FROM Bid")
    assert normalized == expected
    assert expected.startswith("SELECT * FROM (SELECT * EXCEPT (__window, __last), __window.start AS window_start, ")
    assert expected.endswith(" AS __window FROM Bid))) AS w WHERE a = 1")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' DAY, INTERVAL '25' HOUR)", ["86400000", "86400000", "3600000"]),
        ("HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)", ["600000", "300000", "0"]),
        (
            "HOP(TABLE t, DESCRIPTOR(ts), SIZE => INTERVAL '10' SECOND, SLIDE => INTERVAL '0.5' SECOND, "
            "OFFSET => INTERVAL '-0.1' SECOND)",
            ["10000", "500", "400"],
        ),
    ],
)
def test_durations(call: str, expected: list[str]) -> None:
    (window,) = windows(f"SELECT * FROM {call}")
    assert re.findall(r"'(.*?) milliseconds'", window) == expected


def test_cumulate_has_the_windows_of_its_steps() -> None:
    call = "CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '2' HOUR, INTERVAL '1' DAY, INTERVAL '5' HOUR)"
    assert [re.findall(r"'(.*?) milliseconds'", w) for w in windows(f"SELECT * FROM {call}")] == [
        ["86400000", "86400000", "18000000"],
        ["7200000", "7200000", "3600000"],
    ]
    assert "sequence(__step.end, __window.end, INTERVAL '7200' SECOND)" in rewrite(f"SELECT * FROM {call}")


def test_the_source_keeps_its_hint_and_is_rewritten_too() -> None:
    hint = "/*+ OPTIONS('scan.startup.mode' = 'latest-offset') */"
    sql = rewrite(f"SELECT * FROM TUMBLE(TABLE db.t {hint}, DESCRIPTOR(ts), INTERVAL '1' DAY)")
    assert f" FROM db.t {hint}))" in sql
    inner = f"SELECT window_time AS rowtime FROM {TUMBLE} GROUP BY window_start, window_end"
    sql = rewrite(f"SELECT * FROM TUMBLE(TABLE ({inner}), DESCRIPTOR(rowtime), INTERVAL '1' DAY)")
    assert f" AS __window FROM ({rewrite(inner)})))" in sql.replace(" )", ")")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            f"SELECT 1 FROM {TUMBLE} GROUP BY item, window_start, window_end",
            "window_time, item, window_start, window_end",
        ),
        (
            f"SELECT 1 FROM {TUMBLE} w GROUP BY w.window_start, w.window_end",
            "w.window_time, w.window_start, w.window_end",
        ),
        (
            f"SELECT 1 FROM {TUMBLE} GROUP BY window_time, window_start, window_end",
            "window_time, window_start, window_end",
        ),
        (f"SELECT 1 FROM {TUMBLE} GROUP BY window_start", "window_start"),
        (
            f"SELECT 1 FROM (SELECT * FROM {TUMBLE}) GROUP BY window_start, window_end, GROUPING SETS ((item), ())",
            "window_time, window_start, window_end, GROUPING SETS ((item), ())",
        ),
        (
            f"SELECT 1 FROM (SELECT window_start, window_end FROM {TUMBLE}) GROUP BY window_start, window_end",
            "window_time, window_start, window_end",
        ),
        (
            "SELECT 1 FROM (SELECT a AS window_start, b AS window_end, window_time FROM t) "
            "GROUP BY window_start, window_end",
            "window_start, window_end",
        ),
        (f"SELECT 1 FROM t GROUP BY window_start, window_end UNION SELECT 1 FROM {TUMBLE}", "window_start, window_end"),
    ],
)
def test_group_by_window_time(query: str, expected: str) -> None:
    assert rewrite(query).partition(" GROUP BY ")[2].partition(" UNION ")[0] == expected


def test_window_time_is_selected_where_it_is_needed() -> None:
    windows = rewrite(f"SELECT * FROM {TUMBLE}").removeprefix("SELECT * FROM ")
    inner = f"SELECT window_start, window_end, item FROM {TUMBLE} GROUP BY window_start, window_end, item"
    sql = f"SELECT count(*) FROM (SELECT window_start, window_end FROM ({inner})) GROUP BY window_start, window_end"
    assert rewrite(sql) == (
        "SELECT count(*) FROM (SELECT window_start, window_end, window_time FROM (SELECT window_start, window_end, "
        f"item, window_time FROM {windows} GROUP BY window_time, window_start, window_end, item)) "
        "GROUP BY window_time, window_start, window_end"
    )
    join = "L.window_start = R.window_start AND L.window_end = R.window_end"
    right = f"SELECT window_start, window_end, b FROM {TUMBLE}"
    assert rewrite(f"SELECT L.a FROM (SELECT * FROM {TUMBLE}) L FULL JOIN ({right}) R ON {join}") == (
        f"SELECT L.a FROM (SELECT * FROM {windows}) L FULL JOIN (SELECT window_start, window_end, b, window_time FROM "
        f"{windows}) R ON {join} AND L.window_time = R.window_time"
    )


@pytest.mark.parametrize(
    ("query", "same_as"),
    [
        (
            "SELECT item, TUMBLE_START(o.ts, INTERVAL '1' DAY) AS s, sum(x) FROM Orders AS o WHERE x > 0 "
            "GROUP BY TUMBLE(o.ts, INTERVAL '1' DAY), item HAVING TUMBLE_END(o.ts, INTERVAL '1' DAY) > now()",
            "SELECT item, window_start AS s, sum(x) FROM TABLE(TUMBLE(TABLE Orders, DESCRIPTOR(`ts`), "
            "INTERVAL '1' DAY)) AS o WHERE x > 0 GROUP BY window_start, window_end, item HAVING window_end > now()",
        ),
        (
            "INSERT INTO out SELECT HOP_ROWTIME(ts, INTERVAL '1' HOUR, INTERVAL '1' DAY) FROM db.`my orders` "
            "GROUP BY HOP(ts, INTERVAL '1' HOUR, INTERVAL '1' DAY)",
            "INSERT INTO out SELECT window_time FROM TABLE(HOP(TABLE db.`my orders`, DESCRIPTOR(`ts`), "
            "INTERVAL '1' HOUR, INTERVAL '1' DAY)) AS `my orders` GROUP BY window_start, window_end",
        ),
        (
            "SELECT SESSION_END(ts, INTERVAL '1' DAY) FROM (SELECT * FROM t) AS s "
            "GROUP BY s.a, SESSION(ts, INTERVAL '1' DAY)",
            "SELECT window_end FROM TABLE(SESSION(TABLE (SELECT * FROM t) PARTITION BY (a), DESCRIPTOR(`ts`), "
            "INTERVAL '1' DAY)) AS s GROUP BY s.a, window_start, window_end",
        ),
    ],
)
def test_group_windows(query: str, same_as: str) -> None:
    assert rewrite(query).replace(" )", ")") == rewrite(same_as).replace(" )", ")")
    assert rewrite(query, True).replace(" )", ")") == rewrite(same_as, True).replace(" )", ")")


SESSION = "SESSION(TABLE Bid PARTITION BY item, user, DESCRIPTOR(ts), INTERVAL '5' MINUTES)"


def test_sessions_of_a_stream_are_aggregated_by_spark() -> None:
    query = (
        f"SELECT window_start, w.window_end AS e, item FROM {SESSION} w GROUP BY item, w.user, window_start, window_end"
    )
    rows = "(SELECT *, session_window(`ts`, '300000 milliseconds') AS __session_window FROM Bid)"
    expected = (
        "SELECT CAST(__session_window.start AS TIMESTAMP_NTZ) AS window_start, "
        "CAST(w.__session_window.end AS TIMESTAMP_NTZ) AS e, "
        f"item FROM {rows} w GROUP BY __session_window, item, w.user"
    )
    assert rewrite(query, True) == expected
    assert rewrite(query.replace("Bid", "STREAM Bid")) == expected.replace("Bid", "STREAM Bid")
    for other in (f"SELECT * FROM {SESSION}", f"SELECT 1 FROM {SESSION} GROUP BY item, window_start, window_end"):
        with pytest.raises(UnsupportedSqlError, match="Write GROUP BY item, user, window_start, window_end;"):
            rewrite(other, True)
        assert "__session_window" not in rewrite(other)


def test_other_sessions_of_a_stream_are_merged_before() -> None:
    assert rewrite(f"SELECT * FROM {SESSION} AS w", True, merges_sessions=True) == (
        "SELECT * FROM (SELECT * EXCEPT (__session_window, __last), "
        "CAST(__session_window.start AS TIMESTAMP_NTZ) AS window_start, "
        "CAST(__session_window.end AS TIMESTAMP_NTZ) AS window_end, element_at(array_append(array(struct(`ts` AS t)), "
        "struct(__session_window.end - INTERVAL '0.001' SECOND AS t)), -1).t AS window_time "
        "FROM (SELECT *, __session_window.end AS __last "
        "FROM (SELECT *, session_window(`ts`, '300000 milliseconds') AS __session_window FROM Bid) "
        """AS `__sessions_of ["item", "user"]`)) AS w"""
    )
    grouped = rewrite(
        f"SELECT count(*) FROM {SESSION} GROUP BY item, window_start, window_end", True, merges_sessions=True
    )
    assert grouped.endswith("GROUP BY window_time, item, window_start, window_end")
    by_key = f"SELECT count(*) FROM {SESSION} GROUP BY item, user, window_start, window_end"
    assert rewrite(by_key, True, merges_sessions=True) == rewrite(by_key, True)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            "TUMBLE(TABLE t, DESCRIPTOR(ts))",
            SqlSyntaxError,
            "TUMBLE takes (TABLE t, DESCRIPTOR(ts), size, [offset]); SIZE",
        ),
        ("TUMBLE(t, DESCRIPTOR(ts), INTERVAL '1' DAY)", SqlSyntaxError, "TUMBLE takes TABLE and the name of a table"),
        ("TUMBLE(TABLE t, DESCRIPTOR(a, b), INTERVAL '1' DAY)", SqlSyntaxError, "the name of one time column"),
        ("TUMBLE(TABLE t, DESCRIPTOR(a), 10)", UnsupportedSqlError, "SIZE is not an interval of days, hours"),
        ("TUMBLE(TABLE t, DESCRIPTOR(a), INTERVAL '1' MONTH)", UnsupportedSqlError, "SIZE is not an interval of days"),
        ("TUMBLE(TABLE t, DESCRIPTOR(a), INTERVAL '0' DAY)", StatementError, "TUMBLE: SIZE must be positive."),
        ("TUMBLE(TABLE t, DESCRIPTOR(a), GAP => INTERVAL '1' DAY)", SqlSyntaxError, "TUMBLE takes (TABLE t, "),
        ("TUMBLE(TABLE t PARTITION BY k, DESCRIPTOR(a), INTERVAL '1' DAY)", UnsupportedSqlError, "Use GROUP BY."),
        (
            "HOP(TABLE t, DESCRIPTOR(a), INTERVAL '10' MINUTES, INTERVAL '15' MINUTES)",
            StatementError,
            "HOP: SIZE must be an integral multiple of SLIDE, but 900 seconds is not a multiple of 600 seconds.",
        ),
        ("CUMULATE(TABLE t, DESCRIPTOR(a), INTERVAL '2' DAY, INTERVAL '1' DAY)", StatementError, "multiple of STEP"),
    ],
)
def test_wrong_calls(call: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        rewrite(f"SELECT * FROM {call}")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT TUMBLE_START(ts, INTERVAL '1' DAY) FROM t", "Add TUMBLE(...) to GROUP BY."),
        (
            "SELECT TUMBLE_START(ts, INTERVAL '1' DAY) FROM t GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)",
            "TUMBLE_START does not match the window of GROUP BY. Write TUMBLE_START with the arguments of the window.",
        ),
        (
            "SELECT HOP_START(ts, INTERVAL '1' HOUR) FROM t GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)",
            "HOP_START does not match the window of GROUP BY. Write TUMBLE_START with the arguments of the window.",
        ),
        (
            "SELECT TUMBLE_PROCTIME(ts, INTERVAL '1' HOUR) FROM t GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)",
            "TUMBLE_PROCTIME is not supported.",
        ),
        ("SELECT 1 FROM a JOIN b ON a.x = b.x GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)", "Join in a subquery"),
        ("SELECT 1 FROM a GROUP BY TUMBLE(PROCTIME(), INTERVAL '1' HOUR)", "the time must be a column"),
        (
            "SELECT 1 FROM a GROUP BY TUMBLE(ts, INTERVAL '1' HOUR), TUMBLE(ts, INTERVAL '2' HOUR)",
            "GROUP BY has two windows.",
        ),
    ],
)
def test_wrong_group_windows(query: str, message: str) -> None:
    with pytest.raises(StatementError, match=re.escape(message)):
        rewrite(query)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT tumble FROM t",
        "SELECT tumble(ts), descriptor(x) FROM t GROUP BY tumble(ts)",
        "SELECT 'TUMBLE(TABLE t, DESCRIPTOR(ts))' FROM t -- TUMBLE(TABLE t, DESCRIPTOR(ts))",
        "SELECT * FROM f(TABLE(t), DESCRIPTOR(ts))",
        "CREATE TABLE session (a INT)",
        "SELECT hop(",
        "SELECT DESCRIPTOR(tumble(",
    ],
)
def test_other_statements_are_unchanged(statement: str) -> None:
    assert rewrite(statement) == statement
