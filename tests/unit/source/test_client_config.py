"""Test the client ids of readers."""

from __future__ import annotations

import pytest

from kafka_sql.source.client_config import ENUMERATOR, client_config
from tests.unit.source.fake_cluster import define


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
    table = define(**options)
    assert client_config(table, "7").get("client.id") == expected
    assert client_config(table, "7").get("bootstrap.servers") == "h:1"
    if expected == "reader-7":
        assert client_config(table, ENUMERATOR)["client.id"] == "reader-enumerator-admin-client"
