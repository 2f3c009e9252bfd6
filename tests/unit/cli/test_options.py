"""Tab completion of options."""

from __future__ import annotations

import pytest

from kafka_sql.cli.options import option_context, suggestions
from kafka_sql.formats.registry import FORMATS
from kafka_sql.options.connector import KAFKA_OPTIONS, STARTUP_MODE

HEAD = "CREATE TABLE t (a INT) WITH ("


def suggested(before: str) -> list[str]:
    context = option_context(before)
    assert context is not None
    return [text for text, _ in suggestions(context)]


def test_keys_of_the_connector_and_of_all_formats() -> None:
    keys = suggested(HEAD + "'")
    assert set(keys) >= {o.key for o in KAFKA_OPTIONS} | {"json.ignore-parse-errors", "raw.charset"}


def test_neither_keys_typed_before_nor_those_of_other_formats_are_suggested() -> None:
    keys = suggested(HEAD + "'topic' = 't', 'format' = 'json', '")
    assert not {"topic", "format", "raw.charset"} & set(keys)
    assert "json.ignore-parse-errors" in keys


def test_the_prefix_of_the_formats_key_is_its_options_prefix() -> None:
    assert "value.json.ignore-parse-errors" in suggested(HEAD + "'value.format' = 'json', 'val")


def test_values() -> None:
    assert suggested(HEAD + "'scan.startup.mode' = '") == list(STARTUP_MODE.allowed)
    assert suggested(HEAD + "'format' = ") == list(FORMATS)
    assert suggested(HEAD + "'topic' = '") == []
    assert suggested("SET 'execution.runtime-mode' = '") == ["batch", "streaming"]
    assert "pipeline.name" in suggested("SET 'pip")


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
def test_option_at_the_cursor(before: str, key: str | None, typed: str | None) -> None:
    context = option_context(before)
    assert context is not None
    assert (context.key, context.typed) == (key, typed)


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
def test_no_option_at_the_cursor(before: str) -> None:
    assert option_context(before) is None
