"""Test SASL, tokens and TLS of the direct client: exchanges of messages, and errors that name the option to fix."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding

from kafka_sql.errors import BrokerError, InvalidOptionError
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.direct.eligibility import find_read_obstacle
from kafka_sql.kafka.protocol.oauth import TokenEndpointUnavailableError, check_oauth, fetch_token, unsecured_token
from kafka_sql.kafka.protocol.sasl import get_credentials, sasl_exchange
from kafka_sql.kafka.protocol.tls import tls_context
from tests.certificates import CertificateAndKey, create_authority, sign_certificate
from tests.http_server import serve

PREFIX = "sasl.oauthbearer."


@contextmanager
def endpoint(status: int, body: bytes) -> Iterator[dict[str, str]]:
    """Serve a token endpoint with one response; yield the options for it."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with serve(Handler) as address:
        yield {
            f"{PREFIX}method": "oidc",
            f"{PREFIX}token.endpoint.url": f"{address}/token",
            f"{PREFIX}client.id": "me",
            f"{PREFIX}client.secret": "planted-4711",
        }


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, b"{}", "HTTP status 400"),
        (401, b'{"error": "planted-4711"}', "HTTP status 401"),
        (403, b"", "HTTP status 403"),
        (200, b"<html>planted-4711", "JSONDecodeError"),
        (200, b'{"token": "planted-4711"}', "KeyError"),
        (200, b"[]", "TypeError"),
        (200, b"[" * 100_000, "RecursionError"),
    ],
)
def test_endpoint_that_rejects_the_client(status: int, body: bytes, expected: str) -> None:
    with endpoint(status, body) as config, pytest.raises(BrokerError) as caught:
        fetch_token(config)
    assert str(caught.value).endswith(f"returned no token: {expected}.")
    assert "planted" not in str(caught.value)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_endpoint_that_is_unavailable(status: int) -> None:
    with (
        endpoint(status, b"planted-4711") as config,
        pytest.raises(TokenEndpointUnavailableError, match=rf"returned no token: HTTP status {status}$"),
    ):
        fetch_token(config)


def test_unreachable_endpoint() -> None:
    config = {f"{PREFIX}method": "oidc", f"{PREFIX}token.endpoint.url": "http://127.0.0.1:1"}
    with pytest.raises(TokenEndpointUnavailableError, match=rf"'properties.{PREFIX}token.endpoint.url' .* refused"):
        fetch_token(config)


@pytest.mark.parametrize("url", ["file:///etc/passwd", ""])
def test_invalid_endpoint(url: str) -> None:
    with pytest.raises(BrokerError, match=rf"'properties.{PREFIX}token.endpoint.url' is not an http\(s\) URL"):
        fetch_token({f"{PREFIX}token.endpoint.url": url, f"{PREFIX}client.secret": "planted-4711"})


def test_an_unsecured_oauth_token() -> None:
    encoded = unsecured_token({"sasl.oauthbearer.config": "principal=me scope=a,b lifeSeconds=60"})
    header, payload, signature = encoded.split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    assert (header, signature) == (base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("="), "")
    assert (claims["sub"], claims["scope"], claims["exp"] - claims["iat"]) == ("me", ["a", "b"], 60)


def test_malformed_unsecured_token_config() -> None:
    with pytest.raises(BrokerError, match=r"'properties\.sasl\.oauthbearer\.config' is malformed"):
        unsecured_token({f"{PREFIX}config": 'principal="me'})


@pytest.mark.parametrize(
    ("more", "option"),
    [
        ({"grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer"}, "grant.type"),
        ({"assertion.algorithm": "RS256"}, "assertion.algorithm"),
        ({"method": "default"}, "method"),
    ],
)
def test_unsupported_ways_to_get_a_token(more: dict[str, str], option: str) -> None:
    settings = {f"{PREFIX}method": "oidc", **{PREFIX + key: value for key, value in more.items()}}
    with pytest.raises(InvalidOptionError, match=rf"'?properties\.{PREFIX}{option}'"):
        check_oauth(settings)


def test_the_option_that_librdkafka_is_needed_for_is_named() -> None:
    grant_type = {f"{PREFIX}grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer"}
    login = {"security.protocol": "sasl_ssl", "sasl.mechanism": "OAUTHBEARER", f"{PREFIX}method": "oidc"}
    expected = "the direct client does not support the value of 'properties.sasl.oauthbearer.grant.type'"
    assert find_read_obstacle({**to_librdkafka({"bootstrap.servers": "b:9092"}), **login, **grant_type}) == expected


def scram_server(algorithm: str, password: str, client_first: str, iterations: int) -> tuple[str, str, str]:
    """Return a server's first message, the last one expected of the client, and the server's last one (RFC 5802)."""
    bare = client_first.removeprefix("n,,")
    nonce, salt = bare.partition("r=")[2] + "server", b"some salt"
    first = f"r={nonce},s={base64.b64encode(salt).decode()},i={iterations}"
    without_proof = f"c=biws,r={nonce}"
    messages = f"{bare},{first},{without_proof}".encode()
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), salt, iterations)

    def mac(key: bytes, text: bytes) -> bytes:
        return hmac.new(key, text, algorithm).digest()

    client_key = mac(salted, b"Client Key")
    signature = mac(hashlib.new(algorithm, client_key).digest(), messages)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    verifier = mac(mac(salted, b"Server Key"), messages)
    return first, f"{without_proof},p={base64.b64encode(proof).decode()}", f"v={base64.b64encode(verifier).decode()}"


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
@pytest.mark.parametrize("iterations", [4096, 8192])
def test_scram(algorithm: str, iterations: int) -> None:
    mechanism = f"SCRAM-SHA-{algorithm[3:]}"
    config = {"sasl.mechanism": mechanism, "sasl.username": "a=b,c", "sasl.password": "s3cret"}
    exchange = sasl_exchange(config, "host")
    client_first = next(exchange).decode()
    assert client_first.startswith("n,,n=a=3Db=2Cc,r=")
    first, expected, last = scram_server(algorithm, "s3cret", client_first, iterations)
    assert exchange.send(first.encode()).decode() == expected
    with pytest.raises(StopIteration):
        exchange.send(last.encode())


