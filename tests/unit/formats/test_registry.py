"""The registry of formats."""

from __future__ import annotations

import pytest

from kafka_sql.errors import InvalidOptionError
from kafka_sql.formats.registry import FORMATS, find_format


@pytest.mark.parametrize("identifier", ["avro", "avro-confluent", "csv", "json", "raw"])
def test_find_format(identifier: str) -> None:
    assert find_format(identifier, "format").identifier == identifier


def test_an_unknown_format_is_an_error_that_lists_the_available_ones() -> None:
    with pytest.raises(InvalidOptionError) as e:
        find_format("jsn", "value.format")
    assert "'jsn' (option 'value.format'). Available format identifiers are: " in str(e.value)
    assert all(f"'{identifier}'" in str(e.value) for identifier in FORMATS)
    assert str(e.value).endswith("Did you mean 'json'?")


def test_option_keys_begin_with_the_formats_identifier() -> None:
    for identifier, format_ in FORMATS.items():
        assert format_.identifier == identifier
        assert all(option.key.startswith(f"{identifier}.") for option in format_.options)
