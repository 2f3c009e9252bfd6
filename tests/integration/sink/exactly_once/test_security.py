"""The protocol client supports the same security options as librdkafka."""

from __future__ import annotations

import base64
import json
import subprocess
import time
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.embedded.loopback import free_ports
from kafka_sql.errors import BrokerError, InvalidOptionError, UnsupportedOptionError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin, check_security
from kafka_sql.kafka.split import Split
from tests.http_server import serve
from tests.kills.simulated_query import ROWS, SimulatedQuery, sink_table
from tests.topics import Topics

pytestmark = pytest.mark.integration
PASSWORD = "pass,word=ü"
_HEADER = {"alg": "none"}
_MODULE = "org.apache.kafka.common.security"


class SecuredListeners:
    """A broker with a listener per security protocol."""

    def __init__(self, kafka: EmbeddedKafka, folder: Path, ports: list[int], endpoint: str) -> None:
        self.kafka, self.folder, self.ports, self.endpoint = kafka, folder, ports, endpoint

    def options(self, listener: str, mechanism: str = "") -> dict[str, str]:
        """Return client properties."""
        protocols = {"SASL": "SASL_PLAINTEXT", "TLS": "SSL", "BOTH": "SASL_SSL"}
        properties = {
            "bootstrap.servers": f"127.0.0.1:{self.ports[list(protocols).index(listener)]}",
            "security.protocol": protocols[listener],
        }
        if listener != "SASL":
            properties["ssl.ca.location"] = str(self.folder / "ca.pem")
        if listener == "TLS":
            properties |= {
                "ssl.certificate.pem": (self.folder / "ca.pem").read_text(),
                "ssl.key.pem": (self.folder / "key.pem").read_text(),
            }
        if mechanism == "OAUTHBEARER":
            claims = "principal=user lifeSeconds=600"
            unsecured = {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": claims}
            return {**properties, "sasl.mechanism": mechanism, **unsecured}
        if mechanism == "OIDC":
            client = {"token.endpoint.url": self.endpoint, "client.id": "me", "client.secret": PASSWORD}
            oidc = {f"sasl.oauthbearer.{key}": value for key, value in {"method": "oidc", **client}.items()}
            return {**properties, "sasl.mechanism": "OAUTHBEARER", **oidc}
        if mechanism:
            properties |= {"sasl.mechanism": mechanism, "sasl.username": "user", "sasl.password": PASSWORD}
        return properties


class Tokens(BaseHTTPRequestHandler):
    """A token endpoint that returns an unsigned token to clients with the right password."""

    def do_POST(self) -> None:
        credentials = base64.b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
        known = credentials == f"me:{PASSWORD}"
        claims = {"sub": "user", "iat": int(time.time()), "exp": int(time.time()) + 600}
        parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (_HEADER, claims)]
        body = json.dumps({"access_token": f"{'.'.join(parts)}.", "token_type": "Bearer", "expires_in": 600}).encode()
        self.send_response(200 if known else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) if known else 0))
        self.end_headers()
        self.wfile.write(body if known else b"")

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serve(Tokens) as address:
        yield f"{address}/token"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory, endpoint: str) -> Iterator[SecuredListeners]:
    folder, ports = tmp_path_factory.mktemp("secured"), free_ports(3)
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    )
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "ca.pem")]
    subprocess.run([*command.split(), *files], check=True, capture_output=True, timeout=60)
    (folder / "both.pem").write_text((folder / "key.pem").read_text() + (folder / "ca.pem").read_text())
    plain = f'{_MODULE}.plain.PlainLoginModule required user_user="{PASSWORD}";'
    oauth = f'{_MODULE}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
    scram = f"{_MODULE}.scram.ScramLoginModule required;"
    properties: dict[str, str | int | bool] = {
        "listeners": ",".join(f"{n}://127.0.0.1:{p}" for n, p in zip(("SASL", "TLS", "BOTH"), ports, strict=True)),
        "advertised.listeners": ",".join(
            f"{n}://127.0.0.1:{p}" for n, p in zip(("SASL", "TLS", "BOTH"), ports, strict=True)
        ),
        "listener.security.protocol.map": "SASL:SASL_PLAINTEXT,TLS:SSL,BOTH:SASL_SSL",
        "listener.name.tls.ssl.client.auth": "required",
    }
    for listener in ("sasl", "both"):
        start = f"listener.name.{listener}"
        properties |= {
            f"{start}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
            f"{start}.plain.sasl.jaas.config": plain,
            f"{start}.oauthbearer.sasl.jaas.config": oauth,
            f"{start}.scram-sha-256.sasl.jaas.config": scram,
            f"{start}.scram-sha-512.sasl.jaas.config": scram,
        }
    for listener in ("tls", "both"):
        start = f"listener.name.{listener}.ssl"
        properties |= {
            f"{start}.keystore.type": "PEM",
            f"{start}.keystore.location": str(folder / "both.pem"),
            f"{start}.truststore.type": "PEM",
            f"{start}.truststore.location": str(folder / "ca.pem"),
        }
    with EmbeddedKafka(properties=properties) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            user = UserScramCredentialUpsertion("user", ScramCredentialInfo(mechanism, 4096), PASSWORD.encode())
            admin.alter_user_scram_credentials([user])["user"].result(30)
        yield SecuredListeners(kafka, folder, ports, endpoint)


