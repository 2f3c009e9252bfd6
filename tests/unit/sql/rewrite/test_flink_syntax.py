"""Test what is rewritten because only Flink's parser accepts it."""

from __future__ import annotations

import pytest

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.edits import apply_edits
from kafka_sql.sql.rewrite.flink_syntax import rewrite_flink_syntax


def rewrite(sql: str) -> str:
    return apply_edits(sql, rewrite_flink_syntax(QueryText(sql), streaming=False))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT `$$T`.a, E$0 FROM (SELECT $f1 FROM t) $$T", "SELECT `$$T`.a, `E$0` FROM (SELECT `$f1` FROM t) `$$T`"),
        ("SELECT '$a', ${spark.name}, a -- $b\nFROM t", "SELECT '$a', ${spark.name}, a -- $b\nFROM t"),
    ],
)
def test_names(sql: str, expected: str) -> None:
    assert rewrite(sql) == expected


def test_varchar_without_a_length() -> None:
    sql = "SELECT CAST(try_cast(a AS varchar) AS VARCHAR), CAST(varchar AS VARCHAR(3)), (a) AS varchar, CAST('x' AS"
    assert rewrite(sql) == (
        "SELECT CAST(try_cast(a AS STRING) AS STRING), CAST(varchar AS VARCHAR(3)), (a) AS varchar, CAST('x' AS"
    )


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("LIMIT 2 OFFSET 1 ROWS", "LIMIT 2 OFFSET 1"),
        ("OFFSET 1 ROW FETCH NEXT 2 ROWS ONLY", "LIMIT 2 OFFSET 1"),
        ("FETCH FIRST ROW ONLY", "LIMIT 1"),
        ("OFFSET 3 rows) u", "OFFSET 3) u"),
        ("OFFSET 3", "OFFSET 3"),
        ("OFFSET 0 ROWS FETCH NEXT 2 ROWS ONLY", "LIMIT 2"),
        ("WHERE fetch = offset", "WHERE fetch = offset"),
        ("FETCH", "FETCH"),
    ],
)
def test_limits(sql: str, expected: str) -> None:
    assert rewrite(f"SELECT a FROM t {sql}") == f"SELECT a FROM t {expected}"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("ROWS BETWEEN CAST(2 AS BIGINT) PRECEDING AND CURRENT ROW", "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"),
        (
            "RANGE BETWEEN INTERVAL '0 1' DAY(1) TO SECOND(3) PRECEDING",
            "RANGE BETWEEN INTERVAL '0 1' DAY TO SECOND PRECEDING",
        ),
        ("INTERVAL '1' SECOND(3), CAST(2 AS BIGINT) preceding_", "INTERVAL '1' SECOND, CAST(2 AS BIGINT) preceding_"),
        ("INTERVAL '1' DAY TO HOUR, INTERVAL", "INTERVAL '1' DAY TO HOUR, INTERVAL"),
    ],
)
def test_frames_and_intervals(sql: str, expected: str) -> None:
    assert rewrite(f"SELECT {sql}") == f"SELECT {expected}"


def test_state_hints_have_no_effect_in_a_batch() -> None:
    assert rewrite("SELECT /*+ state_ttl('a' = '1 d', 'b' = '(2) d') */ a FROM a JOIN b") == "SELECT  a FROM a JOIN b"
    with pytest.raises(UnsupportedSqlError, match=r"Hint STATE_TTL is not supported.* declare a WATERMARK"):
        rewrite_flink_syntax(QueryText("SELECT /*+ STATE_TTL('a' = '1 d') */ a FROM a JOIN b"), streaming=True)


def test_several_state_hints() -> None:
    assert rewrite("SELECT /*+ STATE_TTL('a' = '1 d'), STATE_TTL('b' = '2 d') */ a FROM a") == "SELECT  a FROM a"


def test_types_of_rows() -> None:
    sql = "SELECT CAST(ROW(a, 'x') AS ROW<`b` ARRAY<ROW<c INT>>>), row(a), row FROM t LIMIT 1 OFFSET 1 ROW"
    assert rewrite(sql) == (
        "SELECT CAST(struct(a, 'x') AS STRUCT<`b` ARRAY<STRUCT<c INT>>>), row(a), row FROM t LIMIT 1 OFFSET 1"
    )


def test_watermarks_are_null_in_a_batch() -> None:
    sql = "SELECT Current_Watermark(t.ts), current_watermark FROM t"
    assert rewrite(sql) == "SELECT nullif(t.ts, t.ts), current_watermark FROM t"
    with pytest.raises(UnsupportedSqlError, match="CURRENT_WATERMARK is not supported in a continuous query"):
        rewrite_flink_syntax(QueryText(sql), streaming=True)


def test_match_recognize() -> None:
    with pytest.raises(UnsupportedSqlError, match=r"MATCH_RECOGNIZE is not supported.* a JOIN of the table"):
        rewrite("SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES A.a AS a PATTERN (A B) DEFINE A AS a = 1)")
    assert rewrite("SELECT match_recognize FROM t") == "SELECT match_recognize FROM t"


def test_collect() -> None:
    assert rewrite("SELECT COLLECT(DISTINCT a) FILTER (WHERE b), t.collect(c) FROM t") == (
        "SELECT map_from_entries(transform(array_distinct(collect_list(DISTINCT a) FILTER (WHERE b)), "
        "__value -> struct(__value, 1))), t.collect(c) FROM t"
    )
