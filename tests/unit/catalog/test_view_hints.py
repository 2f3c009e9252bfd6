"""The names and options of the tables that views with hints read."""

from __future__ import annotations

from kafka_sql.catalog import view_hints
from kafka_sql.table.table import Table

BASE = Table(
    ("default", "t"), (), options={"topic": "t", "error-handling.mode": "log", "error-handling.log.target": "d"}
)


def test_names() -> None:
    name = view_hints.free_name(("default", "t"), {("default", "t__view_options_1"), ("other", "t__view_options_2")})
    assert name == ("default", "t__view_options_2")
    assert view_hints.base_of(name) == ("default", "t")
    assert view_hints.base_of(("default", "t__view_options_")) is None


def test_options() -> None:
    assert view_hints.merge_options(BASE, {"topic": "u"}) == {**BASE.options, "topic": "u"}
    assert view_hints.merge_options(BASE, {"error-handling.mode": "skip"}) == {
        "topic": "t",
        "error-handling.mode": "skip",
    }
    derived = Table(("default", "x"), (), options=view_hints.merge_options(BASE, {"topic": "u"}))
    assert view_hints.hint_of(BASE, derived) == {"topic": "u"}