CASES = [
    ("SASL", "PLAIN"),
    ("SASL", "SCRAM-SHA-256"),
    ("SASL", "SCRAM-SHA-512"),
    ("TLS", ""),
    ("BOTH", "SCRAM-SHA-512"),
    ("SASL", "OAUTHBEARER"),
    ("SASL", "OIDC"),
]


@pytest.mark.sample(2)
@pytest.mark.parametrize(("listener", "mechanism"), CASES)
def test_exactly_once_with_security_options(
    secured: SecuredListeners, tmp_path: Path, listener: str, mechanism: str
) -> None:
    topics = Topics(secured.kafka.bootstrap_servers)
    topic, prefix = topics.create(), uuid.uuid4().hex
    options = {f"properties.{k}": v for k, v in secured.options(listener, mechanism).items()}
    sink = sink_table(options.pop("properties.bootstrap.servers"), topic, prefix, **options)
    query = SimulatedQuery(sink, tmp_path, prefix, prefix)
    query.run_batch(tasks=2)
    query.close()
    assert len(topics.consume(topic, ROWS, **{"isolation.level": "read_committed"})) == ROWS


def test_a_bearer_token_for_reading(secured: SecuredListeners) -> None:
    topics = Topics(secured.kafka.bootstrap_servers)
    topic = topics.create()
    topics.produce(topic, b"a", b"b")
    config = to_librdkafka(secured.options("SASL", "OAUTHBEARER"))
    values = [v for records in read_records(config, Split(topic, 0, 0, 2)) for v in records.values.to_pylist()]
    assert values == [b"a", b"b"]


def test_a_token_endpoint_that_returns_no_token(secured: SecuredListeners) -> None:
    options = {**secured.options("SASL", "OIDC"), "sasl.oauthbearer.client.secret": "planted-4711"}
    transactions = TransactionAdmin(to_librdkafka(options))
    with pytest.raises(BrokerError, match=r"token.endpoint.url' returned no token: HTTP status 401") as e:
        transactions.list_ongoing("x")
    assert "planted-4711" not in str(e.value)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password_is_reported_but_not_shown(secured: SecuredListeners, mechanism: str) -> None:
    options = {**secured.options("SASL", mechanism), "sasl.password": "planted-4711"}
    transactions = TransactionAdmin(to_librdkafka(options))
    with pytest.raises(BrokerError, match=r"SASL authentication failed.*Check 'properties.sasl") as e:
        transactions.list_ongoing("x")
    assert "planted-4711" not in str(e.value)


def test_disabled_certificate_verification(secured: SecuredListeners) -> None:
    options = {**secured.options("BOTH", "PLAIN"), "enable.ssl.certificate.verification": "false"}
    del options["ssl.ca.location"]
    config = to_librdkafka(options)
    assert Cluster(config).topics()
    transactions = TransactionAdmin(config)
    assert transactions.list_ongoing("nothing") == []
    transactions.close()


def test_an_untrusted_certificate_is_rejected(secured: SecuredListeners) -> None:
    options = secured.options("BOTH", "PLAIN")
    del options["ssl.ca.location"]
    with pytest.raises(BrokerError, match="the broker's certificate is not trusted: self-signed certificate"):
        TransactionAdmin(to_librdkafka(options)).list_ongoing("x")


def test_unsupported_settings_are_rejected() -> None:
    def error_of(**settings: str) -> str:
        with pytest.raises(InvalidOptionError) as e:
            check_security({"security.protocol": "sasl_ssl", **{k.replace("_", "."): v for k, v in settings.items()}})
        return str(e.value)

    assert "SASL mechanism 'DIGEST-MD5' (option 'properties.sasl.mechanism') is not supported" in error_of(
        sasl_mechanism="DIGEST-MD5"
    )
    assert "'properties.ssl.curves.list' is not supported" in error_of(ssl_curves_list="X25519")
    assert "OAUTHBEARER needs 'properties.sasl.oauthbearer.method' = 'oidc'" in error_of(sasl_mechanism="OAUTHBEARER")


@pytest.mark.parametrize("settings", [{}, {"sasl.mechanism": "GSSAPI"}])
def test_missing_kerberos_library(settings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_sql.kafka.protocol.gssapi.load_library", lambda: None)
    with pytest.raises(UnsupportedOptionError, match=r"requires MIT Kerberos' library .* apt install libgssapi-krb5-2"):
        check_security({"security.protocol": "sasl_ssl", **settings})
