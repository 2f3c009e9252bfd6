"""Test how column qualifiers are shortened where a subquery replaces the table."""

from __future__ import annotations

import pytest

from kafka_sql.sql.rewrite.qualifiers import shorten_qualifiers
from kafka_sql.sql.rewrite.table_references import apply_edits

ALIASES = {("db", "t"): "t", ("spark_catalog", "db", "t"): "t", ("db", "u v"): "u v"}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT db.t.a", "SELECT `t`.a"),
        ("SELECT DB.`T`.a, db.t.*", "SELECT `t`.a, `t`.*"),
        ("SELECT DB . `T` . *", "SELECT `t` . *"),
        ("SELECT spark_catalog.db.t.a.field", "SELECT `t`.a.field"),
        ("SELECT db.`u v`.a", "SELECT `u v`.a"),
        ("SELECT db.t", "SELECT db.t"),  # column t of table db
        ("SELECT other.t.a, x.db.t.a, t.a", "SELECT other.t.a, x.db.t.a, t.a"),
        ("SELECT 'db.t.a', db.t.b -- db.t.c", "SELECT 'db.t.a', `t`.b -- db.t.c"),
        ("SELECT db.t(1), db.tt.a /* db.t.a */", "SELECT db.t(1), db.tt.a /* db.t.a */"),
        ("SELECT f(db.t.a)+db.t.b", "SELECT f(`t`.a)+`t`.b"),
    ],
)
def test_qualifiers_of_columns(sql: str, expected: str) -> None:
    assert apply_edits(sql, shorten_qualifiers(sql, ALIASES, ())) == expected


def test_the_table_names_themselves_are_not_columns() -> None:
    sql = "SELECT db.t.a FROM db.t.x"
    start = sql.index("db.t.x")
    assert apply_edits(sql, shorten_qualifiers(sql, ALIASES, [(start, len(sql))])) == "SELECT `t`.a FROM db.t.x"
