"""Test the extension's redaction pattern with Java's regular expressions."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from kafka_sql.options.secrets import secrets_pattern
from tests.planted_secrets import planted_secrets

pytestmark = pytest.mark.integration

LENGTH = 100_000  # characters


@pytest.fixture(scope="module")
def java(spark: SparkSession) -> Any:
    return spark._jvm.java  # type: ignore[attr-defined]


def test_values_of_secrets_are_redacted(java: Any) -> None:
    text = "WITH ('topic' = 'x', 'properties.sasl.password' 'it''s', 'value.x.request.header.Cookie' = 'c', 'a' = 'b')"
    redacted = java.util.regex.Pattern.compile(secrets_pattern()).matcher(text).replaceAll("...")
    assert redacted == "WITH..."


def test_secrets_in_all_options_are_redacted(java: Any) -> None:
    pattern = java.util.regex.Pattern.compile(secrets_pattern())
    redacted = {s.name: pattern.matcher(s.statement).replaceAll("...") for s in planted_secrets()}
    assert [s.name for s in planted_secrets() if s.is_in(redacted[s.name])] == []


@pytest.mark.sample(10)
@pytest.mark.parametrize(
    "unit",
    [
        *("password", "password-", "password ", "'password", "'password'", "SET a.token ", "a.secre ", "a.b "),
        *("'", "''", '"', "\\", " ", "\n", "--\n", "/* */ ", "token/*", "token'''", "token\\"),
        *("'token'='x'", "://", "://''", "@", "servers='", "'request.header.accept'"),
    ],
)
@pytest.mark.parametrize("start", ["", "'", "'a.token'"])
def test_long_texts_are_redacted_in_linear_time(java: Any, start: str, unit: str) -> None:
    text = start + unit * (LENGTH // len(unit))
    threads = java.lang.management.ManagementFactory.getThreadMXBean()
    matcher = java.util.regex.Pattern.compile(secrets_pattern()).matcher(text)
    before = threads.getCurrentThreadCpuTime()
    matcher.replaceAll("x")
    assert threads.getCurrentThreadCpuTime() - before < 3e9  # nanoseconds; usually a tenth of that
