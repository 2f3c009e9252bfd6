"""Test the suggestions of option keys and values for tab completion."""

from __future__ import annotations

import pytest

from kafka_sql.cli.completion import option_context, suggestions
from kafka_sql.formats.registry import FORMATS
from kafka_sql.options.connector import KAFKA_OPTIONS, STARTUP_MODE

HEAD = "CREATE TABLE t (a INT) WITH ("


def suggested_texts(text: str) -> list[str]:
    """Return the suggestions at the end of a statement's text."""
    context = option_context(text)
    assert context is not None
    return [text for text, _ in suggestions(context)]


def test_keys_of_the_connector_and_of_all_formats() -> None:
    keys = suggested_texts(HEAD + "'")
    assert set(keys) >= {o.key for o in KAFKA_OPTIONS} | {"json.ignore-parse-errors", "raw.charset"}


def test_keys_that_are_already_set_or_belong_to_other_formats_are_not_suggested() -> None:
    keys = suggested_texts(HEAD + "'topic' = 't', 'format' = 'json', '")
    assert not {"topic", "format", "raw.charset"} & set(keys)
    assert "json.ignore-parse-errors" in keys


def test_options_of_a_value_format_have_the_prefix_value() -> None:
    assert "value.json.ignore-parse-errors" in suggested_texts(HEAD + "'value.format' = 'json', 'val")


def test_values() -> None:
    assert suggested_texts(HEAD + "'scan.startup.mode' = '") == list(STARTUP_MODE.allowed)
    assert suggested_texts(HEAD + "'format' = ") == list(FORMATS)
    assert suggested_texts(HEAD + "'topic' = '") == []
    assert suggested_texts("SET 'execution.runtime-mode' = '") == ["batch", "streaming"]
    assert "pipeline.name" in suggested_texts("SET 'pip")


@pytest.mark.parametrize(
    ("text", "key", "fragment"),
    [
        (HEAD, None, None),
        (HEAD + "'sc", None, "sc"),
        (HEAD + "'a' = 'b;', 'c d", None, "c d"),
        (HEAD + "'a' = 'b", "a", "b"),
        ("ALTER TABLE t SET ('a' = ", "a", None),
        ("-- don't\n" + HEAD + "'x", None, "x"),
    ],
)
def test_option_at_the_cursor(text: str, key: str | None, fragment: str | None) -> None:
    context = option_context(text)
    assert context is not None
    assert (context.key, context.fragment) == (key, fragment)


@pytest.mark.parametrize(
    "text",
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
def test_no_option_at_the_cursor(text: str) -> None:
    assert option_context(text) is None
