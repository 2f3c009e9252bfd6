"""Test the registry options of avro-confluent, their key stores, and the wire format."""

from __future__ import annotations

import ssl
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.errors import (
    ConflictingOptionsError,
    InvalidOptionError,
    KeyStoreError,
    MissingOptionError,
    OptionError,
    SecretReferenceError,
)
from kafka_sql.formats.avro_confluent.options import AVRO_CONFLUENT_OPTIONS
from kafka_sql.formats.columnar.arrow_buffers import bytes_and_offsets
from kafka_sql.formats.confluent.client import SchemaRegistry
from kafka_sql.formats.confluent.options import RegistrySettings, registry_settings
from kafka_sql.formats.confluent.tls import ssl_context
from kafka_sql.formats.confluent.wire_format import encode_header, missing_header_errors, schema_ids, split_by_header
from kafka_sql.formats.payload import Payload, parse_payload
from kafka_sql.options import Options

URL = "http://localhost:8081"


def value_payload(**options: str) -> Payload:
    """Return a table's value payload with options; ``__`` in a name means a dot."""
    named = {f"value.avro-confluent.{key.replace('__', '.').replace('_', '-')}": text for key, text in options.items()}
    return parse_payload("value.format", "value.", {"value.format": "avro-confluent", **named})


def settings(options: Options) -> RegistrySettings:
    return registry_settings(AVRO_CONFLUENT_OPTIONS, options)


def parse_settings(**options: str) -> RegistrySettings:
    return settings(value_payload(url=URL, **options).options)


def test_settings() -> None:
    assert parse_settings() == RegistrySettings("avro-confluent", "AVRO", (URL,))
    assert parse_settings(basic_auth__user_info="me:s3").user == "me:s3"
    assert parse_settings(bearer_auth__token="abc").token == "abc"
    assert settings(value_payload(url=f"{URL}/, https://b:1/x").options).urls == (URL, "https://b:1/x")
    assert settings(value_payload(schema_registry__url=URL).options).urls == (URL,)  # Flink's older key


def test_properties_as_separate_options_and_as_one() -> None:
    for options in (
        {"properties__auto.register.schemas": "false", "properties__request.header.accept-language": "1"},
        {"properties": "auto.register.schemas:false, request.header.accept-language:1"},
    ):
        parsed = parse_settings(**options)
        assert (parsed.register, parsed.headers) == (False, (("accept-language", "1"),))
    payload = value_payload(url=URL, **{"properties__basic.auth.user.info": "me:s3"})
    assert settings(payload.options).user == "me:s3"
    assert "value.avro-confluent.properties.basic.auth.user.info" in payload.option_keys
    both = value_payload(url=URL, **{"properties__basic.auth.user.info": "a:b"}, basic_auth__user_info="c:d")
    assert settings(both.options).user == "c:d"


def test_secrets_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SecretReferenceError):
        parse_settings(bearer_auth__token="${env:REGISTRY_TOKEN}")
    monkeypatch.setenv("REGISTRY_TOKEN", "s3cret")
    for text in ("basic.auth.user.info:me:s3cret", "bearer.auth.token=s3cret", "request.header.x:s3cret"):
        with pytest.raises(InvalidOptionError) as e:
            value_payload(url=URL, properties=text)
        assert "s3cret" not in str(e.value)
    parsed = parse_settings(bearer_auth__token="${env:REGISTRY_TOKEN}")
    assert parsed.token == "s3cret"
    assert "s3cret" not in repr(parsed)


