"""Test reading of key stores and trust stores that Java's keytool created, and of PEM in various layouts."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import PrivateFormat
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import ConflictingOptionsError, KeyStoreError, MissingOptionError
from kafka_sql.kafka.config.properties import resolve_config, to_librdkafka
from kafka_sql.stores.errors import UnreadableStore
from kafka_sql.stores.store import read_identity, trusted_certificates
from tests.certificates import (
    STORE_PASSWORD,
    CertificateAndKey,
    create_authority,
    create_jks_store,
    create_trust_store,
    sign_certificate,
)

pytestmark = pytest.mark.large  # Java's keytool

SERVERS = {"bootstrap.servers": "localhost:9092"}


class Files:
    """Stores of a certificate authority and a client."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = create_authority("root")
        self.intermediate = create_authority("intermediate", self.authority)
        self.client: CertificateAndKey = sign_certificate(self.intermediate, "client")
        self.trust = {
            store_type: create_trust_store(folder / f"trust.{store_type}", self.authority, store_type)
            for store_type in ("JKS", "PKCS12")
        }
        self.keys = create_jks_store(folder / "client.jks", self.client)
        self.other_password = create_jks_store(folder / "client2.jks", self.client, "key-password")
        self.p12 = self.keys.with_suffix(".p12")
        self.pem = self.write("client.pem", self.client.key() + self.client.chain)

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("stores"))


def client_config(**properties: str | Path) -> dict[str, str]:
    """Return librdkafka's configuration for properties of the Java client, written with ``_`` instead of ``.``."""
    return resolve_config(
        to_librdkafka({**SERVERS, **{key.replace("_", "."): str(v) for key, v in properties.items()}})
    )


def error_of(**properties: str | Path) -> str:
    with pytest.raises(KeyStoreError) as e:
        client_config(**properties)
    assert "BEGIN" not in str(e.value).replace("-----BEGIN PRIVATE KEY-----", "").replace("-----BEGIN line", "")
    return str(e.value)


@pytest.mark.parametrize("store_type", ["JKS", "PKCS12"])
def test_trust_stores_by_content(files: Files, store_type: str) -> None:
    wrong_type = {"JKS": "PKCS12", "PKCS12": "JKS"}[store_type]
    config = client_config(
        ssl_truststore_location=files.trust[store_type],
        ssl_truststore_password=STORE_PASSWORD,
        ssl_truststore_type=wrong_type,
    )
    assert config["ssl.ca.pem"] == files.authority.pem
    assert not [key for key in config if "truststore" in key]


def test_pem_trust_store(files: Files) -> None:
    path = files.write("trust.pem", files.authority.pem + "text between blocks\n" + files.intermediate.pem)
    assert client_config(ssl_truststore_location=path)["ssl.ca.pem"] == files.authority.pem + files.intermediate.pem


def test_a_jks_trust_store_needs_no_password_as_in_java(files: Files) -> None:
    assert client_config(ssl_truststore_location=files.trust["JKS"])["ssl.ca.pem"] == files.authority.pem


@pytest.mark.parametrize("name", ["keys", "p12", "pem"])
def test_key_stores(files: Files, name: str) -> None:
    config = client_config(
        ssl_keystore_location=getattr(files, name), ssl_keystore_password=STORE_PASSWORD, ssl_keystore_type="JKS"
    )
    assert config["ssl.key.pem"] == files.client.key()
    assert config["ssl.certificate.pem"] == files.client.chain
    assert not [key for key in config if "keystore" in key or "password" in key]


def test_a_key_with_a_separate_password(files: Files) -> None:
    properties = {"ssl_keystore_location": files.other_password, "ssl_keystore_password": STORE_PASSWORD}
    assert client_config(**properties, ssl_key_password="key-password")["ssl.key.pem"] == files.client.key()
    assert error_of(**properties).endswith(
        "the private key cannot be decrypted with this password. Check option 'properties.ssl.key.password'."
    )


