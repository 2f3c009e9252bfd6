"""A real broker that asks who one is in every way that Kafka knows, and a token endpoint."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.embedded.protocol_probe import free_ports
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.decision_log import LOG_TOPIC, make_log
from tests.certificates import Party, authority, signed
from tests.topics import Topics, grant

PASSWORD = 'pass,word="ü;\\'
_MODULE = "org.apache.kafka.common.security"
PLAIN = f"{_MODULE}.plain.PlainLoginModule"
SCRAM = f"{_MODULE}.scram.ScramLoginModule"
OAUTH = f"{_MODULE}.oauthbearer.OAuthBearerLoginModule"
HANDLER = f"{_MODULE}.oauthbearer.secured.OAuthBearerLoginCallbackHandler"

# listener: protocol, what is peculiar
LISTENERS = {
    "SASL": "SASL_PLAINTEXT",
    "BOTH": "SASL_SSL",
    "TLS": "SSL",
    "MTLS": "SSL",  # clients need a certificate
    "EXPIRED": "SSL",  # the broker's certificate has expired
    "ELSEWHERE": "SSL",  # the broker's certificate is for another host
    "ONLY_SCRAM": "SASL_SSL",
    "SHORT": "SASL_PLAINTEXT",  # logins last SESSION_SECONDS (KIP-368), and only SCRAM-SHA-512 is known
}
SESSION_SECONDS = 2


def quoted(text: str) -> str:
    """A text as it stands in a JAAS string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Secured:
    """A broker with a listener of each kind.

    Attributes:
        topics: by the administrator, who may do everything.
    """

    def __init__(self, kafka: EmbeddedKafka, folder: Path, ports: Mapping[str, int], tokens: Tokens) -> None:
        self.kafka, self.folder, self.ports, self.tokens = kafka, folder, ports, tokens
        self.topics = Topics(kafka.bootstrap_servers)
        self.admin: AdminClient = self.topics.admin
        self.root, self.other = parties(folder)
        self.client = signed(authority_between(folder), "user")

    def server(self, listener: str) -> str:
        """``host:port`` of a listener."""
        return f"localhost:{self.ports[listener]}"

    def properties(self, listener: str, mechanism: str = "", user: str = "user") -> dict[str, str]:
        """Java's properties of a client."""
        protocol = LISTENERS[listener]
        given = {"bootstrap.servers": self.server(listener), "security.protocol": protocol}
        if protocol.endswith("SSL"):
            given["ssl.truststore.certificates"] = self.root.pem
        if listener == "MTLS":
            given |= {"ssl.keystore.certificate.chain": self.client.chain, "ssl.keystore.key": self.client.key()}
        if mechanism:
            given["sasl.mechanism"] = mechanism
            given["sasl.jaas.config"] = self.jaas(mechanism, user)
        if mechanism == "OAUTHBEARER":
            given |= {
                "sasl.login.callback.handler.class": HANDLER,
                "sasl.oauthbearer.token.endpoint.url": self.tokens.url,
            }
        return given

    def jaas(self, mechanism: str, user: str = "user", password: str = PASSWORD) -> str:
        """The login of a user."""
        if mechanism == "OAUTHBEARER":
            return f'{OAUTH} required clientId="{user}" clientSecret={quoted(password)} scope="kafka";'
        module = PLAIN if mechanism == "PLAIN" else SCRAM
        return f'{module} required username="{user}" password={quoted(password)};'

    def set_password(self, user: str, password: str) -> None:
        """Make a user of SCRAM, or give one another password."""
        for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            wanted = UserScramCredentialUpsertion(user, ScramCredentialInfo(kind, 4096), password.encode())
            self.admin.alter_user_scram_credentials([wanted])[user].result(30)

    def allow_to_query(self, user: str, start: str) -> None:
        """All that reading, writing and exactly-once take, with topics and transactional ids that begin so."""
        if LOG_TOPIC not in self.admin.list_topics(timeout=30).topics:
            make_log(to_librdkafka({"bootstrap.servers": self.kafka.bootstrap_servers}))
        self.allow(user, ResourceType.TOPIC, f"{start}*", AclOperation.READ, AclOperation.WRITE)
        self.allow(user, ResourceType.TOPIC, LOG_TOPIC, AclOperation.READ, AclOperation.WRITE)
        self.allow(user, ResourceType.TRANSACTIONAL_ID, f"{start}*", AclOperation.WRITE)

    def forbid(self, user: str) -> None:
        """Take all that was granted away, and return when the broker goes by that."""
        rules = AclBindingFilter(
            ResourceType.ANY,
            None,
            ResourcePatternType.ANY,
            f"User:{user}",
            None,
            AclOperation.ANY,
            AclPermissionType.ANY,
        )
        self.admin.delete_acls([rules])[rules].result(30)
        while self.admin.describe_acls(rules).result(30):
            pass  # each question waits for the broker's answer

    def table(self, properties: Mapping[str, str], topic: str, **more: str) -> str:
        """The WITH clause of a JSON table with these properties of a client."""
        return self.topics.with_options(topic, **{f"properties.{k}": v for k, v in properties.items()}, **more)

    def allow(self, user: str, resource: ResourceType, name: str, *operations: AclOperation) -> None:
        """Grant operations on what has this name; on what begins so where it ends with '*'."""
        pattern = ResourcePatternType.PREFIXED if name.endswith("*") else ResourcePatternType.LITERAL
        for operation in operations:
            acl = AclBinding(
                resource, name.rstrip("*"), pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW
            )
            grant(self.admin, [acl])


