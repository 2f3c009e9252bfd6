"""Security settings in odd spellings: the same outcome in both clients, and an error for unknown values."""

from __future__ import annotations

import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from queue import Queue
from typing import NamedTuple

import pytest
from confluent_kafka import Producer

from kafka_sql.errors import BrokerError, ConflictingOptionsError, InvalidOptionError, UnsupportedOptionError
from kafka_sql.kafka.config.java_properties import JAVA_PROPERTIES
from kafka_sql.kafka.config.librdkafka_properties import find_rejected, is_unknown
from kafka_sql.kafka.config.normalization import NORMALIZED_VALUES, normalize_settings
from kafka_sql.kafka.config.properties import resolve_config, to_librdkafka
from kafka_sql.kafka.direct.eligibility import find_read_obstacle, find_write_obstacle
from kafka_sql.kafka.librdkafka.client import open_client
from kafka_sql.kafka.protocol.connection_pool import ConnectionPool
from tests.certificates import create_authority, sign_certificate

SERVERS = {"bootstrap.servers": "localhost:9092"}
PROTOCOL = "security.protocol"
ALGORITHM = "ssl.endpoint.identification.algorithm"
VERIFICATION = "enable.ssl.certificate.verification"
MECHANISM = "sasl.mechanism"
TLS_HANDSHAKE = b"\x16"


class Certificates(NamedTuple):
    """The settings of a server whose certificate is for another host, and the trusted authority that signed it."""

    server: ssl.SSLContext
    authority: Path


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("certificates")
    root = create_authority("root")
    certificate = sign_certificate(root, "broker", host="broker.example")
    (folder / "ca.pem").write_text(root.pem)
    (folder / "broker.pem").write_text(certificate.chain + certificate.key())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "broker.pem")
    return Certificates(context, folder / "ca.pem")


@contextmanager
def first_connection(context: ssl.SSLContext) -> Iterator[tuple[int, Queue[str]]]:
    """Run a server; yield its port, and a queue for how the first connection begins.

    That is in "plaintext", with "TLS", or "rejected" by the client.
    """
    outcome: Queue[str] = Queue()

    def serve() -> None:
        connection = listening.accept()[0]
        connection.settimeout(30)
        with connection:
            if connection.recv(1, socket.MSG_PEEK) != TLS_HANDSHAKE:
                outcome.put("plaintext")
                return
            try:
                with context.wrap_socket(connection, server_side=True) as secure:
                    outcome.put("TLS" if secure.recv(1) else "rejected")
            except OSError:
                outcome.put("rejected")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1], outcome
        thread.join(60)


def outcomes(certificates: Certificates, properties: dict[str, str]) -> tuple[str, str]:
    """Return how a connection of the protocol client begins, and one of librdkafka."""
    common = {
        PROTOCOL: "SSL",
        MECHANISM: "PLAIN",
        "sasl.username": "user",
        "sasl.password": "password",
        "ssl.ca.location": str(certificates.authority),
        **properties,
    }
    with first_connection(certificates.server) as (port, outcome):
        config = to_librdkafka({"bootstrap.servers": f"127.0.0.1:{port}", **common})
        with closing(ConnectionPool(config)) as pool, suppress(OSError, BrokerError):
            pool.connect_to(("127.0.0.1", port))
        protocol_client = outcome.get(timeout=60)
    with first_connection(certificates.server) as (port, outcome):
        client, _ = open_client(Producer, to_librdkafka({"bootstrap.servers": f"127.0.0.1:{port}", **common}))
        librdkafka = outcome.get(timeout=60)
        client.flush(0)
    return protocol_client, librdkafka


ACCEPTED = [
    *((PROTOCOL, value, "rejected") for value in ("SSL", "ssl", " SSL", "Ssl ", "\tsasl_ssl", "SASL_SSL\n")),
    *((PROTOCOL, value, "plaintext") for value in ("PLAINTEXT", " plaintext", "Sasl_Plaintext ")),
    *((ALGORITHM, value, "rejected") for value in ("https", "HTTPS", " Https", "https\t")),
    *((ALGORITHM, value, "TLS") for value in ("none", "NONE", " None", "none ")),
    *((VERIFICATION, value, "rejected") for value in ("true", "TRUE", "t", "1", " True", "T ")),
    *((VERIFICATION, value, "TLS") for value in ("false", "FALSE", "f", "0", " False", "F ")),
]


