"""Test where a query has the clause FOR SYSTEM_TIME AS OF."""

from __future__ import annotations

import pytest

from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.recognize.table_references import find_table_references


@pytest.mark.parametrize(
    ("clause", "time", "alias", "join"),
    [
        ("JOIN d FOR SYSTEM_TIME AS OF o.pt AS x ON o.a = x.a", "o.pt", "x", "JOIN"),
        ("left outer join d for system_time as of o.pt x on o.a = x.a", "o.pt", "x", "LEFT OUTER JOIN"),
        ("JOIN d FOR SYSTEM_TIME AS OF pt ON TRUE", "pt", "", "JOIN"),
        (", d FOR SYSTEM_TIME AS OF `o`.`p t` WHERE o.a = d.a", "o.p t", "", ""),
        ("JOIN d /*+ OPTIONS('a' = 'b') */ FOR SYSTEM_TIME AS OF db.o.pt x", "db.o.pt", "x", "JOIN"),
        ("FULL JOIN d FOR SYSTEM_TIME AS OF o.pt x", "o.pt", "x", "FULL JOIN"),
        # time travel of Spark
        ("JOIN d FOR SYSTEM_TIME AS OF '2026-01-01' AS x ON TRUE", None, "", ""),
        ("JOIN d FOR SYSTEM_TIME AS OF TIMESTAMP '2026-01-01' AS x ON TRUE", None, "", ""),
        ("JOIN d FOR SYSTEM_TIME AS OF date_sub(current_date(), 1) AS x", None, "", ""),
        ("JOIN d FOR", None, "FOR", ""),
    ],
)
def test_clause(clause: str, time: str | None, alias: str, join: str) -> None:
    sql = f"SELECT * FROM orders AS o {clause}"
    left, right = find_table_references(QueryText(sql))
    assert (left.name, left.suffix.alias, left.as_of) == (("orders",), "o", None)
    assert right.suffix.alias == alias
    if time is None:
        assert right.as_of is None
        return
    assert right.as_of is not None
    assert (".".join(right.as_of.time), " ".join(right.as_of.join)) == (time, join)
    text = sql[right.as_of.start : right.as_of.end]
    assert text.upper().startswith("FOR SYSTEM_TIME AS OF")
    assert text.endswith(time.split(".")[-1].split(" ")[-1] + ("`" if " " in time else ""))


def test_several_joins() -> None:
    sql = """SELECT * FROM o JOIN a FOR SYSTEM_TIME AS OF o.t AS a ON o.x = left(a.x, 2)
        LEFT JOIN b FOR SYSTEM_TIME AS OF o.t ON o.y = b.y, c WHERE a.z = 1"""
    references = find_table_references(QueryText(sql))
    assert [(r.name[0], r.suffix.alias, r.as_of is not None) for r in references] == [
        ("o", "", False),
        ("a", "a", True),
        ("b", "", True),
        ("c", "", False),
    ]
