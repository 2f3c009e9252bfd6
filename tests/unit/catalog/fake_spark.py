"""A session without Spark, with the real tables of this package."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.types import StructType

from kafka_sql.catalog import tables as module
from kafka_sql.catalog.application_tables import ApplicationTables
from kafka_sql.catalog.catalog_table import CatalogTable
from kafka_sql.catalog.data_source import data_source_class
from kafka_sql.catalog.file_store import TableName
from kafka_sql.catalog.tables import Tables
from kafka_sql.definition import Definition
from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.sql.declarations.render import render_create_table
from kafka_sql.table.table import Table

OPTIONS = "('connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'h:1', 'format' = 'json')"


class Spark:
    """A session that records statements; its catalog has only what this package creates."""

    def __init__(self, is_connect: bool = False) -> None:
        if not is_connect:
            self._sc = object()
        self.database, self.current_catalog = "default", "spark_catalog"
        self.temporary_views: list[str] = []
        self.other_tables: list[str] = []
        self.conf = SimpleNamespace(get=lambda key, default=None: "app" if key == "spark.app.id" else default)
        self.catalog = SimpleNamespace(
            currentCatalog=lambda: self.current_catalog,
            currentDatabase=lambda: self.database,
            tableExists=lambda name: name in self.other_tables,
        )
        self.statements: list[str] = []
        self.registered: dict[str, Any] = {}
        self.dataSource = SimpleNamespace(register=lambda cls: self.registered.update({cls.name(): cls}))

    def sql(self, statement: str) -> Any:
        rows: list[Any] = []
        if statement == "SELECT current_database()":
            rows = [(self.database,)]
        elif statement.startswith("SHOW VIEWS"):
            rows = [SimpleNamespace(isTemporary=True, viewName=name) for name in self.temporary_views]
        elif not statement.startswith("SHOW"):
            self.statements.append(statement)
        return SimpleNamespace(collect=lambda: rows)


def make_catalog_table(
    name: TableName,
    definition: Definition,
    storage_name: TableName,
    provider_name: TableName,
    source_catalog: str = "spark_catalog",
) -> CatalogTable:
    """Replace the function of this name, which needs a JVM to parse types."""
    source = data_source_class(".".join(("kafka", *provider_name)), definition, StructType([]))
    return CatalogTable(name, definition, storage_name, source, source_catalog)


def create_tables(monkeypatch: pytest.MonkeyPatch, spark: Any, permanent: ApplicationTables) -> Tables:
    """Return the tables of a session."""
    monkeypatch.setattr(module, "make_catalog_table", make_catalog_table)
    monkeypatch.setattr(module, "accumulator_id", lambda _: 7)
    return Tables(spark, spark.sql, permanent, parse_create, render_create_table)


def declare(name: str, head: str = "CREATE TABLE", columns: str = "a INT") -> Table:
    """Return the declaration of a table."""
    return parse_create(f"{head} {name} ({columns}) WITH {OPTIONS}")
