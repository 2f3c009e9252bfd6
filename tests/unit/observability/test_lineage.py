"""Test when lineage is enabled."""

from __future__ import annotations

import os

import pytest

from kafka_sql.definition import validate_table
from kafka_sql.observability.lineage import _datasets, is_enabled, start_run
from kafka_sql.table.table import Column, Table


@pytest.mark.parametrize(
    ("variables", "enabled"),
    [
        ({}, False),
        ({"OPENLINEAGE_URL": "http://localhost"}, True),
        ({"OPENLINEAGE__TRANSPORT__TYPE": "console"}, True),
        ({"OPENLINEAGE_URL": "http://localhost", "OPENLINEAGE_DISABLED": "TRUE"}, False),
    ],
)
def test_variables(variables: dict[str, str], enabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in [key for key in os.environ if key.startswith("OPENLINEAGE_")]:
        monkeypatch.delenv(key)
    for key, value in variables.items():
        monkeypatch.setenv(key, value)
    assert is_enabled() is enabled
    if not enabled:
        assert start_run("job", [], [], is_streaming=False) is None


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "http://localhost")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert not is_enabled()


def test_datasets_of_tables_of_several_clusters() -> None:
    def datasets(**options: str) -> list[tuple[str, str]]:
        common = {"connector": "dynamic-kafka", "format": "json", "scan.startup.mode": "earliest-offset"}
        table = Table(("t",), (Column("a", "INT", "INT"),), {**common, **options})
        return [(namespace, name) for namespace, name, _ in _datasets(validate_table(table))]

    single = {
        "metadata-service": "single-cluster",
        "metadata-service.cluster-id": "c",
        "properties.bootstrap.servers": "host:9092,other:9092",
    }
    assert datasets(**single, **{"stream-ids": "a;b"}) == [("kafka://host:9092", "a"), ("kafka://host:9092", "b")]
    assert datasets(**single, **{"stream-pattern": "a.*"}) == [("kafka://host:9092", "a.*")]
    assert datasets(**{"metadata-service": "m:streams", "stream-ids": "a"}) == []
