"""What the extension keeps out of Spark's logs is what kafka_sql takes for secrets."""

from __future__ import annotations

import re

import pytest

from kafka_sql.options.secrets import _ENDINGS, is_secret, secrets_pattern

SECRETS = re.compile(secrets_pattern())


@pytest.mark.parametrize("ending", [*_ENDINGS, "password", "password.hint"])
@pytest.mark.parametrize("prefix", ["", "properties.", "value."])
def test_values_of_secrets_are_redacted(prefix: str, ending: str) -> None:
    key = prefix + ending
    assert is_secret(key)
    text = f"CREATE TABLE t (a INT) WITH ('topic' = 'x', '{key}'='it''s ) a secret', 'format' = 'json')"
    assert SECRETS.sub("...", text) == "CREATE TABLE t (a INT) WITH ('topic' = 'x', ..., 'format' = 'json')"


@pytest.mark.parametrize("key", ["topic", "properties.group.id", "key.fields", "token-free"])
def test_other_options_stay(key: str) -> None:
    assert not is_secret(key)
    assert not SECRETS.search(f"WITH ('{key}' = 'shown', 'format' = 'json')")


@pytest.mark.parametrize("setting", ["'My_Password' =\n 'x'", "my.api_key=x", '"token" = "a ""b"""', "'secret'='open"])
def test_settings_are_redacted_too(setting: str) -> None:
    assert SECRETS.sub("...", f"SET {setting}") == "SET ..."


def test_a_long_word_takes_no_long_time() -> None:
    assert not SECRETS.search("token" * 100_000)
