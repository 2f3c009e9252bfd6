"""Test which properties Java's clients get in real-time mode, and that they name no code and no unchecked files."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import InvalidOptionError, KafkaSqlError, UnsupportedOptionError
from kafka_sql.kafka.config.jaas import to_java_string
from kafka_sql.kafka.config.java_properties import JAVA_PROPERTIES, REAL_TIME_PROPERTIES, Handling
from kafka_sql.kafka.config.java_values import BOOLEAN, Integers
from kafka_sql.options.allow_lists import PATHS, URLS
from kafka_sql.realtime.client_properties import java_properties
from kafka_sql.table.table import Column, Table
from tests.certificates import create_authority, sign_certificate

SERVERS = {"bootstrap.servers": "host:9092"}
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


def define(properties: dict[str, str]) -> Definition:
    options = {"connector": "kafka", "topic": "orders", "format": "json"}
    options |= {f"properties.{key}": value for key, value in (SERVERS | properties).items()}
    return validate_table(Table(("t",), (Column("a", "INT", "INT"),), options))


def passed(**properties: str) -> dict[str, str]:
    """Return what Java gets for properties, written with underscores."""
    return java_properties(define({key.replace("_", "."): value for key, value in properties.items()}))


WITHOUT_EFFECT = sorted(
    key
    for key, java in JAVA_PROPERTIES.items()
    if java.handling in (Handling.IGNORED, Handling.REJECTED) and key not in REAL_TIME_PROPERTIES
)


@pytest.mark.parametrize("key", WITHOUT_EFFECT)
def test_properties_without_effect_are_not_passed(key: str) -> None:
    is_rejected = JAVA_PROPERTIES[key].handling is Handling.REJECTED
    values = JAVA_PROPERTIES[key].values
    valid = "5000" if isinstance(values, Integers) else "true" if values is BOOLEAN else "evil.Class"
    definition = define({key: "" if is_rejected else valid})
    if key == "transactional.id":
        with pytest.raises(UnsupportedOptionError, match="has no transactions"):
            java_properties(definition)
    else:
        assert java_properties(definition) == SERVERS
    if is_rejected:
        with pytest.raises(KafkaSqlError, match=f"'properties.{key}' is not supported"):
            define({key: "evil.Class"})


def test_what_java_gets_names_no_code() -> None:
    code = ("class", "classes", "reporters", "strategy", "provider", "providers", "cmd", "serializer", "deserializer")
    assert {key for key in REAL_TIME_PROPERTIES if key.endswith(code)} == {
        "metadata.recovery.strategy",  # a name
        "sasl.client.callback.handler.class",  # listed classes: test_token_providers
        "sasl.login.callback.handler.class",
        "sasl.oauthbearer.jwt.retriever.class",
    }


def test_properties_that_only_java_honors_are_passed() -> None:
    assert passed(max_poll_records="5", linger_ms="5") == {**SERVERS, "max.poll.records": "5", "linger.ms": "5"}


def test_values_of_security_are_those_that_were_checked() -> None:
    assert passed(
        security_protocol=" ssl", ssl_endpoint_identification_algorithm="None", ssl_enabled_protocols="TLSv1.1, tlsv1.2"
    ) == {
        **SERVERS,
        "security.protocol": "SSL",
        "ssl.endpoint.identification.algorithm": "",
        "ssl.enabled.protocols": "TLSv1.2",
    }


@pytest.mark.parametrize(
    ("written", "module", "options"),
    [
        (f"{PLAIN} Required /* x */ u=v\n p='a\"b\\\\c\n' ;", PLAIN, r'u="v" p="a\"b\\c\n"'),
        (f"org.apache.flink.kafka.shaded.{PLAIN} required u=v;", PLAIN, 'u="v"'),
        ("evil.PlainLoginModule sufficient u=v;", PLAIN, 'u="v"'),
        (f'{OAUTH} optional clientId="i" clientSecret="s";', OAUTH, 'clientId="i" clientSecret="s"'),
    ],
)
def test_java_gets_a_listed_login_module_as_this_package_read_it(written: str, module: str, options: str) -> None:
    assert to_java_string(written) == f"{module} required {options};"


def test_the_login_module_of_a_table() -> None:
    written = f"org.apache.flink.kafka.shaded.{PLAIN} required username=u password=p;"
    assert passed(sasl_jaas_config=written)["sasl.jaas.config"] == f'{PLAIN} required username="u" password="p";'


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("sasl_login_callback_handler_class", "OAuthBearerLoginCallbackHandler"),
        ("sasl_oauthbearer_jwt_retriever_class", "ClientCredentialsJwtRetriever"),
    ],
)
def test_java_gets_its_own_classes(key: str, name: str) -> None:
    oauth = {
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauthbearer_token_endpoint_url": "https://idp/token",
        "sasl_jaas_config": f'{OAUTH} required clientId="i" clientSecret="s";',
    }
    java_class = passed(**oauth, **{key: f"evil.{name}"})[key.replace("_", ".")]
    assert java_class == f"org.apache.kafka.common.security.oauthbearer.{name}"


def test_a_reference_to_another_login_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAAS", 'com.sun.security.auth.module.JndiLoginModule required user.provider.url="ldap://evil";')
    with pytest.raises(UnsupportedOptionError, match="login module 'JndiLoginModule'"):
        passed(sasl_jaas_config="${env:JAAS}")


def test_allow_lists_apply_to_what_java_gets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text(create_authority("ca").pem)
    oauth = {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauthbearer_token_endpoint_url": "https://evil/token",
        "sasl_jaas_config": f'{OAUTH} required clientId="i" clientSecret="s";',
    }
    passed(**oauth)
    monkeypatch.setenv(URLS, "https://good/token")
    with pytest.raises(InvalidOptionError, match=f"{URLS} does not allow the value"):
        passed(**oauth)
    with pytest.raises(KafkaSqlError, match=r"ca\.pem' cannot be read on this machine"):
        passed(ssl_truststore_location=str(tmp_path / "ca.pem"))


def test_executors_read_no_stores_if_files_are_restricted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    authority = create_authority("ca")
    identity = sign_certificate(authority, "me")
    (tmp_path / "ca.pem").write_text(authority.pem)
    (tmp_path / "me.pem").write_text(identity.key("secret") + identity.chain)
    stores = {
        "ssl_truststore_location": str(tmp_path / "ca.pem"),
        "ssl_truststore_type": "PEM",
        "ssl_keystore_location": str(tmp_path / "me.pem"),
        "ssl_keystore_type": "PEM",
        "ssl_key_password": "secret",
    }
    as_written = SERVERS | {key.replace("_", "."): value for key, value in stores.items()}
    assert passed(**stores) == as_written
    monkeypatch.setenv(PATHS, str(tmp_path))
    contents = passed(**stores)
    assert contents.keys() == {
        "bootstrap.servers",
        *("ssl.truststore.certificates", "ssl.truststore.type"),
        *("ssl.keystore.key", "ssl.keystore.certificate.chain", "ssl.keystore.type"),
    }
    assert contents["ssl.truststore.certificates"].split() == authority.pem.split()
    assert contents["ssl.keystore.key"].startswith("-----BEGIN PRIVATE KEY-----\n")
    assert (contents["ssl.truststore.type"], contents["ssl.keystore.type"]) == ("PEM", "PEM")


def test_other_files_are_not_read_unchecked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = "com.sun.security.auth.module.Krb5LoginModule"
    jaas = f'{module} required useKeyTab=true keyTab="{tmp_path}/k" principal="a@B";'
    assert passed(sasl_jaas_config=jaas)["sasl.jaas.config"].startswith(f"{module} required useKeyTab")
    monkeypatch.setenv(PATHS, str(tmp_path))
    with pytest.raises(UnsupportedOptionError, match=r"Java would read a file on executors .* \(keyTab\)"):
        passed(sasl_jaas_config=jaas)
    with pytest.raises(UnsupportedOptionError, match="Java would read a file on executors"):
        passed(sasl_oauthbearer_assertion_file=str(tmp_path / "token"))
