"""Test how table names are resolved."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.sql.recognize.names import find_declared_table, resolve_table, strip_catalog


class Tables:
    """A permanent table default.t and tables t and s of the session; a view hides the name v."""

    def __init__(self, *names: tuple[str, ...]) -> None:
        self.names = names

    def __bool__(self) -> bool:
        return bool(self.names)

    def find(self, name: tuple[str, ...]) -> Any:
        for candidate in (("", *name), ("default", *name)) if len(name) == 1 else (name,):
            if candidate in self.names:
                temporary = not candidate[0]
                table = SimpleNamespace(temporary=temporary)
                return SimpleNamespace(name=candidate, table=table, is_temporary_view=temporary or candidate[0] == "c")
        return None

    def is_hidden_by_view(self, name: str) -> bool:
        return name == "v"

    def spark_sql(self, text: str) -> Any:
        assert text == "SELECT current_database()"
        return SimpleNamespace(collect=lambda: [("default",)])


TABLES: Any = Tables(("default", "t"), ("", "t"), ("", "s"), ("default", "v"), ("", "w"), ("default", "p"), ("c", "p"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (("t",), ("t",)),
        (("d", "t"), ("d", "t")),
        (("spark_catalog", "d", "t"), ("d", "t")),
        (("SPARK_CATALOG", "D", "t"), ("D", "t")),
        (("default_catalog", "d", "t"), ("d", "t")),
        (("default_catalog", "Default_Database", "t"), ("default", "t")),
        (("spark_catalog", "default_database", "t"), ("default_database", "t")),
        (("other", "d", "t"), ("other", "d", "t")),
        (("a", "b", "c", "d"), ("a", "b", "c", "d")),
    ],
)
def test_catalogs(name: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert strip_catalog(name) == expected


def resolved(*name: str) -> Any:
    entry = resolve_table(TABLES, name)
    return entry and entry.name


def test_a_view_hides_a_permanent_table_unless_the_name_has_its_database() -> None:
    assert resolved("t") == ("", "t")
    assert resolved("p") == ("default", "p")
    assert resolved("v") is None
    assert resolved("default", "v") == ("default", "v")
    assert resolved("none") is None
    no_tables: Any = Tables()
    assert resolve_table(no_tables, ("t",)) is None


def test_a_statement_may_mean_the_temporary_or_the_permanent_table() -> None:
    def find(name: str, temporary: bool) -> Any:
        entry = find_declared_table(TABLES, (name,), temporary)
        return entry and entry.name

    assert find("t", temporary=True) == ("", "t")
    assert find("t", temporary=False) == ("default", "t")
    assert find("p", temporary=True) is None
    assert find("p", temporary=False) == ("default", "p")
    assert find("s", temporary=False) is None
    assert find("v", temporary=False) == ("default", "v")


def test_a_table_that_is_a_temporary_view_in_spark_counts_as_temporary() -> None:
    tables: Any = SimpleNamespace(find=lambda name: TABLES.find(("c", "p")), is_hidden_by_view=lambda name: True)
    for found in (resolve_table(tables, ("p",)), find_declared_table(tables, ("p",), temporary=True)):
        assert found is not None
        assert found.name == ("c", "p")
