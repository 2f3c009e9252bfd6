"""Test the tables of a session: names, temporary tables, other sessions and the catalog folder, with a fake Spark."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_sql.catalog.application_tables import ApplicationTables
from kafka_sql.catalog.file_store import FileCatalogStore
from kafka_sql.catalog.tables import Tables
from kafka_sql.errors import (
    InvalidOptionError,
    MissingOptionError,
    StatementError,
    TableExistsError,
    UnsupportedSqlError,
)
from tests.unit.catalog.fake_spark import OPTIONS, Spark, create_tables, declare


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Tables, Spark]]:
    shared = ApplicationTables()

    def create(permanent: ApplicationTables = shared) -> tuple[Tables, Spark]:
        spark = Spark()
        return create_tables(monkeypatch, spark, permanent), spark

    return create


@pytest.fixture
def tables(session: Callable[..., tuple[Tables, Spark]]) -> Tables:
    return session()[0]


def test_names(session: Callable[..., tuple[Tables, Spark]]) -> None:
    tables, spark = session()
    assert not tables
    entry = tables.create(declare("Orders"))
    assert tables
    assert entry is not None
    assert entry.definition.accumulator_id == 7
    for name in ("orders", "ORDERS", "default.orders", "spark_catalog.Default.orders"):
        assert tables.find(tuple(name.split("."))) is entry
    for name in ("order", "shop.orders", "other.default.orders", "a.spark_catalog.default.orders"):
        assert tables.find(tuple(name.split("."))) is None
    spark.database = "shop"
    assert tables.find(("orders",)) is None
    spark.database, spark.current_catalog = "default", "iceberg"
    assert tables.find(("orders",)) is None
    assert tables.find(("default", "orders")) is None
    assert tables.find(("spark_catalog", "default", "orders")) is entry


def test_a_table_exists(tables: Tables) -> None:
    first = tables.create(declare("t"))
    with pytest.raises(TableExistsError, match=r"Table 'default\.t' already exists") as raised:
        tables.create(declare("t"))
    assert raised.value.table == "default.t"
    assert tables.create(declare("t", "CREATE TABLE IF NOT EXISTS")) is None
    assert tables.find(("t",)) is first
    second = tables.create(declare("t", columns="b INT"), replace=True)
    assert tables.find(("t",)) is second is not first


@pytest.mark.parametrize("name", ["a-b", "ä", "shop.a b"])
def test_names_that_spark_rejects(tables: Tables, name: str) -> None:
    table = replace(declare("t"), name=tuple(name.split(".")))
    with pytest.raises(StatementError, match=rf"invalid name .* or CREATE TEMPORARY TABLE `{table.name[-1]}`, which"):
        tables.create(table)
    if "." not in name:
        assert tables.create(replace(table, temporary=True)) is not None


def test_a_temporary_table_hides_a_permanent_one(tables: Tables) -> None:
    permanent = tables.create(declare("t"))
    temporary = tables.create(declare("t", "CREATE TEMPORARY TABLE"))
    assert temporary is not None
    assert (temporary.name, temporary.storage_name) == (("", "t"), ("default", "t__kafka_temporary"))
    assert tables.find(("t",)) is temporary
    assert tables.find(("default", "t")) is permanent
    assert list(tables) == [temporary, permanent]
    with pytest.raises(StatementError, match="Temporary table with identifier 't' exists"):
        tables.drop(("t",))
    assert tables.drop(("t",), temporary=True)
    assert tables.find(("t",)) is permanent
    assert not tables.drop(("t",), temporary=True)
    assert tables.drop(("t",))
    assert not tables


def test_a_temporary_table_has_no_database_and_cannot_be_renamed(tables: Tables) -> None:
    with pytest.raises(StatementError, match="a temporary table has no database"):
        tables.create(declare("shop.t", "CREATE TEMPORARY TABLE"))
    entry = tables.create(declare("t", "CREATE TEMPORARY TABLE"))
    assert entry is not None
    with pytest.raises(UnsupportedSqlError, match="cannot be renamed"):
        tables.rename(entry, ("u",))


def test_rename(tables: Tables) -> None:
    entry, existing = tables.create(declare("shop.t")), tables.create(declare("shop.existing"))
    assert entry is not None
    with pytest.raises(TableExistsError):
        tables.rename(entry, ("existing",))
    assert tables.find(("shop", "t")) is entry
    tables.rename(entry, ("u",))
    assert [e.name for e in tables] == [("shop", "existing"), ("shop", "u")]
    renamed = tables.find(("shop", "u"))
    assert renamed is not None
    tables.rename(renamed, ("default", "u"))
    assert [e.name for e in tables] == [("shop", "existing"), ("default", "u")]
    assert tables.find(("shop", "existing")) is existing


def test_computed_columns_make_the_table_a_view(session: Callable[..., tuple[Tables, Spark]]) -> None:
    tables, spark = session()
    entry = tables.create(declare("t", columns="a INT, b AS a + 1"))
    assert entry is not None
    assert entry.storage_name == ("default", "t__kafka")
    assert [s.split(" (")[0] for s in spark.statements] == [
        "CREATE TABLE `spark_catalog`.`default`.`t__kafka`",
        "CREATE VIEW `spark_catalog`.`default`.`t`",
    ]
    assert tables.internal_names() == {"t__kafka"}


def test_private_tables(session: Callable[..., tuple[Tables, Spark]]) -> None:
    tables, spark = session(ApplicationTables("kafka_sql_1f"))
    assert tables.are_private
    entry = tables.create(declare("shop.t"))
    assert entry is not None
    assert (entry.name, entry.storage_name) == (("shop", "t"), ("kafka_sql_1f", "t__kafka"))
    assert entry.provider == "kafka.shop.t"
    for name in ("t", "shop.t", "spark_catalog.shop.t"):  # the current database is default
        assert tables.find(tuple(name.split("."))) is entry
    assert tables.find(("default", "t")) is None
    assert tables.with_options(entry, {"topic": "u"}).storage_name == ("kafka_sql_1f", "t__kafka_hinted")
    temporary = tables.create(declare("x", "CREATE TEMPORARY TABLE"))
    assert temporary is not None
    assert temporary.storage_name == ("kafka_sql_1f", "x__kafka_temporary")
    spark.statements.clear()
    tables.close()
    assert spark.statements == ["DROP DATABASE IF EXISTS `spark_catalog`.`kafka_sql_1f` CASCADE"]


@pytest.mark.parametrize("head", ["CREATE TABLE IF NOT EXISTS default.t", "CREATE TABLE t", "CREATE TEMPORARY TABLE t"])
def test_names_of_private_tables_are_unique(session: Callable[..., tuple[Tables, Spark]], head: str) -> None:
    tables, _ = session(ApplicationTables("kafka_sql_1f"))
    existing = tables.create(declare("shop.t"))
    verb, _, name = head.rpartition(" ")
    with pytest.raises(StatementError, match=r"table 'shop\.t' has the same name. Over Spark Connect"):
        tables.create(declare(name, verb))
    assert list(tables) == [existing]


def test_hinted_options_are_cached_until_the_table_changes(tables: Tables) -> None:
    entry = tables.create(declare("t"))
    assert entry is not None
    hinted = tables.with_options(entry, {"topic": "u"})
    assert (hinted.name, hinted.storage_name) == (("default", "t"), ("default", "t__kafka_hinted"))
    assert hinted.table.options == {**entry.table.options, "topic": "u"}
    assert tables.with_options(entry, {"topic": "u"}) is hinted
    assert tables.with_options(entry, {"topic": "v"}).storage_name == ("default", "t__kafka_hinted_2")
    tables.alter(entry, declare("t", columns="b INT"))
    altered = tables.find(("t",))
    assert altered is not None
    assert [c.name for c in tables.with_options(altered, {"topic": "u"}).table.columns] == ["b"]
    tables.remove(altered)
    assert tables.internal_names() == set()
    with pytest.raises(InvalidOptionError):
        tables.with_options(altered, {"scan.startup.mode": "x"})


def test_a_hint_does_not_send_secrets_elsewhere(tables: Tables) -> None:
    declared = declare("t")
    entry = tables.create(replace(declared, options={**declared.options, "properties.sasl.password": "hunter2"}))
    assert entry is not None
    servers = {"properties.bootstrap.servers": "other:1"}
    with pytest.raises(MissingOptionError, match=r"OPTIONS hint of table 'default\.t': .* set them, too: '.*password'"):
        tables.with_options(entry, servers)
    hinted = tables.with_options(entry, {**servers, "properties.sasl.password": "b"})
    assert hinted.definition.client_config["sasl.password"] == "b"
    source = entry.data_source({"properties.bootstrap.servers": "other:1"})  # options of a DataFrameReader
    assert source.definition.client_config["bootstrap.servers"] == "h:1"


@pytest.mark.parametrize("change", ["alter", "replace", "drop and create"])
def test_the_secrets_of_a_views_hint_do_not_follow_its_table(
    tables: Tables, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    declared = declare("t")
    entry = tables.create(declared)
    assert entry is not None
    view = tables.with_options_for_view(entry, {"properties.sasl.password": "hunter2"})
    public = tables.with_options_for_view(entry, {"topic": "u"})
    tables.alter(entry, replace(declared, options={**declared.options, "topic": "w"}))
    assert tables.find(view.name) is not None
    entry = tables.find(("t",))
    assert entry is not None
    moved = replace(declared, options={**declared.options, "properties.bootstrap.servers": "other:1"})
    if change == "alter":
        tables.alter(entry, moved)
    elif change == "drop and create":
        tables.remove(entry)
    if change != "alter":
        tables.create(moved, replace=change == "replace")
    assert tables.find(view.name) is None
    assert "changes where the table's secrets are sent" in caplog.text
    derived = tables.find(public.name)
    assert derived is not None
    assert derived.table.options["properties.bootstrap.servers"] == "other:1"


def test_sessions_share_permanent_tables(session: Callable[..., tuple[Tables, Spark]]) -> None:
    (first, _), (second, spark) = session(), session()
    entry = first.create(declare("t"))
    first.create(declare("x", "CREATE TEMPORARY TABLE"))
    assert entry is not None
    assert spark.registered == {}
    second.refresh()
    assert spark.registered == {"kafka.default.t": entry.data_source}
    assert list(second) == [entry]
    second.drop(("t",))
    first.remove(entry)  # nothing is left to drop
    assert first.find(("t",)) is None


def test_tables_are_stored_in_the_folder(session: Callable[..., tuple[Tables, Spark]], tmp_path: Path) -> None:
    first, _ = session(ApplicationTables())
    orders = first.create(declare("orders"))
    first.create(declare("x", "CREATE TEMPORARY TABLE"))
    first.attach(FileCatalogStore(tmp_path / "tables"))
    first.create(declare("shop.items"))
    second, spark = session(ApplicationTables())
    second.attach(FileCatalogStore(tmp_path / "tables"))
    assert sorted(e.name for e in second) == [("default", "orders"), ("shop", "items")]
    assert "CREATE DATABASE IF NOT EXISTS `spark_catalog`.`shop`" in spark.statements
    stored_orders = second.find(("orders",))
    assert stored_orders is not None
    assert orders is not None
    assert stored_orders.table == orders.table
    second.drop(("orders",))
    first.refresh()
    assert first.find(("orders",)) is None
    assert first.find(("x",)) is not None


def test_a_folder_with_another_declaration(session: Callable[..., tuple[Tables, Spark]], tmp_path: Path) -> None:
    store = FileCatalogStore(tmp_path / "tables")
    store.write(("default", "t"), f"CREATE TABLE t (b INT) WITH {OPTIONS}")
    tables, _ = session(ApplicationTables())
    tables.create(declare("t"))
    with pytest.raises(TableExistsError, match=r"declares table 'default\.t' differently"):
        tables.attach(store)
    assert store.read().keys() == {("default", "t")}
    store.write(("default", "t"), f"CREATE TABLE t (a INT) WITH {OPTIONS}")
    tables.attach(store)
    assert tables.find(("t",)) is not None


def test_a_statement_that_cannot_be_applied_is_skipped(
    session: Callable[..., tuple[Tables, Spark]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = FileCatalogStore(tmp_path / "tables")
    store.write(("default", "broken"), "CREATE TABLE broken (a INT) WITH ('connector' = 'kafka')")
    store.write(("default", "t"), f"CREATE TABLE t (a INT) WITH {OPTIONS}")
    tables, _ = session(ApplicationTables())
    with caplog.at_level(logging.WARNING):
        tables.attach(store)
        tables.refresh()
    assert [e.name for e in tables] == [("default", "t")]
    assert caplog.text.count("table default.broken is skipped: ") == 1
    with pytest.raises(TableExistsError, match="its declaration could not be applied here"):
        tables.create(declare("broken"))


def test_a_table_that_cannot_be_stored_is_not_created(
    session: Callable[..., tuple[Tables, Spark]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, spark = session(ApplicationTables())
    store = FileCatalogStore(tmp_path / "tables")
    tables.attach(store)
    old = tables.create(declare("old"))

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "write", fail)
    with pytest.raises(KeyboardInterrupt):
        tables.create(declare("t"))
    assert tables.find(("t",)) is None
    assert old is not None
    with pytest.raises(KeyboardInterrupt):
        tables.alter(old, declare("old", columns="b INT"))
    assert tables.find(("old",)) is old
    assert spark.registered["kafka.default.old"] is old.data_source
