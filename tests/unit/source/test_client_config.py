"""Test the client ids of readers."""

from __future__ import annotations

import pytest

from kafka_sql.definition import validate_table
from kafka_sql.source.client_config import ENUMERATOR, client_config
from kafka_sql.table.declaration import Column, Table


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, None),
        ({"properties.group.id": "shop"}, "shop-7"),
        ({"properties.group.id": "shop", "client.id.prefix": "reader"}, "reader-7"),
        ({"properties.client.id.prefix": "reader", "properties.client.id": "mine"}, "reader-7"),
        ({"properties.group.id": "shop", "properties.client.id": "mine"}, "mine"),
    ],
)
def test_client_ids(options: dict[str, str], expected: str | None) -> None:
    table_options = {
        "connector": "kafka",
        "topic": "t",
        "properties.bootstrap.servers": "x:1",
        "format": "json",
        **options,
    }
    table = validate_table(Table(("t",), (Column("a", "INT", "INT"),), table_options))
    assert client_config(table, "7").get("client.id") == expected
    assert client_config(table, "7").get("bootstrap.servers") == "x:1"
    if expected == "reader-7":
        assert client_config(table, ENUMERATOR)["client.id"] == "reader-enumerator-admin-client"
