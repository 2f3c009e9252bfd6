"""Credentials of SASL mechanisms are checked before a client is created."""

from __future__ import annotations

import pytest

from kafka_sql.errors import MissingOptionError
from kafka_sql.kafka.config.properties import resolve_config, to_librdkafka

SERVERS = {"bootstrap.servers": "broker:9093"}
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


def sasl(mechanism: str, **more: str) -> dict[str, str]:
    named = {key.replace("_", "."): value for key, value in more.items()}
    return {**SERVERS, "security.protocol": "SASL_SSL", "sasl.mechanism": mechanism, **named}


@pytest.mark.parametrize(
    ("mechanism", "options", "missing"),
    [
        ("PLAIN", {}, "the user name, the password"),
        ("scram-sha-256", {}, "the user name, the password"),
        ("SCRAM-SHA-512", {"sasl_username": "u"}, "the password"),
        ("SCRAM-SHA-512", {"sasl_username": "", "sasl_password": "hunter2"}, "the user name"),
        ("SCRAM-SHA-512", {"security_protocol": "SASL_PLAINTEXT"}, "the user name, the password"),
    ],
)
def test_missing_user_name_or_password(mechanism: str, options: dict[str, str], missing: str) -> None:
    module = PLAIN if mechanism == "PLAIN" else SCRAM
    with pytest.raises(MissingOptionError) as e:
        to_librdkafka(sasl(mechanism, **options))
    assert str(e.value) == (
        f"[MISSING_OPTION] Option 'properties.sasl.mechanism' = '{mechanism.upper()}' requires a user name and a "
        f"password. Missing: {missing}. Set 'properties.sasl.jaas.config' = '{module} required username=\"...\" "
        'password="...";\'.'
    )
    assert e.value.option == "properties.sasl.jaas.config"


@pytest.mark.parametrize("options", [{}, {"sasl_oauthbearer_scope": "kafka"}, {"sasl_oauthbearer_method": "default"}])
def test_missing_source_of_tokens(options: dict[str, str]) -> None:
    with pytest.raises(MissingOptionError) as e:
        to_librdkafka(sasl("OAUTHBEARER", **options))
    assert str(e.value) == (
        "[MISSING_OPTION] Option 'properties.sasl.mechanism' = 'OAUTHBEARER' requires "
        "'properties.sasl.oauthbearer.token.endpoint.url', from which clients request tokens, and the client's id and "
        "secret; or 'properties.sasl.oauthbearer.token-provider', a Python function that returns them. "
        f"Set 'properties.sasl.jaas.config' = '{OAUTH} required clientId=\"...\" clientSecret=\"...\";'."
    )


@pytest.mark.parametrize(
    "properties",
    [
        sasl("PLAIN", sasl_username="u", sasl_password="p"),
        sasl("PLAIN", sasl_jaas_config=f'{PLAIN} required username="u" password="p";'),
        sasl("SCRAM-SHA-512", sasl_username="u", sasl_password="${env:PASSWORD}"),
        sasl("SCRAM-SHA-512", sasl_jaas_config=f'{SCRAM} required username="u" password="${{env:PASSWORD}}";'),
        sasl("SCRAM-SHA-512", sasl_jaas_config="${env:LOGIN}"),
        sasl("${env:MECHANISM}"),
        {**SERVERS, "security.protocol": "${env:PROTOCOL}", "sasl.mechanism": "PLAIN"},
        {**SERVERS, "security.protocol": "SSL", "sasl.mechanism": "PLAIN"},
        {**SERVERS, "sasl.mechanism": "PLAIN"},
        sasl("OAUTHBEARER", sasl_jaas_config=f'{OAUTH} required unsecuredLoginStringClaim_sub="me";'),
        sasl("OAUTHBEARER", sasl_jaas_config="${env:LOGIN}"),
        sasl("OAUTHBEARER", sasl_oauthbearer_method="${env:METHOD}"),
        {
            **sasl("OAUTHBEARER", sasl_jaas_config=f'{OAUTH} required clientId="me" clientSecret="s";'),
            "sasl.oauthbearer.token.endpoint.url": "https://login.example/token",
        },
    ],
    ids=str,
)
def test_credentials_that_are_or_may_be_configured(properties: dict[str, str]) -> None:
    to_librdkafka(properties)


@pytest.mark.parametrize(
    ("properties", "variables"),
    [
        (sasl("${env:MECHANISM}"), {"MECHANISM": "plain"}),
        ({**SERVERS, "security.protocol": "${env:PROTOCOL}", "sasl.mechanism": "PLAIN"}, {"PROTOCOL": "sasl_ssl"}),
        (sasl("PLAIN", sasl_username="u", sasl_password="${env:PASSWORD}"), {"PASSWORD": ""}),
    ],
    ids=str,
)
def test_references_are_checked_when_they_are_resolved(
    properties: dict[str, str], variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = to_librdkafka(properties)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(MissingOptionError, match=r"'PLAIN' requires a user name and a password"):
        resolve_config(config)
