"""Options of key stores and trust stores: which exclude or require each other."""

from __future__ import annotations

import pytest

from kafka_sql.errors import ConflictingOptionsError, KafkaSqlError, MissingOptionError
from kafka_sql.kafka.config.properties import resolve_config, to_librdkafka
from tests.certificates import create_authority, sign_certificate

SERVERS = {"bootstrap.servers": "localhost:9092"}


@pytest.mark.parametrize(
    "options",
    [
        {"ssl.truststore.location": "/trust.jks", "ssl.truststore.password": "s3cret"},
        {"ssl.keystore.location": "/keys.p12", "ssl.keystore.password": "s3cret"},
        {"ssl.truststore.certificates": "${env:CA}"},
        {"ssl.keystore.key": "${env:KEY}", "ssl.keystore.certificate.chain": "${env:CHAIN}"},
    ],
)
def test_stores_are_read_when_a_client_is_created(options: dict[str, str]) -> None:
    config = to_librdkafka({**SERVERS, **options})
    assert {key: config[key] for key in options} == options


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"ssl.truststore.location": "/a", "ssl.truststore.certificates": "${env:B}"},
            ConflictingOptionsError,
            r"'properties\.ssl\.truststore\.location' and 'properties\.ssl\.truststore\.certificates' are mutually",
        ),
        (
            {"ssl.keystore.location": "/a", "ssl.keystore.key": "${env:B}"},
            ConflictingOptionsError,
            r"'properties\.ssl\.keystore\.location' and 'properties\.ssl\.keystore\.key' are mutually exclusive",
        ),
        (
            {"ssl.keystore.key": "${env:B}"},
            MissingOptionError,
            r"'properties\.ssl\.keystore\.key' requires 'properties\.ssl\.keystore\.certificate\.chain'",
        ),
        (
            {"ssl.keystore.certificate.chain": "${env:B}"},
            MissingOptionError,
            r"'properties\.ssl\.keystore\.certificate\.chain' requires 'properties\.ssl\.keystore\.key'",
        ),
    ],
)
def test_conflicts(options: dict[str, str], error: type[KafkaSqlError], message: str) -> None:
    with pytest.raises(error, match=message):
        to_librdkafka({**SERVERS, **options})


def test_invalid_pem_fails_the_statement() -> None:
    with pytest.raises(KafkaSqlError, match=r"'properties\.ssl\.truststore\.certificates'"):
        to_librdkafka({**SERVERS, "ssl.truststore.certificates": "s3cret junk"})


def test_pem_options_become_those_of_librdkafka() -> None:
    authority = create_authority("root")
    client = sign_certificate(authority, "client")
    config = resolve_config(
        to_librdkafka(
            {
                **SERVERS,
                "ssl.truststore.certificates": authority.pem,
                "ssl.keystore.key": client.key("s3cret"),
                "ssl.keystore.certificate.chain": client.chain,
                "ssl.key.password": "s3cret",
            }
        )
    )
    assert config["ssl.ca.pem"].strip() == authority.pem.strip()
    assert config["ssl.certificate.pem"].startswith(client.pem.strip())
    assert "ENCRYPTED" not in config["ssl.key.pem"]
    assert not {key for key in config if key.startswith(("ssl.truststore", "ssl.keystore", "ssl.key.password"))}
