"""The extension redacts the same options in Spark's logs that kafka_sql treats as secrets."""

from __future__ import annotations

import re
import time

import pytest

from kafka_sql.options.secrets import SECRET_ENDINGS, is_secret, secrets_pattern

SECRETS = re.compile(secrets_pattern())


@pytest.mark.parametrize("ending", [*SECRET_ENDINGS, "password", "password.hint", "request.header.x"])
@pytest.mark.parametrize("prefix", ["", "properties.", "value."])
def test_values_of_secrets_are_redacted(prefix: str, ending: str) -> None:
    key = prefix + ending
    assert is_secret(key)
    text = f"CREATE TABLE t (a INT) WITH ('topic' = 'x', '{key}'='it''s ) a secret', 'format' = 'json')"
    assert SECRETS.sub("...", text) == "CREATE TABLE t (a INT) WITH (...)"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT concat(a, '=', b) FROM t WHERE x = 'y' AND `k` = 'z' AND a.b.c = 'd'",
        "WITH c AS (SELECT 'x' AS a) SELECT CAST('2020' AS TIMESTAMP WITH LOCAL TIME ZONE), '1' FROM c",
        "SELECT from_json('{\"a\": \"b\"}', 'a STRING'), 'x' -- c\n FROM a.b.c",
        "UPDATE t SET a = 1 WHERE b = 2",
    ],
)
def test_queries_stay(query: str) -> None:
    assert not SECRETS.search(query)


@pytest.mark.parametrize("setting", ["'My_Password' =\n 'x'", "my.api_key=x", '"token" = "a ""b"""', "'secret'='open"])
def test_settings_are_redacted_too(setting: str) -> None:
    assert SECRETS.sub("...", f"SET {setting}") in ("SET ...", "SET...")


@pytest.mark.parametrize("user_info", ["hunter2", "u:hunter2", "u:it''s", "u:a/b?c#d@e", "x" * 900])
def test_user_info_of_urls_is_redacted(user_info: str) -> None:
    text = f"WITH ('r.url' = 'https://{user_info}@host:8081/x', 'format' = 'json')"
    assert SECRETS.sub("<redacted>", text) == "WITH (<redacted>)"
    assert SECRETS.sub("...", f"SELECT 'https://{user_info}@host:8081/x'") == "SELECT 'https...host:8081/x'"


def test_other_urls_and_addresses_stay() -> None:
    assert not SECRETS.search("SELECT 'https://host:8081', 'me@host', 'http://x' ) -- @")


@pytest.mark.parametrize("before", ["", " ", "/* c */", " -- it's\n", "/***/ /* * / ** */\n"])
@pytest.mark.parametrize("after", ["", " ", " /* x */ ", " -- prod\n ", "-- a\n-- b\n/* c\n*/"])
def test_comments_beside_the_equals_sign_do_not_hide_secrets(before: str, after: str) -> None:
    text = f"WITH ('a' = 'b', 'properties.sasl.password'{before}={after}'hunter2 it''s', 'c' = 'd')"
    assert SECRETS.sub("...", text) in ("WITH (...)", "WITH...")


@pytest.mark.parametrize(
    "unit",
    ["token", "'", '"', " ", "--\n", "/* */ ", "token/*", "token--c ", "token='''", "'token'='x'", "://", "://''", "@"],
)
def test_long_texts_are_redacted_in_linear_time(unit: str) -> None:
    start = time.process_time()
    SECRETS.sub("...", "token" + unit * (200_000 // len(unit)))
    assert time.process_time() - start < 10  # seconds; usually a tenth of that
