"""Test the replacement of Flink's PROCTIME() and of its lookup hints."""

from __future__ import annotations

from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.edits import apply_edits
from kafka_sql.sql.rewrite.temporal_joins import remove_lookup_hints, replace_proctime


def test_proctime() -> None:
    sql = "SELECT proctime ( ) AS p, t.proctime, 'PROCTIME()' FROM t -- PROCTIME()"
    assert apply_edits(sql, replace_proctime(QueryText(sql))) == (
        "SELECT current_timestamp() AS p, t.proctime, 'PROCTIME()' FROM t -- PROCTIME()"
    )


def test_lookup_hints() -> None:
    hint = "/*+ LOOKUP('table'='(c)', 'retry'='1'), lookup('table' = 'd') */"
    sql = f"SELECT {hint} /*+ BROADCAST(d) */ '/*+ LOOKUP() */' FROM t"
    assert (
        apply_edits(sql, remove_lookup_hints(QueryText(sql))) == "SELECT  /*+ BROADCAST(d) */ '/*+ LOOKUP() */' FROM t"
    )
