"""The protocol's client under the same security options as librdkafka, on a broker that asks for them."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.embedded.protocol_probe import free_ports
from kafka_sql.errors import BrokerError, InvalidOptionError, UnsupportedOptionError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin, check_security
from kafka_sql.kafka.types import Split
from tests.http_server import serving
from tests.kills.simulated_query import ROWS, SimulatedQuery, sink_table
from tests.topics import Topics

pytestmark = pytest.mark.integration
PASSWORD = "pass,word=ü"
_HEADER = {"alg": "none"}
_MODULE = "org.apache.kafka.common.security"


class Secured:
    """A broker with listeners of every kind."""

    def __init__(self, kafka: EmbeddedKafka, folder: Path, ports: list[int], endpoint: str) -> None:
        self.kafka, self.folder, self.ports, self.endpoint = kafka, folder, ports, endpoint

    def options(self, listener: str, mechanism: str = "") -> dict[str, str]:
        """A client's properties."""
        kinds = {"SASL": "SASL_PLAINTEXT", "TLS": "SSL", "BOTH": "SASL_SSL"}
        given = {
            "bootstrap.servers": f"127.0.0.1:{self.ports[list(kinds).index(listener)]}",
            "security.protocol": kinds[listener],
        }
        if listener != "SASL":
            given["ssl.ca.location"] = str(self.folder / "ca.pem")
        if listener == "TLS":
            given |= {
                "ssl.certificate.pem": (self.folder / "ca.pem").read_text(),
                "ssl.key.pem": (self.folder / "key.pem").read_text(),
            }
        if mechanism == "OAUTHBEARER":
            claims = "principal=user lifeSeconds=600"
            unsecured = {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": claims}
            return {**given, "sasl.mechanism": mechanism, **unsecured}
        if mechanism == "OIDC":
            client = {"token.endpoint.url": self.endpoint, "client.id": "me", "client.secret": PASSWORD}
            oidc = {f"sasl.oauthbearer.{key}": value for key, value in {"method": "oidc", **client}.items()}
            return {**given, "sasl.mechanism": "OAUTHBEARER", **oidc}
        if mechanism:
            given |= {"sasl.mechanism": mechanism, "sasl.username": "user", "sasl.password": PASSWORD}
        return given


class Tokens(BaseHTTPRequestHandler):
    """A token endpoint: gives one that is not signed to the client that knows the password."""

    def do_POST(self) -> None:
        given = base64.b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
        known = given == f"me:{PASSWORD}"
        claims = {"sub": "user", "iat": int(time.time()), "exp": int(time.time()) + 600}
        parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (_HEADER, claims)]
        answer = json.dumps({"access_token": f"{'.'.join(parts)}.", "token_type": "Bearer", "expires_in": 600}).encode()
        self.send_response(200 if known else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer) if known else 0))
        self.end_headers()
        self.wfile.write(answer if known else b"")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serving(Tokens) as address:
        yield f"{address}/token"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory, endpoint: str) -> Iterator[Secured]:
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
        for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            user = UserScramCredentialUpsertion("user", ScramCredentialInfo(kind, 4096), PASSWORD.encode())
            admin.alter_user_scram_credentials([user])["user"].result(30)
        yield Secured(kafka, folder, ports, endpoint)


WAYS = [
    ("SASL", "PLAIN"),
    ("SASL", "SCRAM-SHA-256"),
    ("SASL", "SCRAM-SHA-512"),
    ("TLS", ""),
    ("BOTH", "SCRAM-SHA-512"),
    ("SASL", "OAUTHBEARER"),
    ("SASL", "OIDC"),
]


@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
def test_exactly_once_under_the_clients_options(
    secured: Secured, tmp_path: Path, listener: str, mechanism: str
) -> None:
    topics = Topics(secured.kafka.bootstrap_servers)
    topic, prefix = topics.create(), uuid.uuid4().hex
    options = {f"properties.{k}": v for k, v in secured.options(listener, mechanism).items()}
    sink = sink_table(options.pop("properties.bootstrap.servers"), topic, prefix, **options)
    engine = SimulatedQuery(sink, tmp_path, prefix, prefix)
    engine.run_batch(tasks=2)
    engine.close()
    assert len(topics.take(topic, ROWS, **{"isolation.level": "read_committed"})) == ROWS


def test_a_bearer_token_reads_as_it_writes(secured: Secured) -> None:
    topics = Topics(secured.kafka.bootstrap_servers)
    topic = topics.create()
    topics.put(topic, b"a", b"b")
    config = to_librdkafka(secured.options("SASL", "OAUTHBEARER"))
    found = [v for records in read_records(config, Split(topic, 0, 0, 2)) for v in records.values.to_pylist()]
    assert found == [b"a", b"b"]


def test_an_endpoint_that_gives_no_token(secured: Secured) -> None:
    options = {**secured.options("SASL", "OIDC"), "sasl.oauthbearer.client.secret": "planted-4711"}
    transactions = TransactionAdmin(to_librdkafka(options))
    with pytest.raises(BrokerError, match=r"token.endpoint.url' returned no token: HTTP status 401") as e:
        transactions.list_ongoing("x")
    assert "planted-4711" not in str(e.value)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password_is_said_and_not_shown(secured: Secured, mechanism: str) -> None:
    options = {**secured.options("SASL", mechanism), "sasl.password": "planted-4711"}
    transactions = TransactionAdmin(to_librdkafka(options))
    with pytest.raises(BrokerError, match=r"SASL authentication failed.*Check 'properties.sasl") as e:
        transactions.list_ongoing("x")
    assert "planted-4711" not in str(e.value)


def test_a_certificate_that_nobody_is_to_check(secured: Secured) -> None:
    options = {**secured.options("BOTH", "PLAIN"), "enable.ssl.certificate.verification": "false"}
    del options["ssl.ca.location"]
    config = to_librdkafka(options)
    assert Cluster(config).topics()
    transactions = TransactionAdmin(config)
    assert transactions.list_ongoing("nothing") == []
    transactions.close()


def test_a_certificate_that_nobody_knows_is_refused(secured: Secured) -> None:
    options = secured.options("BOTH", "PLAIN")
    del options["ssl.ca.location"]
    with pytest.raises(BrokerError, match="the broker's certificate is not trusted: self-signed certificate"):
        TransactionAdmin(to_librdkafka(options)).list_ongoing("x")


def test_what_this_client_cannot_do_is_refused_by_name() -> None:
    def refused(**given: str) -> str:
        with pytest.raises(InvalidOptionError) as e:
            check_security({"security.protocol": "sasl_ssl", **{k.replace("_", "."): v for k, v in given.items()}})
        return str(e.value)

    assert "SASL mechanism 'DIGEST-MD5' (option 'properties.sasl.mechanism') is not supported" in refused(
        sasl_mechanism="DIGEST-MD5"
    )
    assert "'properties.ssl.curves.list' is not supported" in refused(ssl_curves_list="X25519")
    assert "OAUTHBEARER needs 'properties.sasl.oauthbearer.method' = 'oidc'" in refused(sasl_mechanism="OAUTHBEARER")


@pytest.mark.parametrize("given", [{}, {"sasl.mechanism": "GSSAPI"}])
def test_kerberos_without_its_package_says_what_to_install(
    given: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with pytest.raises(UnsupportedOptionError, match=r"needs the Python package gssapi .* then pip install gssapi"):
        check_security({"security.protocol": "sasl_ssl", **given})
