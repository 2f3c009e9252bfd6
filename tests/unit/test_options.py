"""The options table and its checks."""

from __future__ import annotations

import pytest

from kafka_sql.definition import Definition, define
from kafka_sql.errors import (
    ConflictingOptionsError,
    InvalidOptionError,
    KafkaSqlError,
    MissingOptionError,
    UnknownOptionError,
)
from kafka_sql.options import connector as opt
from kafka_sql.options.option import milliseconds
from kafka_sql.table import Column, Table

GOOD = {
    "connector": "kafka",
    "topic": "orders",
    "properties.bootstrap.servers": "localhost:9092",
    "format": "json",
}


def declared(**changes: str | None) -> Definition:
    given = {**GOOD, **{k: v for k, v in changes.items() if v is not None}}
    for key, value in changes.items():
        if value is None:
            del given[key]
    return define(Table(("orders",), (Column("a", "INT", "INT"),), given))


def refused(error: type[KafkaSqlError], **changes: str | None) -> str:
    with pytest.raises(error) as caught:
        declared(**changes)
    return str(caught.value)


def test_values_and_defaults() -> None:
    options = declared(topic="a; b", **{"scan.startup.mode": "Earliest-Offset"}).options
    assert options[opt.TOPIC] == ("a", "b")
    assert options[opt.STARTUP_MODE] == "earliest-offset"
    assert options[opt.DELIVERY_GUARANTEE] == "at-least-once"
    assert options.get(opt.GROUP_ID) is None
    assert declared().options[opt.STARTUP_MODE] == "group-offsets"  # Flink's default


def test_printing_options_shows_no_value() -> None:
    assert "localhost" not in repr(declared())


def test_unknown_option_names_the_nearest() -> None:
    message = refused(UnknownOptionError, **{"scan.startup.mod": "earliest-offset"})
    assert message.startswith(
        "[UNKNOWN_OPTION] Unsupported options found for 'kafka'. Unsupported options: 'scan.startup.mod'"
    )
    assert "(did you mean 'scan.startup.mode'?)" in message
    assert "Supported options: 'client.id.prefix'," in message


def test_an_option_of_another_format_is_unknown() -> None:
    assert "'raw.charset'" in refused(UnknownOptionError, **{"raw.charset": "UTF-8"})
    assert "'value.json.ignore-parse-errors'" in refused(
        UnknownOptionError, **{"value.json.ignore-parse-errors": "true"}
    )


def test_missing_option_is_named() -> None:
    message = refused(MissingOptionError, **{"properties.bootstrap.servers": None})
    assert "Missing required options are: 'properties.bootstrap.servers'" in message


def test_missing_format_names_both_spellings() -> None:
    message = refused(MissingOptionError, format=None)
    assert "Could not find required scan format 'value.format' (or 'format')" in message


def test_missing_connector() -> None:
    message = refused(MissingOptionError, connector=None, conector="kafka")
    assert "do not contain an option key 'connector'" in message
    assert "'conector'" in message


def test_other_connector_is_refused_by_name() -> None:
    message = refused(InvalidOptionError, connector="kafak")
    assert "Could not find any connector for identifier 'kafak'" in message
    assert "Did you mean 'kafka'?" in message


def test_contradictory_formats() -> None:
    assert "'format' and 'value.format' shouldn't be set together" in refused(
        ConflictingOptionsError, **{"value.format": "json"}
    )


def test_value_format_has_its_own_prefix() -> None:
    found = declared(format=None, **{"value.format": "json", "value.json.ignore-parse-errors": "true"})
    assert found.value.format.identifier == "json"
    (ignore,) = (o for o in found.value.format.options if o.key == "json.ignore-parse-errors")
    assert found.value.options[ignore] is True


def test_wrong_value_names_the_choices() -> None:
    message = refused(InvalidOptionError, **{"scan.startup.mode": "earlies-offset"})
    assert "Invalid value 'earlies-offset' for option 'scan.startup.mode'" in message
    assert "'earliest-offset', 'latest-offset', 'group-offsets'" in message
    assert "Did you mean 'earliest-offset'?" in message


def test_empty_topic() -> None:
    assert "option 'topic'" in refused(InvalidOptionError, topic="a;;b")


def test_unknown_format_names_what_there_is() -> None:
    message = refused(InvalidOptionError, format="jsn")
    assert "'jsn'" in message
    assert "Did you mean 'json'?" in message


@pytest.mark.parametrize(
    ("text", "expected"),
    [("500", 500), ("500 ms", 500), ("10s", 10_000), ("5 MIN", 300_000), ("2 h", 7_200_000), ("1 day", 86_400_000)],
)
def test_durations(text: str, expected: int) -> None:
    assert milliseconds(text) == expected


@pytest.mark.parametrize("text", ["", "s", "-1 s", "1.5 s", "10 lightyears"])
def test_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        milliseconds(text)
