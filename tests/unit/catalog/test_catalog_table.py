"""The SQL that creates a table's objects in Spark's catalog."""

from __future__ import annotations

import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

from kafka_sql.catalog import catalog_table as module
from kafka_sql.catalog.catalog_table import (
    CatalogTable,
    create_table_statement,
    create_view_statement,
    make_catalog_table,
    quoted_name,
    select_statement,
)
from kafka_sql.catalog.data_source import data_source_class
from kafka_sql.definition import validate_table
from kafka_sql.table.table import Column, Table

OPTIONS = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1", "format": "json"}
PRICE = Column("price", "INT", "INT", nullable=False, comment="in 'cents'")
TIME = Column("ts", "TIMESTAMP", "TIMESTAMP_LTZ(3)", nullable=False, metadata="timestamp", virtual=True)
TOTAL = Column("total", None, "price * 2", expression="(`price` * 2)")


def catalog_table(
    *columns: Column, temporary: bool = False, storage: tuple[str, str] = ("default", "o"), comment: str | None = None
) -> CatalogTable:
    name = ("" if temporary else "default", "o")
    table = Table(tuple(filter(None, name)), columns, OPTIONS, temporary=temporary, comment=comment)
    definition = validate_table(table)
    return CatalogTable(name, definition, storage, data_source_class(f"kafka.{storage[1]}", definition, StructType([])))


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        (("shop", "orders"), "`spark_catalog`.`shop`.`orders`"),
        (("", "orders"), "`orders`"),
        (("shop", ""), "`spark_catalog`.`shop`"),
        (("a`b", "c.d"), "`spark_catalog`.`a``b`.`c.d`"),
    ],
)
def test_names_of_permanent_tables_have_the_catalog(name: tuple[str, str], sql: str) -> None:
    assert quoted_name(name) == sql


def test_create_table_lists_the_source_columns() -> None:
    entry = catalog_table(PRICE, TIME, comment="all orders")
    assert create_table_statement(entry, "app-1") == (
        "CREATE TABLE `spark_catalog`.`default`.`o` (`price` INT NOT NULL COMMENT 'in \\'cents\\'', `ts` TIMESTAMP) "
        "USING `kafka.o` COMMENT 'all orders' TBLPROPERTIES ('kafka_sql.owner' = 'app-1')"
    )
    assert not entry.is_view


def test_a_view_computes_columns() -> None:
    entry = catalog_table(PRICE, TOTAL, storage=("default", "o__kafka"))
    assert "total" not in create_table_statement(entry, "app-1")
    assert create_view_statement(entry) == (
        "CREATE VIEW `spark_catalog`.`default`.`o` (`price` COMMENT 'in \\'cents\\'', `total`) AS "
        "SELECT `price`, (`price` * 2) AS `total` FROM `spark_catalog`.`default`.`o__kafka`"
    )
    assert select_statement(entry, stream=True).endswith("FROM STREAM `spark_catalog`.`default`.`o__kafka`")
    assert entry.is_view


def test_a_temporary_table_is_a_temporary_view() -> None:
    entry = catalog_table(PRICE, temporary=True, storage=("default", "o__kafka_temporary"))
    assert create_view_statement(entry).startswith("CREATE TEMPORARY VIEW `o` (")


def test_a_table_over_connect_is_a_temporary_view() -> None:
    entry = catalog_table(PRICE, storage=("kafka_sql_1f", "o__kafka"))
    assert (entry.view_name, entry.is_temporary_view) == (("", "o"), True)
    assert create_view_statement(entry) == (
        "CREATE TEMPORARY VIEW `o` (`price` COMMENT 'in \\'cents\\'') AS "
        "SELECT `price` FROM `spark_catalog`.`kafka_sql_1f`.`o__kafka`"
    )


def test_the_database_is_part_of_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "spark_schema", lambda _: StructType([StructField("price", IntegerType())]))
    definition = catalog_table(PRICE).definition
    for database, provider in (("default", "kafka.o"), ("shop", "kafka.shop.o")):
        name = (database, "o")
        assert make_catalog_table(name, definition, name, provider_name=name).provider == provider


def test_an_error_column_makes_all_columns_nullable() -> None:
    error = Column("error", "STRING", "STRING", metadata="error", virtual=True)
    assert "NOT NULL" not in create_table_statement(catalog_table(PRICE, error), "app-1")
