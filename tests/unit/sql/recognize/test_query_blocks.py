"""Blocks of queries and their clauses."""

from __future__ import annotations

import pytest

from kafka_sql.sql.recognize.query_text import QueryText


def clauses(sql: str) -> list[dict[str, str]]:
    query = QueryText(sql)
    return [{name: query.part(part) for name, part in block.clauses.items() if part} for block in query.blocks]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("TABLE t", []),
        ("SELECT a, offset FROM t;", [{"SELECT": "a, offset", "FROM": "t"}]),
        (
            "INSERT INTO s SELECT a FROM t WHERE a IS DISTINCT FROM b GROUP BY a HAVING c ORDER BY d LIMIT 3 OFFSET 2",
            [
                {
                    "SELECT": "a",
                    "FROM": "t",
                    "WHERE": "a IS DISTINCT FROM b",
                    "GROUP": "a",
                    "HAVING": "c",
                    "ORDER": "d",
                    "LIMIT": "3",
                    "OFFSET": "2",
                }
            ],
        ),
        (
            "SELECT * EXCEPT (a), x IS NOT DISTINCT FROM y FROM (SELECT EXTRACT(DAY FROM a) FROM t) "
            "UNION ALL SELECT b FROM u",
            [
                {
                    "SELECT": "* EXCEPT (a), x IS NOT DISTINCT FROM y",
                    "FROM": "(SELECT EXTRACT(DAY FROM a) FROM t)",
                },
                {"SELECT": "EXTRACT(DAY FROM a)", "FROM": "t"},
                {"SELECT": "b", "FROM": "u"},
            ],
        ),
        (
            "WITH q AS (SELECT 1) SELECT a.from, rank() OVER w FROM q WINDOW w AS (ORDER BY a) QUALIFY b",
            [
                {"SELECT": "1"},
                {"SELECT": "a.from, rank() OVER w", "FROM": "q", "WINDOW": "w AS (ORDER BY a)", "QUALIFY": "b"},
            ],
        ),
        ("SELECT (a", []),
        (") SELECT a)", [{"SELECT": "a"}]),
    ],
)
def test_clauses(sql: str, expected: list[dict[str, str]]) -> None:
    assert clauses(sql) == expected
