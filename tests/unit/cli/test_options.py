"""What the Tab key offers among options."""

from __future__ import annotations

import pytest

from kafka_sql.cli.options import option_context, suggestions
from kafka_sql.formats.registry import FORMATS
from kafka_sql.options.connector import KAFKA_OPTIONS, STARTUP_MODE

HEAD = "CREATE TABLE t (a INT) WITH ("


def offered(before: str) -> list[str]:
    at = option_context(before)
    assert at is not None
    return [text for text, _ in suggestions(at)]


def test_keys_of_the_connector_and_of_all_formats() -> None:
    keys = offered(HEAD + "'")
    assert set(keys) >= {o.key for o in KAFKA_OPTIONS} | {"json.ignore-parse-errors", "raw.charset"}


def test_keys_that_are_given_are_not_offered_again_nor_those_of_other_formats() -> None:
    keys = offered(HEAD + "'topic' = 't', 'format' = 'json', '")
    assert not {"topic", "format", "raw.charset"} & set(keys)
    assert "json.ignore-parse-errors" in keys


def test_the_prefix_of_the_formats_key_is_its_options_prefix() -> None:
    assert "value.json.ignore-parse-errors" in offered(HEAD + "'value.format' = 'json', 'val")


def test_values() -> None:
    assert offered(HEAD + "'scan.startup.mode' = '") == list(STARTUP_MODE.allowed)
    assert offered(HEAD + "'format' = ") == list(FORMATS)
    assert offered(HEAD + "'topic' = '") == []
    assert offered("SET 'execution.runtime-mode' = '") == ["batch", "streaming"]
    assert "pipeline.name" in offered("SET 'pip")


@pytest.mark.parametrize(
    ("before", "key", "typed"),
    [
        (HEAD, None, None),
        (HEAD + "'sc", None, "sc"),
        (HEAD + "'a' = 'b;', 'c d", None, "c d"),
        (HEAD + "'a' = 'b", "a", "b"),
        ("ALTER TABLE t SET ('a' = ", "a", None),
        ("-- don't\n" + HEAD + "'x", None, "x"),
    ],
)
def test_places(before: str, key: str | None, typed: str | None) -> None:
    at = option_context(before)
    assert at is not None
    assert (at.key, at.typed) == (key, typed)


@pytest.mark.parametrize(
    "before",
    [
        "",
        "SELECT 'a",
        "SELECT 'a' = '",
        "CREATE TABLE t (a INT COMMENT '",
        HEAD + "'a' = 'b'",
        HEAD + "'a' = 'b') '",
        "CREATE",
    ],
)
def test_no_places(before: str) -> None:
    assert option_context(before) is None
