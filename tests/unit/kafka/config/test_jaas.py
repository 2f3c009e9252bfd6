"""``sasl.jaas.config`` as users copy it from their Java properties."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import InvalidOptionError, KafkaSqlError, MissingOptionError, UnsupportedOptionError
from kafka_sql.kafka.config.jaas import parse_jaas
from kafka_sql.kafka.config.properties import resolve_config, to_librdkafka

SERVERS = {"bootstrap.servers": "localhost:9092"}
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
KRB5 = "com.sun.security.auth.module.Krb5LoginModule"


def sasl(text: str, **more: str) -> dict[str, str]:
    """The ``sasl.*`` options that a JAAS string becomes."""
    found = resolve_config(to_librdkafka({**SERVERS, "sasl.jaas.config": text, **more}))
    return {k.removeprefix("sasl."): v for k, v in found.items() if k.startswith("sasl.")}


def refused(kind: type[KafkaSqlError], text: str, **more: str) -> str:
    with pytest.raises(kind) as e:
        to_librdkafka({**SERVERS, "sasl.jaas.config": text, **more})
    assert "planted-4711" not in str(e.value)
    return str(e.value)


@pytest.mark.parametrize(
    ("written", "password"),
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
def test_quoting(written: str, password: str) -> None:
    text = f'{PLAIN}\n  required  username = "me"\tpassword={written} ; '
    assert sasl(text) == {"username": "me", "password": password}


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_every_password_survives_quoting(password: str) -> None:
    escaped = password.replace("\\", "\\\\").replace('"', '\\"')
    login = parse_jaas(f'{SCRAM} required username="u" password="{escaped}" ;')
    assert login.options == {"username": "u", "password": password}


@given(st.text("a\"'\\;= ${}:/*\n"))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidOptionError):
        parse_jaas(text)


def test_comments() -> None:
    assert sasl(f'/* who */ {SCRAM} required // and\n username="u" password="p";') == {
        "username": "u",
        "password": "p",
    }


def test_bearer_tokens_of_an_endpoint() -> None:
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


def test_references_in_it_and_in_place_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", 'a"b')
    text = f'{PLAIN} required username="u" password="${{env:PW}}";'
    config = to_librdkafka({**SERVERS, "sasl.jaas.config": text})
    assert config["sasl.password"] == "${env:PW}"
    assert resolve_config(config)["sasl.password"] == 'a"b'
    assert sasl(text.replace('"${env:PW}"', "${env:PW}"))["password"] == 'a"b'
    monkeypatch.setenv("JAAS", f'{PLAIN} required username="u" password="p";')
    assert sasl("${env:JAAS}") == {"username": "u", "password": "p"}
    monkeypatch.setenv("JAAS", "planted-4711")
    with pytest.raises(InvalidOptionError, match=r"'properties.sasl.jaas.config' cannot be read: it is cut") as e:
        sasl("${env:JAAS}")
    assert "planted-4711" not in str(e.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f'{PLAIN} required username="u" password="planted-4711"', "it does not end with ';': is it cut off?"),
        (f'{PLAIN} required username="u" password="planted-4711', "a quote is opened and not closed: is it cut off?"),
        (f'{PLAIN} required username="u" password=;', "option 2 of the login module is not of the form"),
        (f'{PLAIN} username="planted-4711";', "after the login module a flag is expected"),
        (f"{PLAIN} required planted-4711;", "option 1 of the login module is not of the form"),
        (f'{PLAIN} required password=a"b;c";', "option 2 of the login module is not of the form"),
        (f"{PLAIN} required; {PLAIN} required;", "more than one login module"),
        (PLAIN, "it is cut off"),
        ("x", "it is cut off"),
        (";", "it is cut off"),
    ],
)
def test_malformed(text: str, words: str) -> None:
    message = refused(InvalidOptionError, text)
    assert message.startswith("[INVALID_OPTION] Option 'properties.sasl.jaas.config' cannot be read: ")
    assert words in message


def test_login_modules_that_there_are_not() -> None:
    message = refused(UnsupportedOptionError, 'com.acme.OwnLoginModule required password="planted-4711";')
    assert "login module 'OwnLoginModule' is a Java class that this client does not have" in message
    near = refused(UnsupportedOptionError, 'a.PlainLoginModul required username="u" password="p";')
    assert "Did you mean 'PlainLoginModule'?" in near
    assert "PlainLoginModule needs password=" in refused(MissingOptionError, f'{PLAIN} required username="u";')
    token = f'{SCRAM} required username="u" password="p" tokenauth="true";'
    assert "a delegation token, is not supported" in refused(UnsupportedOptionError, token)


@pytest.mark.parametrize("key", ["sasl.login.callback.handler.class", "sasl.oauthbearer.jwt.retriever.class"])
def test_classes_that_there_are_not(key: str) -> None:
    handler = "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler"
    message = refused(UnsupportedOptionError, f'{OAUTH} required clientSecret="planted-4711";', **{key: handler})
    assert message.startswith(f"[UNSUPPORTED_OPTION] Option 'properties.{key}' = '{handler}' is not supported")


def test_nothing_of_it_is_shown() -> None:
    assert "planted-4711" not in repr(parse_jaas(f'{PLAIN} required username="u" password="planted-4711";'))
    assert "planted-4711" not in json.dumps(refused(InvalidOptionError, "planted-4711 planted-4711 planted-4711;"))


def test_what_stands_in_the_place_of_the_login_module_is_not_quoted() -> None:
    swallowed = "${env:x.PlainLoginModule required username='me' password='planted-4711 ${env:HOME} optional ;"
    assert "the name of a Java class" in refused(InvalidOptionError, swallowed)
    assert "the name of a Java class" in refused(InvalidOptionError, "'me planted-4711' required;")
