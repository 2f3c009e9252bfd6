"""The permanent tables of an application, and the names that they use in Spark's catalog."""

from __future__ import annotations

import gc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_sql.catalog.application_tables import ApplicationTables, tables_of_application
from kafka_sql.catalog.file_store import FileCatalogStore
from kafka_sql.errors import InvalidOptionError


def entry(table: str) -> Any:
    return SimpleNamespace(name=("shop", table))


def test_names_in_use_get_a_number() -> None:
    tables = ApplicationTables()
    names = []
    for _ in range(3):
        names.append(tables.free_storage_name(("shop", "o")))
        tables.storage_names.add(names[-1])
    assert names == [("shop", "o"), ("shop", "o_2"), ("shop", "o_3")]
    tables.storage_names.discard(("shop", "o_2"))
    assert tables.free_storage_name(("shop", "o")) == ("shop", "o_2")
    assert tables.free_storage_name(("default", "o")) == ("default", "o")


def test_names_that_are_not_tables_of_a_user_are_hidden() -> None:
    tables = ApplicationTables()
    tables.put(entry("o"))
    for name in ("o", "o__kafka"):
        tables.storage_names.add(("shop", name))
    assert tables.internal_names() == {"o__kafka"}


def test_every_change_increases_the_version() -> None:
    tables = ApplicationTables()
    tables.put(entry("a"))
    tables.put(entry("b"))
    assert (tables.version, [e.name for e in tables]) == (2, [("shop", "a"), ("shop", "b")])
    tables.remove(("shop", "a"))
    assert (tables.version, list(tables.tables)) == (3, [("shop", "b")])


def test_an_application_has_one_folder(tmp_path: Path) -> None:
    tables, store = ApplicationTables(), FileCatalogStore(tmp_path / "a")
    tables.attach(store)
    tables.attach(FileCatalogStore(tmp_path / "a"))
    assert tables.store is store
    with pytest.raises(InvalidOptionError, match=r"already uses catalog folder '.*/a'") as raised:
        tables.attach(FileCatalogStore(tmp_path / "b"))
    assert raised.value.option == "spark.kafka_sql.catalog"


def test_sessions_share_the_tables_while_one_of_them_exists() -> None:
    tables: ApplicationTables | None = tables_of_application("app-x")
    tables.version = 7  # type: ignore[union-attr]
    assert tables_of_application("app-x") is tables
    assert tables_of_application("app-y") is not tables
    tables = None
    gc.collect()
    assert tables_of_application("app-x").version == 0