def test_scram_matches_the_example_in_its_rfc(monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 7677, section 3."""
    nonce = "rOprNGfwEbeRWgbNEkqO"
    monkeypatch.setattr("os.urandom", lambda _: base64.b64decode(nonce))
    exchange = sasl_exchange(
        {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "user", "sasl.password": "pencil"}, "h"
    )
    assert next(exchange) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    server_first = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    assert exchange.send(server_first) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    with pytest.raises(StopIteration):
        exchange.send(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


def test_scram_with_a_server_that_does_not_know_the_password() -> None:
    config = {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "u", "sasl.password": "s3cret"}
    exchange = sasl_exchange(config, "host")
    first, _, last = scram_server("sha256", "a guess", next(exchange).decode(), 4096)
    exchange.send(first.encode())
    with pytest.raises(BrokerError, match="could not prove that it knows the password"):
        exchange.send(last.encode())


def test_plain() -> None:
    exchange = sasl_exchange({"sasl.mechanism": "plain", "sasl.username": "u", "sasl.password": "p"}, "host")
    assert next(exchange) == b"\0u\0p"


@pytest.mark.parametrize("config", [{"sasl.mechanism": "LOGIN"}, {"sasl.mechanism": "", "sasl.mechanisms": "login"}])
def test_unsupported_mechanism(config: dict[str, str]) -> None:
    with pytest.raises(InvalidOptionError, match=r"SASL mechanism 'LOGIN'.*'PLAIN', 'SCRAM-SHA-256', .*"):
        sasl_exchange(config, "host")


def test_rejected_token_is_acknowledged_as_in_rfc_7628() -> None:
    unsecured = {"enable.sasl.oauthbearer.unsecure.jwt": "true", f"{PREFIX}config": "principal=me"}
    config = get_credentials({"sasl.mechanisms": "OAUTHBEARER", **unsecured}, 10)
    exchange = sasl_exchange(config, "host")
    assert next(exchange).startswith(b"n,,\x01auth=Bearer ")
    assert exchange.send(b'{"status":"invalid_token"}') == b"\x01"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"ssl.ca.location": "/nowhere.pem"}, "No such file or directory"),
        ({"ssl.ca.pem": "planted-4711"}, "certificate"),
        ({"ssl.certificate.location": "/nowhere.pem"}, "No such file or directory"),
    ],
)
def test_unusable_certificates(config: dict[str, str], expected: str) -> None:
    with pytest.raises(BrokerError) as caught:
        tls_context(config)
    assert str(caught.value).startswith("[BROKER] The certificates or keys of the options 'properties.ssl.*' cannot")
    assert expected in str(caught.value)
    assert "planted" not in str(caught.value)


def test_cipher_suites() -> None:
    names = {
        cipher["name"] for cipher in tls_context({"ssl.cipher.suites": "ECDHE-ECDSA-AES128-GCM-SHA256"}).get_ciphers()
    }
    assert "ECDHE-ECDSA-AES128-GCM-SHA256" in names
    assert "ECDHE-RSA-AES256-GCM-SHA384" not in names
    with pytest.raises(InvalidOptionError, match=r"'properties\.ssl\.cipher\.suites' contains no cipher suite"):
        tls_context({"ssl.cipher.suites": "none-such"})


def test_revoked_certificate(tmp_path: Path) -> None:
    root = create_authority("root")
    server = sign_certificate(root, "server")
    (tmp_path / "ca.pem").write_text(root.pem)
    (tmp_path / "server.pem").write_text(server.chain + server.key())
    for is_revoked in (False, True):
        (tmp_path / "crl.pem").write_bytes(revocation_list(root, *([server] if is_revoked else [])))
        config = {"ssl.ca.location": str(tmp_path / "ca.pem"), "ssl.crl.location": str(tmp_path / "crl.pem")}
        with tls_server(tmp_path / "server.pem") as address, socket.create_connection(address) as plain:
            context = tls_context(config)
            if is_revoked:
                with pytest.raises(ssl.SSLCertVerificationError, match="revoked"):
                    context.wrap_socket(plain, server_hostname="localhost")
            else:
                context.wrap_socket(plain, server_hostname="localhost").close()


def revocation_list(issuer: CertificateAndKey, *revoked: CertificateAndKey) -> bytes:
    now = datetime.now(timezone.utc)
    builder = x509.CertificateRevocationListBuilder().issuer_name(issuer.certificate.subject)
    builder = builder.last_update(now - timedelta(days=1)).next_update(now + timedelta(days=1))
    for party in revoked:
        entry = x509.RevokedCertificateBuilder().serial_number(party.certificate.serial_number)
        builder = builder.add_revoked_certificate(entry.revocation_date(now - timedelta(hours=1)).build())
    return builder.sign(issuer.private_key, hashes.SHA256()).public_bytes(Encoding.PEM)


@contextmanager
def tls_server(certificate: Path) -> Iterator[tuple[str, int]]:
    """Serve one TLS connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def run(listening: socket.socket) -> None:
        with suppress(OSError), context.wrap_socket(listening.accept()[0], server_side=True) as connection:
            connection.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=run, args=(listening,))
        thread.start()
        yield listening.getsockname()[:2]
        thread.join(30)
