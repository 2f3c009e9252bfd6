"""Failed authentication: when it is persistent, and what the error says about passwords, tokens and certificates."""

from __future__ import annotations

import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from confluent_kafka import KafkaError

from kafka_sql.kafka.librdkafka.connection_failures import (
    AuthFailures,
    auth_error,
    describe_certificate,
    explain_client_certificate,
)
from tests.certificates import CertificateAndKey, create_authority, sign_certificate

AUTHENTICATION, TLS, TRANSPORT = KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError._TRANSPORT


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("code", "message", "is_recorded"),
    [
        (AUTHENTICATION, "SASL authentication error", True),
        (TLS, "certificate verify failed", True),
        (TRANSPORT, "ssl: tls alert: certificate required", True),
        (TRANSPORT, "Connection refused", False),
        (AUTHENTICATION, "Disconnected while requesting ApiVersion", False),
    ],
)
def test_failures_are_persistent_after_a_few_seconds(code: int, message: str, is_recorded: bool) -> None:
    clock = Clock()
    failures = AuthFailures(clock)
    assert not failures.is_persistent(0)
    failures.record(code, message)
    assert failures.message == (message if is_recorded else "")
    assert not failures.is_persistent(1.5)
    clock.now += 1.5
    assert not failures.is_persistent(1.5)  # a single failure
    failures.record(code, message)
    assert failures.is_persistent(1.5) == is_recorded
    assert not failures.is_persistent(1.6)
    failures.clear()
    assert not failures.is_persistent(0)
    assert failures.message == ""


def test_a_single_failure_of_a_token_endpoint_is_persistent() -> None:
    """librdkafka asks a token endpoint again only after ten seconds."""
    clock = Clock()
    failures = AuthFailures(clock)
    failures.record(AUTHENTICATION, "Failed to acquire SASL OAUTHBEARER token: refused")
    assert not failures.is_persistent(1.5)
    clock.now += 1.5
    assert failures.is_persistent(1.5)


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("Failed to acquire SASL OAUTHBEARER token: refused", "The token endpoint returned no token"),
        ("SASL GSSAPI: no credentials", "Check 'properties.sasl.kerberos.service.name'"),
        ("SASL PLAIN mechanism handshake failed", "Check 'properties.sasl.mechanism' and"),
        ("SASL authentication error: Authentication failed", "Check 'properties.sasl.jaas.config', or"),
        ("handshake failed", "Check 'properties.security.protocol' and 'properties.ssl.*'"),
    ],
)
def test_advice(message: str, advice: str) -> None:
    text = f"sasl_ssl://broker.example:9093/bootstrap: {message} (after 3ms in state AUTH_REQ)"
    error = str(auth_error(text, {"bootstrap.servers": "b:1"}, 1))
    assert error.startswith(f"[AUTHENTICATION] broker.example:9093: {message}. {advice}")
    assert "after 3ms" not in error


def test_repeated_errors_are_not_counted_in_the_message() -> None:
    text = "ssl://b:1/1: SASL failed: no (after 3ms in state AUTH_REQ, 5 identical error(s) suppressed)"
    assert str(auth_error(text, {}, 1)).startswith("[AUTHENTICATION] b:1: SASL failed: no. Check ")


def test_without_an_address_the_bootstrap_servers_are_named() -> None:
    assert "] b:1,c:2: SASL failed. " in str(auth_error("SASL failed", {"bootstrap.servers": "b:1,c:2"}, 1))


def test_rejected_client_certificates() -> None:
    alert = "ssl://broker:9093/1: SSL: tls alert certificate required"
    text = str(auth_error(alert, {}, 1))
    assert text.startswith("[AUTHENTICATION] broker:9093: the broker rejects the client's certificate: none was sent")
    authority = create_authority("root")
    settings = {"ssl.certificate.pem": sign_certificate(authority, "client").pem}
    assert explain_client_certificate(settings).startswith("the broker does not trust its issuer (subject CN=client")
    expired = {"ssl.certificate.pem": sign_certificate(authority, "client", days=(-9, -1)).pem}
    assert explain_client_certificate(expired).startswith("it has expired (subject CN=client")


def test_unreadable_client_certificates() -> None:
    for settings in ({"ssl.certificate.location": "/nowhere.pem"}, {"ssl.certificate.pem": "junk"}):
        assert explain_client_certificate(settings).startswith("none was sent")


def test_description_of_a_certificate() -> None:
    authority = create_authority("root")
    server = describe_certificate(sign_certificate(authority, "server").certificate)
    assert server.startswith("subject CN=server, hosts localhost, 127.0.0.1, valid from 20")
    assert server.endswith(", signed by CN=root")


@contextmanager
def tls_server(folder: Path, certificate: CertificateAndKey) -> Iterator[tuple[str, int]]:
    """Run a server that accepts connections and completes their TLS handshakes."""
    (folder / "server.pem").write_text(certificate.chain + certificate.key())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")

    def run(listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with suppress(OSError), context.wrap_socket(connection, server_side=True) as secured:
                secured.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=run, args=(listening,), daemon=True).start()
        yield listening.getsockname()[:2]


@pytest.mark.parametrize(
    ("is_trusted", "host", "days", "expected"),
    [
        (True, None, (-9, -1), r"certificate has expired \(subject CN=server.*\)\. Renew it on the broker"),
        (True, "other", (-1, 30), r"mismatch.*hosts other,.*\. Use a host name of the certificate"),
        (False, None, (-1, 30), r"issuer certificate \(subject CN=server.*\)\. Check 'properties\.ssl\.truststore"),
        (True, None, (-1, 30), r"a second attempt succeeded\. Check 'properties\.ssl\.truststore"),
    ],
)
def test_rejected_broker_certificates(
    tmp_path: Path, is_trusted: bool, host: str | None, days: tuple[int, int], expected: str
) -> None:
    authority = create_authority("root")
    with tls_server(tmp_path, sign_certificate(authority, "server", host, days)) as (address, port):
        settings = {"ssl.ca.pem": (authority if is_trusted else create_authority("other")).pem}
        message = f"ssl://{address}:{port}/bootstrap: SSL handshake failed: certificate verify failed"
        error = str(auth_error(message, settings, 5))
    assert error.startswith(f"[AUTHENTICATION] {address}:{port}: the broker's certificate is rejected: ")
    assert re.search(expected, error), error


def test_broker_that_is_gone_when_its_certificate_is_checked() -> None:
    error = str(auth_error("ssl://127.0.0.1:1/1: SSL: certificate verify failed", {}, 1))
    assert "rejected: ConnectionRefusedError. Check 'properties.ssl.truststore.location'" in error