@pytest.mark.parametrize("is_reference", [False, True], ids=["literal", "reference"])
@pytest.mark.parametrize(("key", "value", "expected"), ACCEPTED, ids=repr)
def test_both_clients_agree(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch, key: str, value: str, expected: str, is_reference: bool
) -> None:
    monkeypatch.setenv("SETTING", value)
    assert outcomes(certificates, {key: "${env:SETTING}" if is_reference else value}) == (expected, expected)


@pytest.mark.parametrize(
    ("problem", "algorithm"),
    [
        ("", "https"),
        ("expired", "https"),
        ("not yet valid", "https"),
        ("another authority", "https"),
        ("another authority", ""),  # only the check of the host is disabled
        ("no trusted authority", "https"),
        ("TLS 1.1", "https"),
    ],
)
def test_both_clients_verify_certificates(tmp_path: Path, problem: str, algorithm: str) -> None:
    root = create_authority("root")
    days = {"expired": (-10, -1), "not yet valid": (1, 10)}.get(problem, (-1, 10))
    broker = sign_certificate(
        create_authority("other") if problem == "another authority" else root, "broker", days=days
    )
    (tmp_path / "ca.pem").write_text(root.pem)
    (tmp_path / "broker.pem").write_text(broker.chain + broker.key())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "broker.pem")
    if problem == "TLS 1.1":
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    properties = {ALGORITHM: algorithm}
    if problem == "no trusted authority":
        properties["ssl.ca.location"] = ""
    expected = "TLS" if not problem else "rejected"
    assert outcomes(Certificates(context, tmp_path / "ca.pem"), properties) == (expected, expected)


def test_javas_empty_algorithm_disables_the_check_of_the_host(certificates: Certificates) -> None:
    assert outcomes(certificates, {ALGORITHM: ""}) == ("TLS", "TLS")


UNKNOWN = [
    *((PROTOCOL, value) for value in ("", "tls", "ſsl", "SSL,PLAINTEXT", "SASL-SSL", "${env:OTHER}")),
    *((ALGORITHM, value) for value in (" ", "off", "false", "https,none", "${env:OTHER}")),
    *((VERIFICATION, value) for value in ("", "yes", "no", "on", "off", "2", "${env:OTHER}")),
    *((MECHANISM, value) for value in ("", "LOGIN", "PLAIN,SCRAM-SHA-256", "SCRAM-SHA-1")),
    ("isolation.level", "committed"),
    ("sasl.oauthbearer.method", "aws"),
    ("sasl.oauthbearer.grant.type", "password"),
    ("enable.sasl.oauthbearer.unsecure.jwt", "yes"),
]


@pytest.mark.parametrize(("key", "value"), UNKNOWN, ids=repr)
def test_unknown_values_are_rejected(monkeypatch: pytest.MonkeyPatch, key: str, value: str) -> None:
    message = rf"^\[INVALID_OPTION\] Invalid value for option 'properties\.{key}': expected one of '[\w', :-]+'\.$"
    if "$" not in value:
        shown = message.removesuffix("$").replace("value", f"value '{re.escape(value or ' ')}'")
        with pytest.raises(InvalidOptionError, match=shown):
            to_librdkafka({**SERVERS, key: value or " "})
    with pytest.raises(InvalidOptionError, match=message):
        normalize_settings({key: value})
    if key != "isolation.level":  # which cannot be a reference
        monkeypatch.setenv("SETTING", value)
        config = to_librdkafka({**SERVERS, key: "${env:SETTING}"})
        with pytest.raises(InvalidOptionError, match=message):
            resolve_config(config)


def test_an_empty_reference_does_not_disable_the_check_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SETTING", "")
    with pytest.raises(InvalidOptionError, match=ALGORITHM):
        resolve_config(to_librdkafka({**SERVERS, ALGORITHM: "${env:SETTING}"}))


def test_every_spelling_has_one_value_which_librdkafka_accepts() -> None:
    for key, values in NORMALIZED_VALUES.items():
        for spelling, value in values.items():
            for text in (spelling, spelling.upper(), f" {spelling.title()}\t"):
                assert normalize_settings({key: text}) == {key: value}
            rejected = find_rejected({key: value})
            assert rejected is None or (is_unknown(rejected[1]) and key in JAVA_PROPERTIES)


