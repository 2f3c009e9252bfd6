"""Test how column qualifiers are shortened where a subquery replaces the table."""

from __future__ import annotations

import pytest

from kafka_sql.sql.recognize.query_text import QueryText
from kafka_sql.sql.rewrite.edits import Edit, apply_edits
from kafka_sql.sql.rewrite.qualifiers import shorten_qualifiers

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
    assert apply_edits(sql, shorten_qualifiers(QueryText(sql), ALIASES)) == expected


def test_the_table_names_themselves_are_not_columns() -> None:
    sql = "SELECT db.t.a FROM db.t.x"
    table = Edit(sql.index("db.t.x"), len(sql), "u")
    assert apply_edits(sql, [*shorten_qualifiers(QueryText(sql), ALIASES), table]) == "SELECT `t`.a FROM u"
