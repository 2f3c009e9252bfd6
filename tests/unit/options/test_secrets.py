"""Test that keys of secrets are recognized with any prefix."""

from __future__ import annotations

import pytest

from kafka_sql.options.secrets import is_secret


@pytest.mark.parametrize("prefix", ["properties.", "value.avro-confluent.", "key.avro-confluent.properties."])
@pytest.mark.parametrize(
    "key",
    [
        "sasl.password",
        "sasl.jaas.config",
        "sasl.oauthbearer.config",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.private.key.pem",
        "ssl.key.password",
        "ssl.keystore.password",
        "ssl.keystore.key",
        "ssl.key.pem",
        "ssl.truststore.password",
        "basic-auth.user-info",
        "basic.auth.user.info",
        "bearer-auth.token",
        "password.of.the.proxy",
    ],
)
def test_secret_keys(prefix: str, key: str) -> None:
    assert is_secret(prefix + key)


@pytest.mark.parametrize(
    "key", ["sasl.username", "sasl.mechanism", "ssl.ca.pem", "ssl.key.location", "sasl.oauthbearer.scope", "group.id"]
)
def test_other_keys(key: str) -> None:
    assert not is_secret("properties." + key)
