"""``sasl.jaas.config``, as users copy it from their Java properties."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import (
    ConflictingOptionsError,
    InvalidOptionError,
    KafkaSqlError,
    MissingOptionError,
    UnsupportedOptionError,
)
from kafka_sql.kafka.config.jaas import parse_jaas, remove_escapes
from kafka_sql.kafka.config.properties import resolve_config, to_librdkafka

SERVERS = {"bootstrap.servers": "localhost:9092"}
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
KRB5 = "com.sun.security.auth.module.Krb5LoginModule"


def sasl(text: str, **more: str) -> dict[str, str]:
    """Return the ``sasl.*`` options for a JAAS string."""
    config = resolve_config(to_librdkafka({**SERVERS, "sasl.jaas.config": text, **more}))
    return {k.removeprefix("sasl."): v for k, v in config.items() if k.startswith("sasl.")}


def error_message(error_type: type[KafkaSqlError], text: str, **more: str) -> str:
    with pytest.raises(error_type) as e:
        to_librdkafka({**SERVERS, "sasl.jaas.config": text, **more})
    assert "planted-4711" not in str(e.value)
    return str(e.value)


@pytest.mark.parametrize(
    ("quoted", "password"),
    [
        ('"secret"', "secret"),
        ("'secret'", "secret"),
        ("secret", "secret"),
        (r'"a\"b\\c"', 'a"b\\c'),
        ('"a;b=c d"', "a;b=c d"),
        ("'a\"b'", 'a"b'),
        (r'"tab\there"', "tab\there"),
        ('""', ""),
        ('"pässwörd"', "pässwörd"),
        ('"//no comment"', "//no comment"),
    ],
)
def test_quoting(quoted: str, password: str) -> None:
    text = f'{PLAIN}\n  required  username = "me"\tpassword={quoted} ; '
    assert sasl(text) == {"username": "me", "password": password}


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_every_password_survives_quoting(password: str) -> None:
    escaped = password.replace("\\", "\\\\").replace('"', '\\"')
    module = parse_jaas(f'{SCRAM} required username="u" password="{escaped}" ;')
    assert module.options == {"username": "u", "password": password}


@given(st.text("a\"'\\;= ${}:/*\n"))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    with contextlib.suppress(InvalidOptionError):
        parse_jaas(text)


def test_quotes_copied_from_a_java_string() -> None:
    expected = {"username": "me", "password": 'a"b'}
    assert sasl(rf"{PLAIN} required username=\"me\" password=\"a\\\"b\";") == expected
    text = rf'{PLAIN} required username="me" password="=\\\"";'  # a valid password with a quote
    assert sasl(text) == {"username": "me", "password": '=\\"'}
    assert remove_escapes(text) == text


def test_comments() -> None:
    assert sasl(f'/* who */ {SCRAM} required // and\n username="u" password="p";') == {
        "username": "u",
        "password": "p",
    }


def test_bearer_tokens_from_an_endpoint() -> None:
    handler = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler"
    text = f'{OAUTH} required clientId="svc" clientSecret="s" scope="kafka" extension_logicalCluster="lkc-1";'
    more = {
        "sasl.login.callback.handler.class": handler,
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": "http://localhost/token",
    }
    assert sasl(text, **more) == {
        "mechanism": "OAUTHBEARER",
        "oauthbearer.method": "oidc",
        "oauthbearer.client.id": "svc",
        "oauthbearer.client.secret": "s",
        "oauthbearer.scope": "kafka",
        "oauthbearer.extensions": "logicalCluster=lkc-1",
        "oauthbearer.token.endpoint.url": "http://localhost/token",
    }
    assert sasl(text, **{k: v for k, v in more.items() if "handler" not in k})["oauthbearer.method"] == "oidc"


def test_unsecured_bearer_tokens() -> None:
    text = f'{OAUTH} required unsecuredLoginStringClaim_sub="alice";'
    assert sasl(text) == {"oauthbearer.config": "principal=alice"}
    config = to_librdkafka({**SERVERS, "sasl.jaas.config": text})
    assert config["enable.sasl.oauthbearer.unsecure.jwt"] == "true"


def test_kerberos() -> None:
    keytab = f'{KRB5} required useKeyTab=true storeKey=true keyTab="/a.keytab" principal="a@B" serviceName="kafka";'
    assert sasl(keytab) == {
        "kerberos.principal": "a@B",
        "kerberos.keytab": "/a.keytab",
        "kerberos.service.name": "kafka",
    }
    assert sasl(f"{KRB5} required useTicketCache=true;") == {"kerberos.min.time.before.relogin": "0"}


def test_secret_references_in_and_instead_of_the_jaas_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", 'a"b')
    text = f'{PLAIN} required username="u" password="${{env:PW}}";'
    config = to_librdkafka({**SERVERS, "sasl.jaas.config": text})
    assert config["sasl.password"] == "${env:PW}"
    assert resolve_config(config)["sasl.password"] == 'a"b'
    assert sasl(text.replace('"${env:PW}"', "${env:PW}"))["password"] == 'a"b'
    monkeypatch.setenv("JAAS", f'{PLAIN} required username="u" password="p";')
    assert sasl("${env:JAAS}") == {"username": "u", "password": "p"}
    monkeypatch.setenv("JAAS", "planted-4711")
    with pytest.raises(InvalidOptionError, match=r"'properties.sasl.jaas.config' cannot be parsed: it is trunc") as e:
        sasl("${env:JAAS}")
    assert "planted-4711" not in str(e.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f'{PLAIN} required username="u" password="planted-4711"', "it does not end with ';'; it may be truncated"),
        (f'{PLAIN} required username="u" password="planted-4711', "a quote is not closed; it may be truncated"),
        (f'{PLAIN} required username="u" password=;', "option 2 of the login module is not of the form"),
        (f'{PLAIN} username="planted-4711";', "expected a flag after the login module"),
        (f"{PLAIN} required planted-4711;", "option 1 of the login module is not of the form"),
        (f'{PLAIN} required password=a"b;c";', "option 2 of the login module is not of the form"),
        (f"{PLAIN} required; {PLAIN} required;", "more than one login module"),
        (PLAIN, "it is truncated"),
        ("x", "it is truncated"),
        (";", "it is truncated"),
    ],
)
def test_malformed(text: str, reason: str) -> None:
    message = error_message(InvalidOptionError, text)
    assert message.startswith("[INVALID_OPTION] Option 'properties.sasl.jaas.config' cannot be parsed: ")
    assert reason in message


def test_unsupported_login_modules() -> None:
    message = error_message(UnsupportedOptionError, 'com.acme.OwnLoginModule required password="planted-4711";')
    assert "login module 'OwnLoginModule' is a Java class that is not supported" in message
    suggestion = error_message(UnsupportedOptionError, 'a.PlainLoginModul required username="u" password="p";')
    assert "Did you mean 'PlainLoginModule'?" in suggestion
    assert "PlainLoginModule requires password=" in error_message(MissingOptionError, f'{PLAIN} required username="u";')
    token = f'{SCRAM} required username="u" password="p" tokenauth="true";'
    assert "(a delegation token) is not supported" in error_message(UnsupportedOptionError, token)


@pytest.mark.parametrize("key", ["sasl.login.callback.handler.class", "sasl.oauthbearer.jwt.retriever.class"])
def test_unsupported_classes(key: str) -> None:
    handler = "com.acme.OwnLoginCallbackHandler"
    message = error_message(UnsupportedOptionError, f'{OAUTH} required clientSecret="planted-4711";', **{key: handler})
    assert message.startswith(f"[UNSUPPORTED_OPTION] Option 'properties.{key}' = '{handler}' is not supported")


def test_messages_do_not_contain_secrets() -> None:
    assert "planted-4711" not in repr(parse_jaas(f'{PLAIN} required username="u" password="planted-4711";'))
    assert "planted-4711" not in json.dumps(error_message(InvalidOptionError, " ".join(["planted-4711"] * 3) + ";"))


def test_text_in_place_of_the_login_module_is_not_quoted() -> None:
    missing_quote = "${env:x.PlainLoginModule required username='me' password='planted-4711 ${env:HOME} optional ;"
    assert "the name of a Java class" in error_message(InvalidOptionError, missing_quote)
    assert "the name of a Java class" in error_message(InvalidOptionError, "'me planted-4711' required;")


@pytest.mark.parametrize(
    ("module", "mechanism", "advice"),
    [
        (SCRAM, "PLAIN", "to 'SCRAM-SHA-256' or 'SCRAM-SHA-512', or use login module 'PlainLoginModule'."),
        (PLAIN, "SCRAM-SHA-256", "to 'PLAIN', or use login module 'ScramLoginModule'."),
        (PLAIN, "scram-sha-512", "to 'PLAIN', or use login module 'ScramLoginModule'."),
        (OAUTH, "PLAIN", "to 'OAUTHBEARER', or use login module 'PlainLoginModule'."),
        (KRB5, "PLAIN", "to 'GSSAPI', or use login module 'PlainLoginModule'."),
        (PLAIN, None, "to 'PLAIN', or use login module 'Krb5LoginModule'."),  # Kafka's default is GSSAPI
    ],
)
@pytest.mark.parametrize("protocol", ["SASL_SSL", "SASL_PLAINTEXT"])
def test_login_modules_of_another_mechanism(module: str, mechanism: str | None, advice: str, protocol: str) -> None:
    text = f'{module} required username="u" password="planted-4711";'
    properties = {"security.protocol": protocol} | ({"sasl.mechanism": mechanism} if mechanism else {})
    message = error_message(ConflictingOptionsError, text, **properties)
    assert message == (
        f"[CONFLICTING_OPTIONS] Option 'properties.sasl.jaas.config': login module '{module.rpartition('.')[2]}' does "
        f"not match 'properties.sasl.mechanism' = '{(mechanism or 'GSSAPI').upper()}'. Set "
        f"'properties.sasl.mechanism' {advice}"
    )


def test_login_modules_in_references_are_compared_with_the_mechanism(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAAS", f'{SCRAM} required username="u" password="planted-4711";')
    monkeypatch.setenv("MECHANISM", "SCRAM-SHA-256")
    protocol = {"security.protocol": "SASL_SSL"}
    with pytest.raises(ConflictingOptionsError, match=r"'ScramLoginModule' does not match .* = 'PLAIN'"):
        sasl("${env:JAAS}", **protocol, **{"sasl.mechanism": "PLAIN"})
    config = sasl("${env:JAAS}", **protocol, **{"sasl.mechanism": "${env:MECHANISM}"})
    assert (config["username"], config["mechanism"]) == ("u", "SCRAM-SHA-256")
    literal = f'{SCRAM} required username="u" password="planted-4711";'
    assert sasl(literal, **protocol, **{"sasl.mechanism": "${env:MECHANISM}"})["username"] == "u"
