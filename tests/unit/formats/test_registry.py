"""Formats by their identifiers."""

from __future__ import annotations

import pytest

from kafka_sql.errors import InvalidOptionError
from kafka_sql.formats.registry import FORMATS, find_format


@pytest.mark.parametrize("identifier", ["avro", "avro-confluent", "csv", "json", "raw"])
def test_find(identifier: str) -> None:
    assert find_format(identifier, "format").identifier == identifier


def test_an_unknown_format_is_named_with_those_that_there_are() -> None:
    with pytest.raises(InvalidOptionError) as e:
        find_format("jsn", "value.format")
    assert "'jsn' (option 'value.format'). Available format identifiers are: " in str(e.value)
    assert all(f"'{identifier}'" in str(e.value) for identifier in FORMATS)
    assert str(e.value).endswith("Did you mean 'json'?")


def test_every_option_stands_under_its_formats_name() -> None:
    for identifier, one in FORMATS.items():
        assert one.identifier == identifier
        assert all(option.key.startswith(f"{identifier}.") for option in one.options)
