"""Test when lineage is enabled."""

from __future__ import annotations

import os

import pytest

from kafka_sql.observability.lineage import is_enabled, start_run


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