LAYOUTS = {
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "one line": lambda text: text.replace("\n", " "),
    "escaped newlines": lambda text: text.replace("\n", "\\n"),
    "indented": lambda text: text.replace("\n", "\n    "),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("password", [None, "key-password"])
def test_inline_pem(files: Files, layout: str, password: str | None) -> None:
    reformat = LAYOUTS[layout]
    password_property = {} if password is None else {"ssl_key_password": password}
    config = client_config(
        ssl_truststore_certificates=reformat(files.authority.pem),
        ssl_keystore_certificate_chain=reformat(files.client.chain),
        ssl_keystore_key=reformat(files.client.key(password)),
        **password_property,
    )
    assert config["ssl.ca.pem"] == files.authority.pem
    assert config["ssl.certificate.pem"] == files.client.chain
    assert config["ssl.key.pem"] == files.client.key()


@pytest.mark.parametrize("password", [None, "key-password"])
def test_traditional_private_key(files: Files, password: str | None) -> None:
    traditional = files.client.key(password, PrivateFormat.TraditionalOpenSSL)
    text = (traditional + files.client.chain).replace("\n", "\r\n").encode()
    assert read_identity(text, None, password).key == files.client.key()


def test_a_file_that_is_not_a_store(files: Files) -> None:
    path = files.write("text.jks", "this is text")
    for name in ("ssl.truststore.location", "ssl.keystore.location"):
        message = error_of(**{name.replace(".", "_"): path})
        assert f"Option 'properties.{name}': file '{path}': it is not a store: expected JKS, PKCS12 or PEM." in message


@pytest.mark.parametrize("store_type", ["JKS", "PKCS12"])
def test_a_wrong_store_password(files: Files, store_type: str) -> None:
    message = error_of(ssl_truststore_location=files.trust[store_type], ssl_truststore_password="planted-4711")
    assert "the store's password is wrong, or the file is damaged" in message
    assert "Check option 'properties.ssl.truststore.password'" in message
    assert "planted-4711" not in message


def test_a_wrong_key_store_password(files: Files) -> None:
    message = error_of(ssl_keystore_location=files.p12, ssl_keystore_password="x")
    assert "Check option 'properties.ssl.keystore.password'" in message


def test_unreadable_files(files: Files) -> None:
    assert "file '/nowhere' cannot be read on this machine: No such file" in error_of(
        ssl_truststore_location="/nowhere"
    )
    assert "Is a directory" in error_of(ssl_keystore_location=files.folder)


def test_trust_stores_and_key_stores_are_distinguished(files: Files) -> None:
    message = error_of(ssl_keystore_location=files.trust["PKCS12"], ssl_keystore_password=STORE_PASSWORD)
    assert "it has no private key, only certificates; it may be a trust store" in message
    assert "expected one private key" in error_of(
        ssl_keystore_location=files.trust["JKS"], ssl_keystore_password=STORE_PASSWORD
    )
    assert "no trusted certificate" in error_of(
        ssl_truststore_location=files.keys, ssl_truststore_password=STORE_PASSWORD
    )


def test_inline_pem_is_checked_with_the_statement(files: Files) -> None:
    def statement_error(**properties: str) -> str:
        with pytest.raises(KeyStoreError) as e:
            to_librdkafka({**SERVERS, **{key.replace("_", "."): v for key, v in properties.items()}})
        return str(e.value)

    assert "'properties.ssl.truststore.certificates': it has no certificate" in statement_error(
        ssl_truststore_certificates="x"
    )
    truncated = files.authority.pem[:200]
    assert "it is truncated" in statement_error(ssl_truststore_certificates=truncated)
    damaged = files.authority.pem.replace("MII", "MIJ", 1)
    assert "certificate 1 of 1 is damaged" in statement_error(ssl_truststore_certificates=damaged)
    key = {"ssl_keystore_certificate_chain": files.client.chain, "ssl_keystore_key": files.client.key("a")}
    assert "'properties.ssl.key.password'" in statement_error(**key)
    assert "cannot be decrypted with this password" in statement_error(**key, ssl_key_password="b")
    mismatched = {**key, "ssl_keystore_key": files.intermediate.key()}
    assert "first certificate does not belong to its private key" in statement_error(**mismatched)


def test_conflicting_and_missing_options(files: Files) -> None:
    with pytest.raises(ConflictingOptionsError, match=r"'properties.ssl.truststore.location' and 'properties.ssl.trus"):
        client_config(ssl_truststore_location="/x", ssl_truststore_certificates=files.authority.pem)
    with pytest.raises(
        MissingOptionError, match=r"'properties.ssl.keystore.key' requires 'properties.ssl.keystore.certi"
    ):
        client_config(ssl_keystore_key=files.client.key())


def test_stores_are_read_again_for_each_client(files: Files) -> None:
    path = files.write("later.pem", "")
    config = to_librdkafka({**SERVERS, "ssl.truststore.location": str(path)})
    for party in (files.authority, files.intermediate):
        path.write_text(party.pem)
        assert resolve_config(config)["ssl.ca.pem"] == party.pem


def test_a_secret_reference_as_password(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORE_PASSWORD", STORE_PASSWORD)
    config = client_config(ssl_keystore_location=files.p12, ssl_keystore_password="${env:STORE_PASSWORD}")
    assert config["ssl.key.pem"] == files.client.key()


@given(data=st.data())
def test_damaged_stores_raise_unreadable_store(data: st.DataObject, files: Files) -> None:
    intact = data.draw(st.sampled_from([files.keys, files.p12, files.pem])).read_bytes()
    end = data.draw(st.integers(0, len(intact) - 1))
    damaged = bytearray(intact[:end] if data.draw(st.booleans()) else intact)
    if damaged:
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    for read in (
        lambda: trusted_certificates(bytes(damaged), STORE_PASSWORD),
        lambda: read_identity(bytes(damaged), None, STORE_PASSWORD),
    ):
        with contextlib.suppress(UnreadableStore):
            read()
