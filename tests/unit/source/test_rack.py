"""Test the sources of the rack id."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_sql.errors import InvalidOptionError
from kafka_sql.source.client_config import task_client_config
from tests.batch_read import define_table
from tests.topics import Topics


def rack(text: str | None, **overrides: str) -> str | None:
    options = overrides if text is None else {"scan_rack__id": text, **overrides}
    return task_client_config(define_table(Topics("localhost:1"), "t", **options), 3).get("client.rack")


def test_sources_of_the_rack_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "az").write_text(" eu-1a\n")
    monkeypatch.setenv("NODE_AZ", "eu-1b")
    assert rack(f"file:{tmp_path / 'az'}") == "eu-1a"
    assert rack("env:NODE_AZ") == "eu-1b"
    assert rack("tests.integration.source.reader.rack_functions:b") == "b"
    assert rack(None) is None
    assert rack(None, properties_client_rack="fixed") == "fixed"


@pytest.mark.parametrize("text", ["env:NOT_THERE", "tests.integration.source.reader.rack_functions:none"])
def test_an_empty_source_falls_back_to_the_client_property(text: str) -> None:
    assert rack(text) is None
    assert rack(text, properties_client_rack="fixed") == "fixed"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file:/no/such", "file '/no/such' cannot be read on this machine: No such file"),
        ("no_such_module:f", "module 'no_such_module' cannot be imported in the process that reads"),
        (
            "tests.integration.source.reader.rack_functions:missing",
            "module 'tests.integration.source.reader.rack_functions' has no callable 'missing'",
        ),
        (
            "tests.integration.source.reader.rack_functions:wrong",
            "the callable must return a string or None, and returned int",
        ),
        ("env", "expected 'env:NAME', 'file:/path' or 'module:callable'"),
        ("env:", "expected 'env:NAME', 'file:/path' or 'module:callable'"),
    ],
)
def test_invalid_sources(text: str, message: str) -> None:
    with pytest.raises(InvalidOptionError) as e:
        rack(text)
    assert "'scan.rack-id'" in str(e.value)
    assert message in str(e.value)
