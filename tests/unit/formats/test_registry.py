"""The registry of formats."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark import cloudpickle

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


def test_formats_of_this_package_are_pickled_by_their_identifier() -> None:
    for identifier, format_ in FORMATS.items():
        pickled = cloudpickle.dumps(format_)
        assert cloudpickle.loads(pickled) is format_
        assert len(pickled) < 200, identifier


def test_other_formats_are_pickled_with_their_options() -> None:
    changed = replace(FORMATS["json"], options=FORMATS["json"].options[:2])
    copy = cloudpickle.loads(cloudpickle.dumps(changed))
    assert copy is not FORMATS["json"]
    assert [option.key for option in copy.options] == ["json.fail-on-missing-field", "json.ignore-parse-errors"]
    assert copy.options[1].read("TRUE") is True
