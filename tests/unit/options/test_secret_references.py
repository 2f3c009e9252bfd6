"""Test references to secrets: Kafka's syntax and providers. Errors name the reference, never the resolved value."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark import cloudpickle

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import BrokerError, InvalidOptionError, KafkaSqlError, SecretReferenceError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.librdkafka.client import open_client
from kafka_sql.options.secret_references import has_reference, mask_secrets, resolve
from kafka_sql.table.table import Column, Table

SECRET = "hunter2"
SASL = {
    "bootstrap.servers": "127.0.0.1:1",
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "u",
    "sasl.password": "${env:KAFKA_PASSWORD}",
}


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a folder with a properties file and a file with a secret, and set an environment variable."""
    (tmp_path / "s.properties").write_text("# comment\nkey.password = " + SECRET + "\nlong : a\\\n  b\nö\\u0020ü=x\n")
    (tmp_path / "password").write_text(SECRET + "\n")
    monkeypatch.setenv("KAFKA_PASSWORD", SECRET)
    monkeypatch.delenv("KAFKA_OTHER", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("${env:KAFKA_PASSWORD}", SECRET),
        ("${file:FOLDER/s.properties:key.password}", SECRET),
        ("${file:FOLDER/s.properties:long}", "ab"),
        ("${file:FOLDER/s.properties:ö ü}", "x"),
        ("${directory:FOLDER:password}", SECRET + "\n"),
        ("a${env:KAFKA_PASSWORD}b${directory:FOLDER:password}c", f"a{SECRET}b{SECRET}\nc"),
        ("${env}", "${env}"),
        ("$env:KAFKA_PASSWORD", "$env:KAFKA_PASSWORD"),
        ("", ""),
    ],
)
def test_references_are_resolved(secrets: Path, value: str, expected: str) -> None:
    value = value.replace("FOLDER", str(secrets))
    assert resolve(value, "o") == expected
    assert has_reference(value) == (expected != value)


def test_resolved_values_are_not_scanned_for_references(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A", "${env:B}")
    assert resolve("${env:A}", "o") == "${env:B}"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("${env:KAFKA_OTHER}", "the environment variable is not set"),
        ("${env:x:KAFKA_PASSWORD}", "have no path"),
        ("${file:FOLDER/s.properties:other}", "has no key 'other'"),
        ("${file:FOLDER/none:key}", "cannot be read (No such file or directory)"),
        ("${directory:FOLDER:none}", "cannot be read (No such file or directory)"),
        ("${directory:FOLDER/sub:../password}", "must not contain a path"),
        (
            "${evn:KAFKA_PASSWORD}",
            "has an unknown provider. Supported: 'env', 'file', 'directory'. Did you mean 'env'?",
        ),
    ],
)
def test_unresolvable_references_are_named(secrets: Path, value: str, reason: str) -> None:
    value = value.replace("FOLDER", str(secrets))
    with pytest.raises(SecretReferenceError) as caught:
        resolve("before" + value, "properties.sasl.password")
    message = str(caught.value)
    assert message.startswith(f"[SECRET_REFERENCE] Option 'properties.sasl.password': reference '{value}'")
    assert reason in message
    assert SECRET not in message
    assert caught.value.__cause__ is None


def test_errors_do_not_quote_files(tmp_path: Path) -> None:
    (tmp_path / "bad.properties").write_text("password=" + SECRET + "\\u12")
    (tmp_path / "latin").write_bytes(SECRET.encode() + b"\xff")
    for value in (f"${{file:{tmp_path}/bad.properties:password}}", f"${{directory:{tmp_path}:latin}}"):
        with pytest.raises(SecretReferenceError) as caught:
            resolve(value, "o")
        assert SECRET not in str(caught.value)


def test_secrets_are_masked() -> None:
    values, resolved = {"p": "${env:P}", "q": "plain"}, {"p": SECRET, "q": "plain"}
    assert mask_secrets(f"no {SECRET} plain", values, resolved) == "no ${env:P} plain"
    written = {"sasl.password": "longer than the shortest", "ssl.key.password": "abc", "client.id": "longer than that"}
    message = "longer than the shortest, abc, longer than that"
    assert mask_secrets(message, written, written) == "******, abc, longer than that"
    assert mask_secrets(f"no {SECRET}", {"sasl.password": "other"}, {"sasl.password": SECRET}) == "no ******"
    assert mask_secrets(f"http://u:{SECRET}@h/token failed", {}, {}) == "http://******@h/token failed"


def define_table(**options: str) -> Definition:
    client = {f"properties.{key}": value for key, value in SASL.items()}
    all_options = {"connector": "kafka", "topic": "t", "format": "raw", **client, **options}
    return validate_table(Table(("t",), (Column("a", "STRING", "STRING"),), all_options))


def test_definitions_keep_references(secrets: Path) -> None:
    definition = define_table()
    assert definition.client_config["sasl.password"] == "${env:KAFKA_PASSWORD}"
    assert SECRET.encode() not in cloudpickle.dumps(definition)
    assert SECRET not in repr(definition)


def test_references_are_resolved_when_a_client_is_created(secrets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = define_table().client_config
    open_client(Producer, client)
    Cluster(client)
    monkeypatch.delenv("KAFKA_PASSWORD")
    for create in (lambda: open_client(Producer, client), lambda: Cluster(client)):
        with pytest.raises(
            SecretReferenceError, match=r"'properties.sasl.password': reference '\$\{env:KAFKA_PASSWORD"
        ):
            create()


def test_client_errors_do_not_quote_resolved_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_SETTING", SECRET)
    for key, error in (("client.dns.lookup", BrokerError), ("security.protocol", InvalidOptionError)):
        config = to_librdkafka({**SASL, "sasl.password": "p", key: "${env:KAFKA_SETTING}"})
        _assert_creation_error_quotes_no_secret(config, error)


def _assert_creation_error_quotes_no_secret(config: dict[str, str], error: type[KafkaSqlError]) -> None:
    for create in (lambda: open_client(Producer, config), lambda: Cluster(config)):
        with pytest.raises(error) as caught:
            create()
        assert SECRET not in str(caught.value)
        assert caught.value.__cause__ is None


def test_properties_that_cannot_be_references() -> None:
    for key in ("isolation.level", "auto.offset.reset", "socket.connection.setup.timeout.ms"):
        with pytest.raises(InvalidOptionError, match=rf"'properties.{key}' must be a literal value"):
            to_librdkafka({**SASL, key: "${env:X}"})
