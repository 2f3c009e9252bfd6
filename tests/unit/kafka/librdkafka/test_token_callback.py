"""Tokens of 'sasl.oauthbearer.token-provider' in librdkafka's clients, without a broker."""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from typing import Any

import pytest
from confluent_kafka import Consumer

from kafka_sql.errors import AuthenticationError
from kafka_sql.kafka.admin.client import Admin
from kafka_sql.kafka.config.properties import resolve_config, to_librdkafka
from kafka_sql.kafka.config.token_providers import PROVIDER
from kafka_sql.kafka.librdkafka.client import add_token_callback, open_client
from kafka_sql.kafka.librdkafka.connection_failures import auth_error
from tests.unit.kafka import token_functions as functions

pytestmark = pytest.mark.usefixtures("no_tokens")

MODULE = functions.__name__
SECRET = "planted-4711"
PROPERTIES = {
    "bootstrap.servers": "127.0.0.1:1",
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "OAUTHBEARER",
    "socket.connection.setup.timeout.ms": "1000",
    PROVIDER: f"{MODULE}:returned",
}


CLIENTS: dict[str, Any] = {
    "consumer": lambda config: open_client(Consumer, {**config, "group.id": "g"}),
    "admin client": Admin,
}


def test_settings() -> None:
    functions.RESULT.append(("a.b.c", timedelta(hours=1), "", {"x": "y z"}))
    config = resolve_config(to_librdkafka({**PROPERTIES, "sasl.oauthbearer.config": "realm=shop"}))
    settings = add_token_callback({**config, f"{PROVIDER}.role-arn": "r"}, config, print)
    callback = settings.pop("oauth_cb")
    assert settings == {key: value for key, value in config.items() if key != PROVIDER}
    value, expires_at, principal, extensions = callback("realm=shop")
    assert (value, principal, extensions) == ("a.b.c", "kafka_sql", {"x": "y z"})
    assert expires_at == pytest.approx(time.time() + 3600, abs=5)
    assert functions.CALLS == ["realm=shop"]


def test_other_settings_are_unchanged() -> None:
    settings = {"sasl.mechanism": "PLAIN", "sasl.username": "u"}
    assert add_token_callback(settings, {}, print) == settings


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", CLIENTS)
def test_each_client_gets_the_token(name: str) -> None:
    functions.RESULT.append(("a.b.c", timedelta(hours=1)))
    CLIENTS[name](to_librdkafka(PROPERTIES))
    assert len(functions.CALLS) == 1


@pytest.mark.sample(2)
@pytest.mark.parametrize("failure", [ValueError(SECRET), ConnectionError(SECRET)])
@pytest.mark.parametrize("name", CLIENTS)
def test_a_function_that_fails_is_reported_at_once(name: str, failure: Exception) -> None:
    functions.RESULT.append(failure)
    started = time.monotonic()
    with pytest.raises(AuthenticationError, match=rf"the function raised {type(failure).__name__} in") as e:
        CLIENTS[name](to_librdkafka(PROPERTIES))
    assert time.monotonic() - started < 5  # confluent-kafka waits for ten seconds
    assert SECRET not in str(e.value)


def test_a_later_failure_is_reported_with_its_cause(caplog: pytest.LogCaptureFixture) -> None:
    functions.RESULT.append(("a.b.c", timedelta(seconds=1.5)))
    consumer, errors = open_client(Consumer, to_librdkafka({**PROPERTIES, "group.id": "g"}))
    functions.RESULT[0] = ValueError(SECRET)
    deadline = time.monotonic() + 30
    with caplog.at_level(logging.DEBUG):
        while "token-provider" not in errors.auth_failures.message and time.monotonic() < deadline:
            consumer.poll(0.1)
    error = str(auth_error(errors.auth_failures.message, errors.settings, 1))
    consumer.close()
    assert f"no OAUTHBEARER token: Option 'properties.{PROVIDER}' = '{MODULE}:returned': the" in error
    assert error.endswith(
        f"Check the tokens of 'properties.{PROVIDER}' = '{MODULE}:returned', and that the listener accepts OAUTHBEARER."
    )
    assert SECRET not in caplog.text + error
    assert "a.b.c" not in caplog.text + error
