"""Test that keys of secrets are recognized with any prefix, and that user info in URLs is masked."""

from __future__ import annotations

import pytest

from kafka_sql.options.secrets import is_secret, mask_value


@pytest.mark.parametrize("prefix", ["properties.", "value.avro-confluent.", "key.avro-confluent.properties."])
@pytest.mark.parametrize(
    "key",
    [
        "sasl.password",
        "sasl.jaas.config",
        "sasl.oauthbearer.config",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.private.key.pem",
        "ssl.key.password",
        "ssl.keystore.password",
        "ssl.keystore.key",
        "ssl.key.pem",
        "ssl.certificate.pem",
        "sasl.kerberos.kinit.cmd",
        "ssl.truststore.password",
        "basic-auth.user-info",
        "basic.auth.user.info",
        "bearer-auth.token",
        "password.of.the.proxy",
        "sasl.oauthbearer.extensions",
        "request.header.Authorization",
        "request.header.Cookie",
        "request.header.accept-token",
        "request.header.",
    ],
)
def test_secret_keys(prefix: str, key: str) -> None:
    assert is_secret(prefix + key)


@pytest.mark.parametrize("key", ["SOME.PASSWORD", "a.api_key", "avro-confluent.properties.basic.auth.user.info"])
def test_secret_keys_in_other_notations(key: str) -> None:
    assert is_secret(key)


@pytest.mark.parametrize(
    "key",
    [
        "connector",
        "topic",
        "key.format",
        "key.fields",
        "sink.transactional-id-prefix",
        "avro-confluent.basic-auth.credentials-source",
    ],
)
def test_options_that_are_not_secret(key: str) -> None:
    assert not is_secret(key)


@pytest.mark.parametrize(
    "key",
    [
        "bootstrap.servers",
        "ssl.truststore.location",
        "ssl.keystore.type",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.username",
        "sasl.mechanism",
        "ssl.ca.pem",
        "ssl.key.location",
        "sasl.oauthbearer.scope",
        "group.id",
        "request.header.Content-Type",
        "request.header.ACCEPT",
        "request.header.user_agent",
        "request.timeout.ms",
    ],
)
def test_properties_that_are_not_secret(key: str) -> None:
    assert not is_secret("properties." + key)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("http://registry:8081", "http://registry:8081"),
        ("http://user:hunter2@registry:8081", "http://******@registry:8081"),
        ("https://hunter2@registry/path", "https://******@registry/path"),
        ("http://a, https://u:hunter2@b,http://hunter2:w@c", "http://a, https://******@b,http://******@c"),
        ("http://u:hunter2/?#@' \"hunter2@registry", "http://******@registry"),
        ("http://u:hunter2://hunter2,x@registry", "http://******@registry"),
        ("u:hunter2@localhost:9092,b:9092", "******@localhost:9092,b:9092"),
        ("${env:REGISTRY}", "${env:REGISTRY}"),
    ],
)
def test_user_info_of_url_options_is_masked(value: str, shown: str) -> None:
    for key in ("avro-confluent.url", "value.json-confluent.schema-registry.url", "properties.bootstrap.servers"):
        assert mask_value(key, value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("https://u:hunter2@proxy.example", "https://******@proxy.example"),
        ("see https://u:hunter2@a and http://hunter2@b", "see https://******@a and http://******@b"),
        ('{"doc": "http://a", "by": "me@b"}', '{"doc": "http://a", "by": "me@b"}'),
        ("http://a/b?by=me@b", "http://a/b?by=me@b"),
        ("me@b", "me@b"),
    ],
)
def test_user_info_of_other_options_is_masked(value: str, shown: str) -> None:
    assert mask_value("avro-confluent.schema", value) == shown


def test_secrets_are_masked_completely() -> None:
    assert mask_value("properties.sasl.password", "http://u:p@h") == "******"