def test_the_isolation_level_and_checksums_have_one_spelling() -> None:
    config = to_librdkafka({**SERVERS, "isolation.level": " READ_COMMITTED", "check.crcs": "TRUE"})
    assert (config["isolation.level"], config["check.crcs"]) == ("read_committed", "true")


def test_the_mechanism_has_one_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SETTING", "PLAIN")
    same = {"sasl.mechanism": " plain", "sasl.mechanisms": "Plain"}
    assert to_librdkafka({**SERVERS, **same})["sasl.mechanisms"] == "PLAIN"
    with pytest.raises(ConflictingOptionsError, match=r"'properties.sasl.mechanisms' are two names of one setting"):
        to_librdkafka({**SERVERS, **same, "sasl.mechanisms": "OAUTHBEARER"})
    config = to_librdkafka({**SERVERS, "sasl.mechanism": "${env:SETTING}", "sasl.mechanisms": "SCRAM-SHA-256"})
    with pytest.raises(ConflictingOptionsError):
        resolve_config(config)


def test_cipher_suites_are_converted_once_they_are_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    config = to_librdkafka({**SERVERS, "ssl.cipher.suites": "${env:SETTING}"})
    monkeypatch.setenv("SETTING", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, ECDHE-RSA-AES256-GCM-SHA384")
    assert config["ssl.cipher.suites"] == "${env:SETTING}"
    resolved = resolve_config(config)["ssl.cipher.suites"]
    assert resolved == "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384"
    monkeypatch.setenv("SETTING", "TLS_AES_256_GCM_SHA384")
    with pytest.raises(UnsupportedOptionError, match=r"ssl\.cipher\.suites"):
        resolve_config(config)


@pytest.mark.parametrize("value", ["", "${env:SETTING}"])
def test_no_cipher_suites_are_the_default(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("SETTING", "")
    assert outcomes(certificates, {"ssl.cipher.suites": value, ALGORITHM: "none"}) == ("TLS", "TLS")


@pytest.fixture(scope="module")
def tls_1_2_only(certificates: Certificates) -> Certificates:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.authority.with_name("broker.pem"))
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    return Certificates(context, certificates.authority)


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ("", "TLS"),
        ("TLSv1.2", "TLS"),
        ("TLSv1.2,TLSv1.3", "TLS"),
        ("TLSv1.1,TLSv1.2", "TLS"),
        ("TLSv1.3", "rejected"),
        (" tlsV1.3 ", "rejected"),
        ("TLSv1.1,TLSv1.3", "rejected"),
    ],
)
def test_tls_1_2_can_be_disabled(
    certificates: Certificates, tls_1_2_only: Certificates, versions: str, expected: str
) -> None:
    properties = {"ssl.enabled.protocols": versions, ALGORITHM: "none"}
    assert outcomes(tls_1_2_only, properties) == (expected, expected)
    assert outcomes(certificates, properties) == ("TLS", "TLS")
    config = to_librdkafka({**SERVERS, PROTOCOL: "SSL", **properties})
    assert find_read_obstacle(config) is find_write_obstacle(config) is None


def test_suites_of_tls_1_2_do_not_enable_it(tls_1_2_only: Certificates) -> None:
    suites = {"ssl.cipher.suites": "ECDHE-ECDSA-AES256-GCM-SHA384", ALGORITHM: "none"}
    assert outcomes(tls_1_2_only, suites) == ("TLS", "TLS")
    assert outcomes(tls_1_2_only, {**suites, "ssl.enabled.protocols": "TLSv1.3"}) == ("rejected", "rejected")


@pytest.mark.parametrize("versions", ["TLSv1", "TLSv1.1", "SSLv3,TLSv1.2", "TLSv1.4", "1.3", "${env:VERSIONS}"])
def test_unknown_and_old_tls_versions(versions: str) -> None:
    with pytest.raises(InvalidOptionError, match=r"'properties\.ssl\.enabled\.protocols': expected 'TLSv1\.3', 'TLSv1"):
        to_librdkafka({**SERVERS, "ssl.enabled.protocols": versions})