def test_headers_may_be_references(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY_COOKIE", "s3cret")
    parsed = parse_settings(**{"properties__request.header.Cookie": "${env:REGISTRY_COOKIE}"})
    assert parsed.headers == (("Cookie", "s3cret"),)
    assert "s3cret" not in repr(parsed)


def test_urls_and_credentials_sources_are_not_quoted() -> None:
    assert "s3cret" not in repr(settings(value_payload(url="http://u:s3cret@host").options))
    for options in (
        {"url": "httq://u:s3cret@host"},
        {"url": "u:s3cret@host"},
        {"basic_auth__credentials_source": "u:s3cret"},
        {"bearer_auth__credentials_source": "s3cret"},
        {"properties__auto.register.schemas": "http://u:s3cret@host"},
    ):
        with pytest.raises(InvalidOptionError, match=r"Invalid value for option '.*': expected .*'") as e:
            settings(value_payload(**({"url": URL} | options)).options)
        assert "s3cret" not in str(e.value)
        assert e.value.__cause__ is None


def test_malformed_urls_are_not_quoted() -> None:
    with pytest.raises(InvalidOptionError, match=r"'avro-confluent.url': expected 'http://host:port'") as e:
        SchemaRegistry(settings(value_payload(url="http://u:s3cret/x@host").options))
    assert "s3cret" not in str(e.value)
    assert e.value.__cause__ is None


@pytest.mark.parametrize(
    ("options", "error", "fragment"),
    [
        ({"url": "localhost"}, InvalidOptionError, "expected 'http://host:port'"),
        ({"basic_auth__user_info": "me"}, InvalidOptionError, "expected 'user:password'"),
        ({"basic_auth__credentials_source": "SASL"}, InvalidOptionError, "expected one of 'USER_INFO', 'URL'"),
        ({"basic_auth__credentials_source": "USER_INFO"}, MissingOptionError, "user-info' is missing"),
        ({"bearer_auth__credentials_source": "STATIC_TOKEN"}, MissingOptionError, "bearer-auth.token' is missing"),
        ({"bearer_auth__credentials_source": "OAUTHBEARER"}, InvalidOptionError, "expected 'STATIC_TOKEN'"),
        (
            {"basic_auth__user_info": "a:b", "bearer_auth__token": "c"},
            ConflictingOptionsError,
            "shouldn't be set together",
        ),
        ({"properties__auto.registr.schemas": "x"}, InvalidOptionError, "Did you mean 'auto.register.schemas'?"),
        ({"properties": "nothing"}, InvalidOptionError, "expected 'key:value,key:value'"),
        ({"properties__auto.register.schemas": "maybe"}, InvalidOptionError, "Invalid value 'maybe' for option 'avro"),
    ],
)
def test_invalid_options(options: dict[str, str], error: type[OptionError], fragment: str) -> None:
    with pytest.raises(error) as e:
        settings(value_payload(**({"url": URL} | options)).options)
    assert fragment in str(e.value)


def test_unreadable_key_stores(tmp_path: Path) -> None:
    jks, junk = tmp_path / "a.jks", tmp_path / "junk"
    jks.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    junk.write_bytes(b"junk")
    for location, fragment in (
        (jks, "the JKS file is damaged or truncated"),
        (junk, "it is not a store: expected JKS, PKCS12 or PEM"),
        (tmp_path / "none", "cannot be read"),
    ):
        with pytest.raises(KeyStoreError) as e:
            ssl_context(RegistrySettings("avro-confluent", "AVRO", (URL,), truststore=str(location)))
        assert fragment in str(e.value)
        assert "'avro-confluent.ssl.truststore.location'" in str(e.value)
    assert ssl_context(RegistrySettings("avro-confluent", "AVRO", (URL,))).verify_mode == ssl.CERT_REQUIRED


def test_headers() -> None:
    payloads = pa.array([b"x", encode_header(1) + b"a", None, encode_header(2**32 - 1), encode_header(258) + b"b"])
    data, offsets = bytes_and_offsets(payloads)
    assert schema_ids(data, offsets, np.array([1, 3, 4])).tolist() == [1, 2**32 - 1, 258]
    assert schema_ids(data, offsets, np.array([], np.int64)).tolist() == []
    rows = np.array([1, 0, 3, 4])
    assert [part.tolist() for part in split_by_header(data, offsets, rows, skip_malformed=False)] == [[1], [0]]
    assert [part.tolist() for part in split_by_header(data, offsets, rows, skip_malformed=True)] == [[1, 3, 4], [0]]
    (error,) = missing_header_errors(data, offsets, np.array([0]))
    assert (error.row, error.field) == (0, None)
    assert error.reason.startswith("Unknown data format. Magic number does not match: expected a zero byte ")
    assert error.reason.endswith("; the payload is: 78")
