"""Test that a statement inherits secrets only for the destination, and the protection, that their author declared."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_sql.errors import MissingOptionError
from kafka_sql.formats.registry import FORMATS
from kafka_sql.kafka.config.java_properties import JAVA_PROPERTIES, Handling
from kafka_sql.kafka.config.librdkafka_options import ALLOWED_OPTIONS
from kafka_sql.kafka.config.token_providers import OWN_PROPERTIES
from kafka_sql.options.inherited_secrets import check_inherited_secrets

CLUSTER = {
    "connector": "kafka",
    "topic": "t",
    "format": "json",
    "properties.bootstrap.servers": "broker:9093",
    "properties.security.protocol": "SASL_SSL",
    "properties.sasl.mechanism": "SCRAM-SHA-256",
    "properties.ssl.truststore.location": "/trust.jks",
}
SECRETS = {
    "properties.sasl.jaas.config": "PlainLoginModule ...",
    "properties.sasl.password": "hunter2",
    "properties.sasl.oauthbearer.client.secret": "hunter2",
    "properties.sasl.oauthbearer.client.credentials.client.secret": "hunter2",
    "properties.sasl.oauthbearer.assertion.private.key.passphrase": "hunter2",
    "properties.sasl.oauthbearer.assertion.file": "/token",
    "properties.sasl.oauthbearer.config": "principal=x",
    "properties.sasl.oauthbearer.extensions": "a=b",
    "properties.sasl.kerberos.keytab": "/keytab",
    "properties.ssl.key.password": "hunter2",
    "properties.ssl.keystore.location": "/key.jks",
    "properties.ssl.keystore.password": "hunter2",
    "properties.ssl.keystore.key": "-----BEGIN",
    "properties.ssl.key.pem": "-----BEGIN",
    "properties.ssl.key.location": "/key.pem",
    "properties.ssl.truststore.password": "hunter2",
    "properties.sasl.username": "${env:USER}",
    "properties.client.id": "a-${file:/secrets:id}",
}
SENT_ELSEWHERE = {
    "properties.bootstrap.servers": "other:9093",
    "properties.metadata.broker.list": "other:9093",
    "properties.client.dns.lookup": "resolve_canonical_bootstrap_servers_only",
    "properties.security.protocol": "SASL_PLAINTEXT",
    "properties.sasl.mechanism": "PLAIN",
    "properties.sasl.mechanisms": "PLAIN",
    "properties.sasl.oauthbearer.method": "oidc",
    "properties.sasl.oauthbearer.token.endpoint.url": "https://other/token",
    "properties.sasl.oauthbearer.metadata.authentication.type": "azure_imds",
    "properties.sasl.oauthbearer.token-provider": "other:function",
    "properties.sasl.client.callback.handler.class": "IAMClientCallbackHandler",
    "properties.sasl.login.callback.handler.class": "OAuthBearerLoginCallbackHandler",
    "properties.enable.ssl.certificate.verification": "false",
    "properties.ssl.endpoint.identification.algorithm": "",
    "properties.ssl.truststore.location": "/other.jks",
    "properties.ssl.truststore.certificates": "-----BEGIN",
    "properties.ssl.ca.location": "/other.pem",
    "properties.ssl.ca.pem": "-----BEGIN",
    "properties.ssl.cipher.suites": "NULL",
    "properties.https.ca.location": "/other.pem",
}


def check(base: dict[str, str], changes: dict[str, str]) -> None:
    check_inherited_secrets(base, base | changes, changes)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("changed", SENT_ELSEWHERE)
def test_secrets_are_not_sent_elsewhere(secret: str, changed: str) -> None:
    base, change = {**CLUSTER, secret: SECRETS[secret]}, {changed: SENT_ELSEWHERE[changed]}
    with pytest.raises(MissingOptionError) as raised:
        check(base, change)
    assert str(raised.value) == (
        f"[MISSING_OPTION] Option '{changed}' changes where the table's secrets are sent or how they are protected, so "
        f"they are not inherited. The statement must set them, too: '{secret}'."
    )
    assert raised.value.option == secret
    check(base, {**change, secret: SECRETS[secret]})
    check({key: value for key, value in base.items() if key != secret}, change)


def test_every_inherited_secret_must_be_set() -> None:
    base = {**CLUSTER, "properties.sasl.password": "p", "properties.ssl.key.password": "k"}
    with pytest.raises(MissingOptionError, match=r"must set them, too: 'properties\.ssl\.key\.password'\.$"):
        check(base, {"properties.bootstrap.servers": "other:1", "properties.sasl.password": "p"})


@pytest.mark.parametrize(
    "change",
    [
        {"topic": "u", "scan.startup.mode": "earliest-offset"},
        {"properties.group.id": "g", "properties.client.rack": "r", "properties.debug": "all"},
        {"properties.bootstrap.servers": "broker:9093"},
        {"properties.security.protocol": " sasl_ssl"},
        {"properties.sasl.mechanism": "SCRAM-SHA-512"},
        {"properties.ssl.endpoint.identification.algorithm": "HTTPS"},
        {"properties.enable.ssl.certificate.verification": "true"},
        {"properties.sasl.username": "bob"},
        {"properties.sasl.oauthbearer.client.id": "bob"},
        {"properties.sasl.password": "other"},
        {"format": "avro-confluent", "avro-confluent.url": "http://registry"},
    ],
)
def test_other_changes_keep_the_secrets(change: dict[str, str]) -> None:
    check({**CLUSTER, "properties.sasl.password": "hunter2", "properties.sasl.jaas.config": "Plain"}, change)


@pytest.mark.parametrize(
    ("key", "old", "new", "is_kept"),
    [
        ("security.protocol", "SASL_PLAINTEXT", "SASL_SSL", True),
        ("security.protocol", "SASL_SSL", "SSL", False),
        ("security.protocol", None, "PLAINTEXT", True),
        ("security.protocol", None, "SASL_PLAINTEXT", False),
        ("security.protocol", "${env:PROTOCOL}", "SASL_SSL", False),
        ("security.protocol", "SASL_SSL", "${env:PROTOCOL}", False),
        ("sasl.mechanism", "PLAIN", "SCRAM-SHA-512", True),
        ("sasl.mechanism", "SCRAM-SHA-512", "SCRAM-SHA-256", False),
        ("sasl.mechanism", "SCRAM-SHA-512", "OAUTHBEARER", False),
        ("sasl.mechanism", None, "PLAIN", False),
        ("ssl.endpoint.identification.algorithm", "", "https", True),
        ("ssl.endpoint.identification.algorithm", "none", "", True),
        ("ssl.endpoint.identification.algorithm", None, "none", False),
        ("enable.ssl.certificate.verification", "false", "true", True),
        ("enable.ssl.certificate.verification", "true", "f", False),
    ],
)
def test_stronger_protection_keeps_the_secrets(key: str, old: str | None, new: str, is_kept: bool) -> None:
    name = f"properties.{key}"
    base = {"properties.sasl.password": "hunter2"} | ({} if old is None else {name: old})
    if is_kept:
        check(base, {name: new})
    else:
        with pytest.raises(MissingOptionError, match=f"Option '{name}' changes"):
            check(base, {name: new})


@pytest.mark.parametrize("removed", ["security.protocol", "sasl.mechanism", "ssl.truststore.location"])
def test_removed_protection(removed: str) -> None:
    base = {**CLUSTER, "properties.sasl.password": "hunter2"}
    keys = [f"properties.{removed}"]
    left = {key: value for key, value in base.items() if key not in keys}
    with pytest.raises(MissingOptionError, match=r"must reset them, too: 'properties\.sasl\.password'\.$"):
        check_inherited_secrets(base, left, keys, verb="reset")
    left.pop("properties.sasl.password")
    check_inherited_secrets(base, left, [*keys, "properties.sasl.password"], verb="reset")


REGISTRIES = [
    prefix + name
    for name, format_ in ((name, FORMATS[name]) for name in FORMATS)
    if any(option.key == f"{name}.url" for option in format_.options)
    for prefix in ("", "key.", "value.")
]


@pytest.mark.parametrize("registry", REGISTRIES)
@pytest.mark.parametrize(
    ("secret", "value"),
    [
        ("basic-auth.user-info", "u:p"),
        ("bearer-auth.token", "t"),
        ("properties.basic.auth.user.info", "u:p"),
        ("properties.bearer.auth.token", "t"),
        ("properties.request.header.Cookie", "c"),
        ("ssl.keystore.password", "p"),
        ("ssl.keystore.location", "/key.jks"),
        ("properties.schema.registry.ssl.keystore.location", "/key.jks"),
    ],
)
def test_credentials_of_a_registry(registry: str, secret: str, value: str) -> None:
    base = {f"{registry}.url": "https://registry", f"{registry}.{secret}": value, "properties.sasl.password": "p"}
    for changed in ("url", "schema-registry.url", "ssl.truststore.location", "properties"):
        with pytest.raises(MissingOptionError, match=f"Option '{registry}.{changed}' .* too: '{registry}.{secret}'.$"):
            check(base, {f"{registry}.{changed}": "other"})
    check(base, {f"{registry}.url": "https://other", f"{registry}.{secret}": value})
    check(base, {f"{registry}.subject": "s", f"{registry}.properties.auto.register.schemas": "false"})
    check(base, {f"{registry}.basic-auth.credentials-source": "USER_INFO", "other-confluent.url": "https://other"})


def test_user_info_of_a_url() -> None:
    base = {"avro-confluent.url": "https://u:p@registry"}
    with pytest.raises(MissingOptionError, match=r"ssl\.truststore\.location' .* too: 'avro-confluent\.url'"):
        check(base, {"avro-confluent.ssl.truststore.location": "/other.jks"})
    check(base, {"avro-confluent.url": "https://other"})  # without the user info


@pytest.mark.parametrize(
    ("key", "value", "is_secret"),
    [
        ("sasl.oauthbearer.token-provider", "tokens:create", True),
        ("sasl.oauthbearer.metadata.authentication.type", "azure_imds", True),
        ("sasl.login.callback.handler.class", "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler", True),
        ("sasl.client.callback.handler.class", "software.amazon.msk.auth.iam.IAMClientCallbackHandler", True),
        ("sasl.login.callback.handler.class", "o.a.k.OAuthBearerLoginCallbackHandler ", False),
    ],
)
def test_tokens_are_not_sent_elsewhere(key: str, value: str, is_secret: bool) -> None:
    base, other = {**CLUSTER, f"properties.{key}": value}, {"properties.bootstrap.servers": "other:9093"}
    if is_secret:
        with pytest.raises(MissingOptionError, match=f"must set them, too: 'properties.{key}'"):
            check(base, other)
    else:
        check(base, other)
    check(base, {**other, f"properties.{key}": value})


def test_there_is_a_registry_to_test() -> None:
    assert {"avro-confluent", "key.json-confluent", "value.debezium-avro-confluent"} <= set(REGISTRIES)


# Properties of clients without effect on where secrets are sent, and how. A new one is added here or protects secrets.
UNRELATED = (
    *("acks", "allow.", "api.", "auto.", "batch.", "broker.", "buffer.", "check.", "client.id", "client.rack"),
    *("compression.", "connections.", "consume.", "coordinator.", "debug", "default.", "delivery.", "enable.auto"),
    *("enable.gapless", "enable.idempotence", "enable.metrics", "enable.partition", "enable.random", "fetch."),
    *("group.", "heartbeat.", "isolation.", "linger.", "log.", "log_level", "max.", "message.", "metadata.max"),
    *("metadata.recovery", "partitioner", "produce.", "queu", "receive.", "reconnect.", "request.", "retries"),
    *("retry.", "send.", "session.", "socket.", "statistics.", "sticky.", "topic.", "transaction."),
)


def client_properties() -> list[Any]:
    java = [p.key for p in JAVA_PROPERTIES.values() if p.handling not in (Handling.IGNORED, Handling.REJECTED)]
    return sorted({*java, *OWN_PROPERTIES, *ALLOWED_OPTIONS})


@pytest.mark.parametrize("key", client_properties())
def test_every_property_of_clients_is_classified(key: str) -> None:
    base = {"properties.sasl.password": "p", "properties.bootstrap.servers": "h:1"}
    identity = ("sasl.username", "sasl.kerberos.principal", "sasl.oauthbearer.client", "ssl.certificate.", "ssl.key")
    secrets = ("keytab", "password", "config", "extensions", "assertion.file", "key.file", "passphrase", "key.pem")
    is_unrelated = key.startswith((*UNRELATED, *identity)) or key.endswith(secrets)
    try:
        check(base, {f"properties.{key}": "x"})
    except MissingOptionError as e:
        is_checked = e.option in base
    else:
        is_checked = False
    assert is_checked is not is_unrelated