@pytest.mark.parametrize("protocol", ["SSL", "sasl_ssl", "${env:PROTOCOL}"])
@pytest.mark.parametrize("option", ["ssl.providers", "ssl.curves.list"])
def test_the_direct_client_refuses_settings_that_it_would_ignore(protocol: str, option: str) -> None:
    value = "fips" if option == "ssl.providers" else "X25519"
    login = {MECHANISM: "PLAIN", "sasl.username": "user", "sasl.password": "password"}
    properties = {PROTOCOL: protocol, **login, option: value}
    assert f"'properties.{option}'" in str(find_read_obstacle(to_librdkafka({**SERVERS, **properties})))


@pytest.mark.parametrize("value", ["default,/tmp/evil.so", "evil", "default,,base", "", "legacy;x", "../default"])
def test_no_other_library_is_loaded_as_a_provider(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SETTING", value)
    referring = to_librdkafka({**SERVERS, "ssl.providers": "${env:SETTING}"})
    with pytest.raises(InvalidOptionError, match=r"'properties\.ssl\.providers' is not supported.*as code") as literal:
        to_librdkafka({**SERVERS, "ssl.providers": value})
    with pytest.raises(InvalidOptionError, match=r"'properties\.ssl\.providers'.*as code"):
        resolve_config(referring)
    assert "evil" not in str(literal.value)


def test_providers_of_openssl_are_allowed() -> None:
    assert to_librdkafka({**SERVERS, "ssl.providers": " Default, legacy"})["ssl.providers"] == "default,legacy"


@pytest.mark.parametrize("servers", ["u:hunter2@h:1", "h:1,SSL://u:hunter2@i:1"])
def test_bootstrap_servers_have_no_user_info(monkeypatch: pytest.MonkeyPatch, servers: str) -> None:
    monkeypatch.setenv("SETTING", servers)
    referring = to_librdkafka({"bootstrap.servers": "${env:SETTING}"})
    for convert in (lambda: to_librdkafka({"bootstrap.servers": servers}), lambda: resolve_config(referring)):
        with pytest.raises(InvalidOptionError, match=r"'properties\.bootstrap\.servers': expected 'host:port'") as e:
            convert()
        assert "hunter2" not in str(e.value)


def test_misspelled_literals_suggest_the_nearest() -> None:
    with pytest.raises(InvalidOptionError, match=r"Invalid value 'read_comitted' .* Did you mean 'read_committed'\?$"):
        to_librdkafka({**SERVERS, "isolation.level": "read_comitted"})
    with pytest.raises(InvalidOptionError, match=r"^\[INVALID_OPTION\] Invalid value for option"):
        to_librdkafka({**SERVERS, "security.protocol": "http://u:hunter2@h"})


@pytest.mark.parametrize("key", ["bootstrap.servers", "metadata.broker.list"])
@pytest.mark.parametrize(
    "value",
    ["", " , ", "h:", "h:abc", "h:-1", "h:0", "h:65536", "h:1, g:x", "h:1;g:2", ":9092", "a b:1", "::1", "u:p@h:1"],
)
def test_addresses_are_checked(monkeypatch: pytest.MonkeyPatch, key: str, value: str) -> None:
    monkeypatch.setenv("SERVERS", value)
    for text in (value, "${env:SERVERS}"):
        with pytest.raises(InvalidOptionError) as caught:
            resolve_config(to_librdkafka({**SERVERS, key: text}))
        assert str(caught.value).startswith(
            f"[INVALID_OPTION] Invalid value for option 'properties.{key}': expected 'h"
        )
    with pytest.raises(InvalidOptionError, match=r"separated by ',', with ports from 1 to 65535\.$"):
        to_librdkafka({**SERVERS, key: "u:hunter2"})


@pytest.mark.parametrize(
    "value", ["h", "h:1", "my_host-1.example:9092, [::1]:9092,", "SASL_SSL://h:65535", "127.0.0.1:1"]
)
def test_valid_addresses(value: str) -> None:
    assert to_librdkafka({"bootstrap.servers": value})["bootstrap.servers"] == value


@pytest.mark.parametrize("value", ["x", "file:///etc/shadow", "ftp://h", "http://", "u:hunter2@h/token"])
def test_a_token_endpoint_is_a_url(value: str) -> None:
    key = "sasl.oauthbearer.token.endpoint.url"
    with pytest.raises(InvalidOptionError, match=f"'properties.{key}': expected a URL with http:// or https://") as e:
        to_librdkafka({**SERVERS, key: value})
    assert "hunter2" not in str(e.value)
    for valid in ("", "https://h/token", "HTTP://h:1"):
        to_librdkafka({**SERVERS, key: valid})
