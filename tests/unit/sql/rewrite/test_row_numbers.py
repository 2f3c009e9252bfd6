"""ROW_NUMBER over streams: which queries are deduplications and Top-N, and the aggregates that they become."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.errors import UnsupportedSqlError
from kafka_sql.spark.plan import ATTRIBUTE, Expression, Operator
from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.edits import Template, apply_edits, fill_template
from kafka_sql.sql.rewrite.row_numbers import rewrite_row_numbers
from kafka_sql.sql.rewrite.temporal_joins import replace_proctime
from kafka_sql.sql.rewrite.windows.window_blocks import WindowBlocks

COLUMNS = ["a", "k", "ts", "rn"]


def analyzed_rows(is_streaming: bool = True, time: bool = True, version: str = "4.3.0") -> Any:
    """Return the rows of a block.

    Args:
        time: whether they are in the order of an event time.
    """
    metadata = {"spark.watermarkDelayMs": 1000} if time else {}
    plan = Operator("Project", columns=(Expression("Alias", (Expression(ATTRIBUTE, text="ts"),), text="rn"),))
    schema = {"rn": SimpleNamespace(metadata=metadata)}
    session = SimpleNamespace(version=version)
    return SimpleNamespace(
        columns=COLUMNS, isStreaming=is_streaming, schema=schema, sparkSession=session, _kafka_sql_plan=plan
    )


def rewrite(
    sql: str, streaming: bool = True, is_streaming: bool = True, time: bool = True, version: str = "4.3.0"
) -> str:
    analyzed = analyzed_rows(is_streaming, time, version)
    query = QueryText(sql)
    edits = rewrite_row_numbers(query, WindowBlocks(query), streaming, lambda _: analyzed)
    return apply_edits(sql, [*replace_proctime(query), *edits])


def analyzed_part(sql: str) -> str:
    """Return the part of a query that is analyzed."""
    analyzed: list[Template] = []

    def analyze(part: Template) -> Any:
        analyzed.append(part)
        return analyzed_rows()

    text = QueryText(sql)
    list(rewrite_row_numbers(text, WindowBlocks(text), True, analyze))
    (part,) = analyzed
    return fill_template(sql, (), part)


def query(over: str = "PARTITION BY k ORDER BY ts DESC", where: str = "rn = 1", source: str = "t") -> str:
    return f"SELECT a FROM (SELECT *, ROW_NUMBER() OVER ({over}) AS rn FROM {source}) AS x WHERE {where}"


ARRIVAL = "kafka_sql.arrival_order()"
ONE = (
    "SELECT a FROM (SELECT __row.`a` AS `a`, __key1 AS `k`, __row.`ts` AS `ts`, CAST(1 AS BIGINT) AS `rn` FROM "
    "(SELECT __key1, {function}(struct(`a`, `k`, `ts`), struct(__order1, __order2)) AS __row FROM (SELECT *, "
    "k AS __key1, ts AS __order1, {arrival} AS __order2 FROM t) GROUP BY __key1)) AS x "
    "WHERE {where}"
)


@pytest.mark.parametrize(
    ("over", "where"),
    [("PARTITION BY k ORDER BY ts", "rn = 1"), ("PARTITION BY k ORDER BY ts DESC", "rn <= 2")],
    ids=["first row", "top n"],
)
def test_what_needs_spark_4_2(over: str, where: str) -> None:
    assert rewrite(query(over, where), version="4.2.0-SNAPSHOT") == rewrite(query(over, where))
    assert rewrite(query(over, where), version="4.1.4", is_streaming=False) == query(over, where)
    with pytest.raises(UnsupportedSqlError, match=r"need PySpark 4\.2 or newer, and this is 4\.1\.4\..* rn = 1\.$"):
        rewrite(query(over, where), version="4.1.4")
    assert rewrite(query(), version="4.1.4") == rewrite(query())


@pytest.mark.parametrize("where", ["rn = 1", "x.rn <= 1", "rn < 2", "1 = rn", "2>rn", "1 >= rn"])
def test_deduplication(where: str) -> None:
    assert rewrite(query(where=where)) == ONE.format(function="max_by", arrival=ARRIVAL, where="TRUE")
    of_number = ONE.format(function="max_by", arrival=f"-{ARRIVAL}", where="TRUE")
    assert rewrite(query(where=where), time=False) == of_number
    first = ONE.format(function="min_by", arrival=ARRIVAL, where="a > 2 AND TRUE")
    for over in ("PARTITION BY k ORDER BY ts", "partition by k order by ts asc"):
        assert rewrite(query(over, f"a > 2 AND {where}")) == first


def test_top_n() -> None:
    top = "min_by(struct(`a`, `k`, `ts`), struct(__order1, __order2, __order3), 3) AS __top_rows"
    body = f"SELECT *, t.k AS __key1, a + 1 AS __key2, ts AS __order1, a AS __order2, {ARRIVAL} AS __order3 FROM t"
    assert rewrite(query("PARTITION BY t.k, a + 1 ORDER BY ts, a", "rn <= 3 AND a IN (1, 2)")) == (
        "SELECT a FROM (SELECT __row.`a` AS `a`, __key1 AS `k`, __row.`ts` AS `ts`, CAST(__position + 1 AS BIGINT) AS "
        f"`rn` FROM (SELECT __key1, __key2, {top} FROM ({body}) GROUP BY __key1, __key2) "
        "LATERAL VIEW posexplode(__top_rows) AS __position, __row) AS x WHERE TRUE AND a IN (1, 2)"
    )
    last = rewrite(query("ORDER BY PROCTIME() DESC", "rn <= 2"))
    assert "FROM (SELECT max_by(struct(`a`, `k`, `ts`), struct(__order1, __order2), 2) AS __top_rows FROM" in last
    assert f"current_timestamp() AS __order1, -{ARRIVAL} AS __order2 FROM t)" in last


def test_a_hint_stays_with_its_table() -> None:
    hint = "/*+ OPTIONS('a' = 'b') */"
    assert f"AS __order2 FROM t {hint}) GROUP BY __key1" in rewrite(query(source=f"t {hint}"))


def test_only_streams_are_rewritten() -> None:
    assert rewrite(query(), streaming=False) == query()
    assert rewrite(query(), is_streaming=False) == query()
    assert rewrite(query(source="STREAM t"), streaming=False) != query(source="STREAM t")


def test_windows_are_closed_by_their_window_time() -> None:
    windows = "(SELECT *, w.end AS window_end, element_at(__last) AS window_time FROM t)"
    groups = f"(SELECT window_start, window_end, k, sum(a) AS a FROM {windows} GROUP BY window_start, window_end, k)"
    sql = rewrite(query("PARTITION BY window_start, window_end ORDER BY a DESC", "rn <= 2", groups))
    hidden = f"window_end AS __key2, window_time AS __window_time, a AS __order1, -{ARRIVAL} AS __order2"
    assert f"{hidden} FROM (SELECT window_start" in sql
    assert "sum(a) AS a, window_time FROM (SELECT" in sql
    assert "GROUP BY __key1, __key2, __window_time) LATERAL VIEW" in sql


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (query(where="rn = 2"), "needs the condition WHERE rn = 1, or rn <= n"),
        (query(where="a = 1"), "needs the condition WHERE rn = 1"),
        (query(where="rn = 1 OR a = 1"), "needs the condition WHERE rn = 1"),
        (query("PARTITION BY k"), "ORDER BY must have columns of one direction"),
        (query("PARTITION BY k ORDER BY a DESC, ts"), "ORDER BY must have columns of one direction"),
        (query("PARTITION BY k ORDER BY a NULLS LAST"), "remove NULLS FIRST or LAST"),
        (query(source="t UNION ALL SELECT 1"), "without UNION or LIMIT"),
        (query(source=f"({query()})"), "a Top-N or deduplication of another one is not supported"),
    ],
)
def test_rejected(sql: str, message: str) -> None:
    with pytest.raises(UnsupportedSqlError, match=re.escape(message)):
        rewrite(sql)


def test_common_table_expressions_are_analyzed_with_the_block() -> None:
    ctes = "WITH u AS (SELECT 1), v AS (SELECT * FROM (SELECT 2))"
    queries = [f"{ctes} {query(source='v')}", f"{ctes}, w AS ({query(source='u')}) SELECT * FROM w", query()]
    assert list(map(analyzed_part, queries)) == [
        f"{ctes} SELECT *, ts AS `rn` FROM v",
        f"{ctes} SELECT *, ts AS `rn` FROM u",
        "SELECT *, ts AS `rn` FROM t",
    ]


@pytest.mark.parametrize(
    "sql",
    ["SELECT ROW_NUMBER() OVER (ORDER BY a) FROM t", "SELECT * FROM (SELECT ROW_NUMBER(", "SELECT row_number ()"],
)
def test_other_queries_are_unchanged(sql: str) -> None:
    assert rewrite(sql) == sql
