"""Test which objects in Spark's catalog are found, dropped and replaced, with a fake Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql.types import ArrayType, StructType, TimestampType, TimeType

from kafka_sql.catalog.application_tables import ApplicationTables
from kafka_sql.catalog.spark_catalog import SparkCatalog
from kafka_sql.errors import SchemaError, StatementError, TableExistsError
from kafka_sql.spark.session_catalog import CatalogObject


def information(type: str = "MANAGED", provider: str = "kafka.o", owner: str | None = "app-0", text: str = "") -> str:
    """Return a listing of SHOW TABLE EXTENDED."""
    properties = f"[kafka_sql.owner={owner}]" if owner is not None else "[]"
    return (
        f"Catalog: spark_catalog\nType: {type}\nProvider: {provider}\nTable Properties: {properties}\n"
        f"View Text: {text}\nComment: Provider: other"
    )


class Spark:
    """Runs SHOW TABLE EXTENDED over its objects, and records other statements; the first CREATE may fail."""

    def __init__(self, **objects: str) -> None:
        self.objects = objects
        self.statements: list[str] = []
        self.create_fails = False
        self.views: list[str] = []
        self._sc = object()
        self.conf = SimpleNamespace(get=lambda key, default=None: "app-1" if key == "spark.app.id" else default)
        self.catalog = SimpleNamespace(currentCatalog=lambda: "spark_catalog", currentDatabase=lambda: "Shop")
        self.dataSource = SimpleNamespace(register=lambda cls: self.statements.append(f"register {cls.name()}"))

    def sql(self, statement: str) -> Any:
        if statement.startswith("SHOW TABLE EXTENDED"):
            self.listing = statement
            rows = [
                SimpleNamespace(tableName=name, information=text, isTemporary=name.startswith("temp"))
                for name, text in self.objects.items()
            ]
            return SimpleNamespace(collect=lambda: rows)
        if statement.startswith("SHOW VIEWS"):
            views = [SimpleNamespace(viewName=name, isTemporary=True) for name in self.views]
            return SimpleNamespace(collect=lambda: views)
        self.statements.append(statement)
        if statement.startswith("CREATE") and self.create_fails:
            self.create_fails = False
            raise AnalysisException(message="exists", errorClass="TABLE_OR_VIEW_ALREADY_EXISTS", messageParameters={})
        return None

    def catalog_of_session(self, tables: ApplicationTables | None = None) -> SparkCatalog:
        spark: Any = self
        return SparkCatalog(spark, self.sql, tables or ApplicationTables())


def entry(name: str = "o", storage: str = "o", temporary: bool = False, storage_database: str = "default") -> Any:
    database = "" if temporary else "default"
    is_temporary_view = temporary or storage_database != "default"
    return SimpleNamespace(
        name=(database, name),
        view_name=("" if is_temporary_view else database, name),
        is_temporary_view=is_temporary_view,
        storage_name=(storage_database, storage),
        sql_name=f"`spark_catalog`.`{storage_database}`.`{storage}`",
        provider=f"kafka.{storage}",
        is_view=is_temporary_view or name != storage,
        table=SimpleNamespace(temporary=temporary, columns=(), computed_columns=(), comment=None),
        definition=SimpleNamespace(
            table=SimpleNamespace(source_columns=()), is_changelog=False, has_error_column=False, has_changes=False
        ),
        source_catalog="spark_catalog",
        data_source=type("Source", (), {"name": staticmethod(lambda: f"kafka.{storage}"), "spark_schema": ()}),
    )


def test_existing_objects() -> None:
    spark = Spark(
        O=information(),
        o__kafka=information(owner=None),
        files=information(provider="parquet"),
        v=information("VIEW", "", None, "SELECT 1"),
        temp=information(),
    )
    assert spark.catalog_of_session()._find(("shop", "o")) == {
        "o": CatalogObject(False, "kafka.o", "app-0", ""),
        "o__kafka": CatalogObject(False, "kafka.o", None, ""),
        "files": CatalogObject(False, "parquet", None, ""),
        "v": CatalogObject(True, "", None, "SELECT 1"),
    }
    assert spark.listing == "SHOW TABLE EXTENDED IN spark_catalog.`shop` LIKE 'o*'"


def test_a_table_with_time_needs_the_type_to_be_enabled() -> None:
    table = entry()
    table.definition.name = "o"
    table.data_source.spark_schema = StructType().add("a", TimestampType()).add("b", ArrayType(TimeType(6)))
    spark = Spark()
    get, settings = spark.conf.get, {"spark.sql.timeType.enabled": "false"}
    spark.conf.get = lambda key, default=None: settings.get(key) or get(key, default)
    message = r"Column 'b': Spark's type TIME is not enabled. SET spark\.sql\.timeType\.enabled = true in each session"
    with pytest.raises(SchemaError, match=message):
        spark.catalog_of_session().put(table, None)
    assert spark.statements == []
    settings.clear()
    spark.catalog_of_session().put(table, None)
    assert len(spark.statements) == 2


def test_only_data_sources_of_this_package_are_dropped() -> None:
    for text, is_dropped in (
        (information(), True),
        (information(owner=None), False),
        (information(provider="kafka.other"), False),
    ):
        spark = Spark(o=text)
        spark.catalog_of_session().remove(entry())
        assert spark.statements == (["DROP TABLE IF EXISTS `spark_catalog`.`default`.`o`"] if is_dropped else [])


@pytest.mark.parametrize(("source", "is_dropped"), [("`spark_catalog`.`default`.`o__kafka`", True), ("files", False)])
def test_a_view_of_the_user_is_not_dropped(source: str, is_dropped: bool) -> None:
    spark = Spark(o=information("VIEW", "", None, f"SELECT * FROM {source}"))
    spark.catalog_of_session().remove(entry(storage="o__kafka"))
    assert spark.statements == (["DROP VIEW IF EXISTS `spark_catalog`.`default`.`o`"] if is_dropped else [])


def test_the_temporary_view_of_a_table_is_dropped() -> None:
    spark = Spark()
    spark.views = ["O"]
    spark.catalog_of_session().remove(entry(storage="o__kafka_temporary", temporary=True))
    assert spark.statements == ["DROP VIEW IF EXISTS `o`"]


def test_a_view_of_the_user_is_not_dropped_instead_of_a_temporary_view_that_is_gone() -> None:
    spark = Spark()
    spark.views = ["other"]
    spark.catalog_of_session().remove(entry(storage="o__kafka_temporary", temporary=True))
    assert spark.statements == []


def private_entry() -> Any:
    return entry(storage="o__kafka", storage_database="kafka_sql_1f")


def test_a_private_table_is_a_temporary_view_over_a_private_database() -> None:
    spark = Spark()
    catalog = spark.catalog_of_session(ApplicationTables("kafka_sql_1f"))
    catalog.put(private_entry(), None)
    assert [statement.partition(" (")[0].partition(" COMMENT")[0] for statement in spark.statements] == [
        "register kafka.o__kafka",
        "CREATE DATABASE IF NOT EXISTS `spark_catalog`.`kafka_sql_1f`",
        "CREATE TABLE `spark_catalog`.`kafka_sql_1f`.`o__kafka`",
        "CREATE TEMPORARY VIEW `o`",
    ]
    spark.statements.clear()
    catalog.drop_private_database()
    assert spark.statements == ["DROP DATABASE IF EXISTS `spark_catalog`.`kafka_sql_1f` CASCADE"]


def test_no_database_is_dropped_without_private_tables() -> None:
    spark = Spark()
    spark.catalog_of_session().drop_private_database()
    assert spark.statements == []


@pytest.mark.parametrize(
    ("objects", "is_free"),
    [
        ({"o": information(owner=None)}, False),
        ({"o": information("VIEW", "", None, "SELECT 1")}, False),
        ({"o": information()}, True),  # of a pipeline
        ({"o": information("VIEW", "", None), "o__kafka": information()}, True),
        ({"o2": information(owner=None)}, True),
    ],
    ids=["table", "view", "table of a pipeline", "view of a pipeline", "other name"],
)
def test_a_private_table_does_not_hide_a_table_of_spark(objects: dict[str, str], is_free: bool) -> None:
    spark = Spark(**objects)
    catalog = spark.catalog_of_session(ApplicationTables("kafka_sql_1f"))
    if is_free:
        catalog.put(private_entry(), None)
        return
    with pytest.raises(TableExistsError, match=r"'default\.o' already exists as a Spark table or view"):
        catalog.put(private_entry(), None)
    assert spark.statements == []


def test_dropping_a_source_releases_its_name() -> None:
    tables = ApplicationTables()
    catalog = Spark().catalog_of_session(tables)
    catalog.create_source(entry())
    assert ("default", "o") in tables.storage_names
    catalog.drop_source(entry())
    assert ("default", "o") not in tables.storage_names


def test_a_table_of_an_ended_application_is_replaced() -> None:
    spark = Spark(o=information(owner="app-0"))
    spark.create_fails = True
    spark.catalog_of_session().create_source(entry())
    first_create, drop, second_create = spark.statements
    assert first_create == second_create
    assert drop == "DROP TABLE `spark_catalog`.`default`.`o`"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (information(owner=None), "'default.o' already exists as a Spark table or view"),
        (information(provider="parquet"), "'default.o' already exists as a Spark table or view"),
        (information(owner="app-1"), "another client of this Spark server created it"),
    ],
    ids=["no owner", "another provider", "this application"],
)
def test_other_objects_are_not_replaced(text: str, message: str) -> None:
    spark = Spark(o=text)
    spark.create_fails = True
    with pytest.raises(TableExistsError, match=message) as raised:
        spark.catalog_of_session().create_source(entry())
    assert raised.value.table == "default.o"
    assert len(spark.statements) == 1


def test_a_failed_replacement_restores_the_old_table() -> None:
    spark = Spark(o=information(owner=None))
    catalog = spark.catalog_of_session()
    old, new = entry(), entry()
    catalog.register(old)
    spark.create_fails = True
    with pytest.raises(TableExistsError):
        catalog.put(new, old)
    creates = [s for s in spark.statements if s.startswith("CREATE")]
    assert len(creates) == 2
    assert spark.statements.count("register kafka.o") == 3  # old, new, old again


def test_a_class_is_registered_once() -> None:
    spark = Spark()
    catalog, table = spark.catalog_of_session(), entry()
    catalog.register(table)
    catalog.register(table)
    assert spark.statements == ["register kafka.o"]


def test_current_database() -> None:
    spark = Spark()
    assert spark.catalog_of_session().current_database() == "shop"
    spark.catalog.currentCatalog = lambda: "iceberg"
    with pytest.raises(StatementError, match="the current catalog is 'iceberg'"):
        spark.catalog_of_session().current_database()
