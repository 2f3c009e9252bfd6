"""Spark's messages show the names of users' tables in place of those of the data sources behind them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_sql.catalog.storage_names import (
    add_storage_name,
    remove_storage_name,
    show_table_names,
    show_table_names_in_error,
)

NAMES = {
    ("default", "orders__kafka"): ("default", "orders"),
    ("default", "orders__kafka_hinted"): ("default", "orders"),
    ("default", "my_t__kafka_temporary_2"): ("", "my-t"),
    ("kafka_sql_1f", "o__kafka"): ("shop", "o"),
}


@pytest.fixture(autouse=True)
def names() -> Iterator[None]:
    for storage_name, name in NAMES.items():
        add_storage_name(storage_name, name)
    yield
    for storage_name in NAMES:
        remove_storage_name(storage_name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "for the table `spark_catalog`.`default`.`orders__kafka`: x",
            "for the table `spark_catalog`.`default`.`orders`: x",
        ),
        (
            "RelationV2[a#1] spark_catalog.default.orders__kafka, true",
            "RelationV2[a#1] spark_catalog.default.orders, true",
        ),
        ("[spark_catalog, default, orders__kafka], [x]", "[spark_catalog, default, orders], [x]"),
        ("[a, orders__kafka]", "[a, orders]"),
        ("BatchScan kafka.orders__kafka_hinted[a#1]", "BatchScan kafka.orders[a#1]"),
        ("`kafka_sql`.`default`.`my_t__kafka_temporary_2`.a", "`my-t`.a"),
        ("spark_catalog.kafka_sql_1f.o__kafka", "spark_catalog.shop.o"),
        ("+- StreamingRelation kafka.products-changes, [id#56]", "+- StreamingRelation kafka.products, [id#56]"),
        ("BatchScan kafka.orders__kafka_hinted-changes[a#1]", "BatchScan kafka.orders[a#1]"),
        ("topic-changes, kafka-changes", "topic-changes, kafka-changes"),
        ("spark_catalog.default.other__kafka", "spark_catalog.default.other__kafka"),
        ("__kafka_sql.errors.topic", "__kafka_sql.errors.topic"),
    ],
)
def test_storage_names_are_replaced(text: str, expected: str) -> None:
    assert show_table_names(text) == expected
    assert show_table_names_in_error(text) == expected


def test_names_of_dropped_tables_stay() -> None:
    remove_storage_name(("kafka_sql_1f", "o__kafka"))
    assert show_table_names("spark_catalog.kafka_sql_1f.o__kafka") == "spark_catalog.kafka_sql_1f.o__kafka"


def test_providers_are_replaced_only_in_errors() -> None:
    text = "Cannot write to `kafka`.`orders`, the reason is too many data columns"
    assert show_table_names(text) == text
    assert show_table_names_in_error(text) == "Cannot write to `orders`, the reason is too many data columns"
    text = "Cannot write to `kafka`.`my_t__kafka_temporary_2`, the reason"
    assert show_table_names_in_error(text) == "Cannot write to `my-t`, the reason"