class Tokens:
    """A token endpoint that gives real tokens to those who know the password, and the key to check them with."""

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(65537, 2048)
        self.asked = 0
        outer = self

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(200, {"keys": [outer._public()]})

            def do_POST(self) -> None:
                outer.asked += 1
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                kind, _, given = self.headers.get("Authorization", "").partition(" ")
                user, _, password = base64.b64decode(given).decode().partition(":")
                if kind != "Basic" or password != PASSWORD:
                    self._answer(401, {"error": "invalid_client", "error_description": "who are you?"})
                else:
                    self._answer(200, {"access_token": outer.token(user), "token_type": "Bearer", "expires_in": 300})

            def _answer(self, status: int, content: Any) -> None:
                data = json.dumps(content).encode()
                self.close_connection = True
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                with contextlib.suppress(BrokenPipeError):  # a client that has gone
                    self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/token"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def token(self, user: str) -> str:
        """A signed token (RS256)."""
        now = int(time.time())
        claims = {"iss": "tests", "aud": "kafka", "sub": user, "iat": now, "exp": now + 300, "scope": "kafka"}
        signed_part = f"{_part({'alg': 'RS256', 'kid': 'k', 'typ': 'JWT'})}.{_part(claims)}"
        return f"{signed_part}.{_text(self._key.sign(signed_part.encode(), padding.PKCS1v15(), hashes.SHA256()))}"

    def _public(self) -> dict[str, str]:
        numbers = self._key.public_key().public_numbers()
        words = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k"}
        return words | {name: _number(getattr(numbers, name)) for name in ("n", "e")}


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _part(content: Any) -> str:
    return _text(json.dumps(content).encode())


def _number(value: int) -> str:
    return _text(value.to_bytes((value.bit_length() + 7) // 8, "big"))


_MADE: dict[Path, tuple[Party, Party, Party]] = {}


def _made(folder: Path) -> tuple[Party, Party, Party]:
    if folder not in _MADE:
        root = authority("root")
        _MADE[folder] = root, authority("other"), authority("between", root)
    return _MADE[folder]


def parties(folder: Path) -> tuple[Party, Party]:
    """The authority that all trust, and one that nobody does."""
    return _made(folder)[:2]


def authority_between(folder: Path) -> Party:
    """An authority that the root has signed."""
    return _made(folder)[2]


@contextmanager
def secured_broker(folder: Path, **more: str | int | bool) -> Iterator[Secured]:
    """The broker for the time of a block; ``more`` are its settings, with '_' for '.'."""
    tokens = Tokens()
    ports = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))
    properties = _settings(folder, ports, tokens) | {key.replace("_", "."): value for key, value in more.items()}
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={tokens.url}"
    try:
        with ExitStack() as stack:
            with mock.patch.dict(os.environ, {"JDK_JAVA_OPTIONS": allowed}):
                kafka = stack.enter_context(EmbeddedKafka(properties=properties))
            found = Secured(kafka, folder, ports, tokens)
            found.set_password("user", PASSWORD)
            yield found
    finally:
        tokens.close()


def _settings(folder: Path, ports: Mapping[str, int], tokens: Tokens) -> dict[str, str | int | bool]:
    addresses = ",".join(f"{name}://localhost:{port}" for name, port in ports.items())
    found: dict[str, str | int | bool] = {
        "listeners": addresses,
        "advertised.listeners": addresses,
        "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in LISTENERS.items()),
        "listener.name.mtls.ssl.client.auth": "required",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    plain = f"{PLAIN} required user_user={quoted(PASSWORD)} user_nobody={quoted(PASSWORD)};"
    found |= {
        "listener.name.only_scram.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.only_scram.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
    }
    found |= {
        "listener.name.short.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.short.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
        "listener.name.short.scram-sha-512.connections.max.reauth.ms": SESSION_SECONDS * 1000,
    }
    for name in ("sasl", "both"):
        start = f"listener.name.{name}"
        found |= {
            f"{start}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
            f"{start}.plain.sasl.jaas.config": plain,
            f"{start}.scram-sha-256.sasl.jaas.config": f"{SCRAM} required;",
            f"{start}.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
            f"{start}.oauthbearer.sasl.jaas.config": f"{OAUTH} required;",
            f"{start}.oauthbearer.sasl.server.callback.handler.class": f"{_MODULE}.oauthbearer."
            "OAuthBearerValidatorCallbackHandler",
            f"{start}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": tokens.url,
            f"{start}.oauthbearer.sasl.oauthbearer.expected.audience": "kafka",
            f"{start}.oauthbearer.sasl.oauthbearer.expected.issuer": "tests",
        }
    root, _ = parties(folder)
    (folder / "root.pem").write_text(root.pem)
    between = authority_between(folder)
    servers = {
        "both": signed(between, "broker"),
        "tls": signed(between, "broker"),
        "mtls": signed(between, "broker"),
        "only_scram": signed(between, "broker"),
        "expired": signed(root, "broker", days=(-10, -3)),
        "elsewhere": signed(root, "broker", host="broker.example"),
    }
    for name, party in servers.items():
        start, file = f"listener.name.{name}.ssl", folder / f"{name}.pem"
        file.write_text(party.key() + party.chain)
        found |= {
            f"{start}.keystore.type": "PEM",
            f"{start}.keystore.location": str(file),
            f"{start}.truststore.type": "PEM",
            f"{start}.truststore.location": str(folder / "root.pem"),
        }
    return found
