"""Flink's table functions for windows are rejected with what to write instead."""

from __future__ import annotations

import pytest

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.recognize.window_functions import check_window_functions


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        (
            "TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '10' MINUTES))",
            "TUMBLE is not supported. Write GROUP BY window(ts, '10 minutes').",
        ),
        (
            "tumble(DATA => TABLE orders, TIMECOL => descriptor (`order time`), SIZE => INTERVAL '10' MINUTES)",
            "TUMBLE is not supported. Write GROUP BY window(`order time`, '10 minutes').",
        ),
        (
            "TABLE(HOP(TABLE orders, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES))",
            "Write GROUP BY window(ts, '10 minutes', '5 minutes'), with the size before the slide.",
        ),
        (
            "TABLE(SESSION(TABLE orders PARTITION BY item, DESCRIPTOR(ts), INTERVAL '5' MINUTES))",
            "SESSION is not supported. Write GROUP BY session_window(ts, '10 minutes').",
        ),
        (
            "TABLE(CUMULATE(TABLE (orders), DESCRIPTOR(ts), INTERVAL '2' MINUTES, INTERVAL '10' MINUTES))",
            "Write GROUP BY window(ts, '1 minute') with the step as the size, and add up the results.",
        ),
    ],
)
def test_advice(source: str, advice: str) -> None:
    for statement in (f"SELECT * FROM {source}", f"INSERT INTO t SELECT count(*) FROM {source} GROUP BY window_start"):
        with pytest.raises(UnsupportedSqlError) as e:
            check_window_functions(statement)
        assert str(e.value).startswith("[UNSUPPORTED_SQL] Flink's table function ")
        assert str(e.value).endswith(advice)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT tumble FROM t",
        "SELECT tumble(ts), descriptor(x) FROM t",
        "SELECT 'TUMBLE(TABLE t, DESCRIPTOR(ts))' FROM t -- TUMBLE(TABLE t, DESCRIPTOR(ts))",
        "SELECT * FROM f(TABLE(t), DESCRIPTOR(ts))",
        "SELECT DESCRIPTOR(tumble",
        "SELECT TUMBLE(DESCRIPTOR(",
    ],
)
def test_other_statements_are_accepted(statement: str) -> None:
    check_window_functions(statement)
