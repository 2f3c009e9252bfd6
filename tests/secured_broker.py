"""A real broker with listeners for all of Kafka's authentication mechanisms, and a token endpoint."""

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
from kafka_sql.embedded.loopback import free_ports
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.decision_log import LOG_TOPIC, create_log
from tests.certificates import CertificateAndKey, create_authority, sign_certificate
from tests.topics import Topics, grant

PASSWORD = 'pass,word="ü;\\'
_MODULE = "org.apache.kafka.common.security"
PLAIN = f"{_MODULE}.plain.PlainLoginModule"
SCRAM = f"{_MODULE}.scram.ScramLoginModule"
OAUTH = f"{_MODULE}.oauthbearer.OAuthBearerLoginModule"
HANDLER = f"{_MODULE}.oauthbearer.secured.OAuthBearerLoginCallbackHandler"

# protocols of the listeners by name
LISTENERS = {
    "SASL": "SASL_PLAINTEXT",
    "BOTH": "SASL_SSL",
    "TLS": "SSL",
    "MTLS": "SSL",  # clients need a certificate
    "EXPIRED": "SSL",  # the broker's certificate has expired
    "ELSEWHERE": "SSL",  # the broker's certificate is for another host
    "ONLY_SCRAM": "SASL_SSL",
    "SHORT": "SASL_PLAINTEXT",  # sessions expire after SESSION_SECONDS (KIP-368); only SCRAM-SHA-512
}
SESSION_SECONDS = 2


def quote_jaas(text: str) -> str:
    """Quote a string for a JAAS string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class SecuredBroker:
    """A broker with the listeners in ``LISTENERS``.

    Attributes:
        topics: uses the administrator, who has all permissions.
    """

    def __init__(self, kafka: EmbeddedKafka, folder: Path, ports: Mapping[str, int], tokens: TokenEndpoint) -> None:
        self.kafka, self.folder, self.ports, self.tokens = kafka, folder, ports, tokens
        self.topics = Topics(kafka.bootstrap_servers)
        self.admin: AdminClient = self.topics.admin
        self.root, self.other = authorities(folder)
        self.client = sign_certificate(intermediate_authority(folder), "user")

    def server(self, listener: str) -> str:
        """Return ``host:port`` of a listener."""
        return f"localhost:{self.ports[listener]}"

    def properties(self, listener: str, mechanism: str = "", user: str = "user") -> dict[str, str]:
        """Return Java's properties for a client."""
        protocol = LISTENERS[listener]
        properties = {"bootstrap.servers": self.server(listener), "security.protocol": protocol}
        if protocol.endswith("SSL"):
            properties["ssl.truststore.certificates"] = self.root.pem
        if listener == "MTLS":
            properties |= {"ssl.keystore.certificate.chain": self.client.chain, "ssl.keystore.key": self.client.key()}
        if mechanism:
            properties["sasl.mechanism"] = mechanism
            properties["sasl.jaas.config"] = self.jaas(mechanism, user)
        if mechanism == "OAUTHBEARER":
            properties |= {
                "sasl.login.callback.handler.class": HANDLER,
                "sasl.oauthbearer.token.endpoint.url": self.tokens.url,
            }
        return properties

    def jaas(self, mechanism: str, user: str = "user", password: str = PASSWORD) -> str:
        """Return the JAAS string of a user."""
        if mechanism == "OAUTHBEARER":
            return f'{OAUTH} required clientId="{user}" clientSecret={quote_jaas(password)} scope="kafka";'
        module = PLAIN if mechanism == "PLAIN" else SCRAM
        return f'{module} required username="{user}" password={quote_jaas(password)};'

    def set_password(self, user: str, password: str) -> None:
        """Create a SCRAM user, or change the password."""
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            change = UserScramCredentialUpsertion(user, ScramCredentialInfo(mechanism, 4096), password.encode())
            self.admin.alter_user_scram_credentials([change])[user].result(30)

    def grant_query_permissions(self, user: str, prefix: str) -> None:
        """Grant all permissions for reads, writes and exactly-once, on topics and transactional ids with a prefix."""
        if LOG_TOPIC not in self.admin.list_topics(timeout=30).topics:
            create_log(to_librdkafka({"bootstrap.servers": self.kafka.bootstrap_servers}))
        self.allow(user, ResourceType.TOPIC, f"{prefix}*", AclOperation.READ, AclOperation.WRITE)
        self.allow(user, ResourceType.TOPIC, LOG_TOPIC, AclOperation.READ, AclOperation.WRITE)
        self.allow(user, ResourceType.TRANSACTIONAL_ID, f"{prefix}*", AclOperation.WRITE)

    def revoke_all(self, user: str) -> None:
        """Revoke all permissions, and return when the broker applies that."""
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
            pass  # each request waits for the broker's response

    def table(self, properties: Mapping[str, str], topic: str, **overrides: str) -> str:
        """Return the WITH clause of a JSON table with these client properties."""
        return self.topics.with_options(topic, **{f"properties.{k}": v for k, v in properties.items()}, **overrides)

    def allow(self, user: str, resource: ResourceType, name: str, *operations: AclOperation) -> None:
        """Grant operations on a resource, or on all with a prefix if the name ends with '*'."""
        pattern = ResourcePatternType.PREFIXED if name.endswith("*") else ResourcePatternType.LITERAL
        for operation in operations:
            acl = AclBinding(
                resource, name.rstrip("*"), pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW
            )
            grant(self.admin, [acl])


class TokenEndpoint:
    """A token endpoint that issues signed tokens for the password, and returns the public key."""

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(65537, 2048)
        self.request_count = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._respond(200, {"keys": [outer._public()]})

            def do_POST(self) -> None:
                outer.request_count += 1
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                scheme, _, credentials = self.headers.get("Authorization", "").partition(" ")
                user, _, password = base64.b64decode(credentials).decode().partition(":")
                if scheme != "Basic" or password != PASSWORD:
                    self._respond(401, {"error": "invalid_client", "error_description": "who are you?"})
                else:
                    self._respond(200, {"access_token": outer.token(user), "token_type": "Bearer", "expires_in": 300})

            def _respond(self, status: int, content: Any) -> None:
                data = json.dumps(content).encode()
                self.close_connection = True
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                with contextlib.suppress(BrokenPipeError):  # the client closed the connection
                    self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/token"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def token(self, user: str) -> str:
        """Return a signed token (RS256)."""
        now = int(time.time())
        claims = {"iss": "tests", "aud": "kafka", "sub": user, "iat": now, "exp": now + 300, "scope": "kafka"}
        signed_text = f"{_encode_json({'alg': 'RS256', 'kid': 'k', 'typ': 'JWT'})}.{_encode_json(claims)}"
        return f"{signed_text}.{_encode(self._key.sign(signed_text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"

    def _public(self) -> dict[str, str]:
        numbers = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k"}
        return key | {name: _encode_number(getattr(numbers, name)) for name in ("n", "e")}


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _encode_json(content: Any) -> str:
    return _encode(json.dumps(content).encode())


def _encode_number(value: int) -> str:
    return _encode(value.to_bytes((value.bit_length() + 7) // 8, "big"))


_AUTHORITIES: dict[Path, tuple[CertificateAndKey, CertificateAndKey, CertificateAndKey]] = {}


def _create_authorities(folder: Path) -> tuple[CertificateAndKey, CertificateAndKey, CertificateAndKey]:
    if folder not in _AUTHORITIES:
        root = create_authority("root")
        _AUTHORITIES[folder] = root, create_authority("other"), create_authority("between", root)
    return _AUTHORITIES[folder]


def authorities(folder: Path) -> tuple[CertificateAndKey, CertificateAndKey]:
    """Return the authority that brokers and clients trust, and one that is not trusted."""
    return _create_authorities(folder)[:2]


def intermediate_authority(folder: Path) -> CertificateAndKey:
    """Return an intermediate authority, signed by the root."""
    return _create_authorities(folder)[2]


@contextmanager
def secured_broker(folder: Path, **broker_settings: str | int | bool) -> Iterator[SecuredBroker]:
    """Run the broker for a ``with`` block; the keys of ``broker_settings`` have '_' for '.'."""
    tokens = TokenEndpoint()
    ports = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))
    properties = _settings(folder, ports, tokens) | {
        key.replace("_", "."): value for key, value in broker_settings.items()
    }
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={tokens.url}"
    try:
        with ExitStack() as stack:
            with mock.patch.dict(os.environ, {"JDK_JAVA_OPTIONS": allowed}):
                kafka = stack.enter_context(EmbeddedKafka(properties=properties))
            broker = SecuredBroker(kafka, folder, ports, tokens)
            broker.set_password("user", PASSWORD)
            yield broker
    finally:
        tokens.close()


def _settings(folder: Path, ports: Mapping[str, int], tokens: TokenEndpoint) -> dict[str, str | int | bool]:
    addresses = ",".join(f"{name}://localhost:{port}" for name, port in ports.items())
    settings: dict[str, str | int | bool] = {
        "listeners": addresses,
        "advertised.listeners": addresses,
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in LISTENERS.items()),
        "listener.name.mtls.ssl.client.auth": "required",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    plain_users = f"{PLAIN} required user_user={quote_jaas(PASSWORD)} user_nobody={quote_jaas(PASSWORD)};"
    settings |= {
        "listener.name.only_scram.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.only_scram.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
    }
    settings |= {
        "listener.name.short.sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.short.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
        "listener.name.short.scram-sha-512.connections.max.reauth.ms": SESSION_SECONDS * 1000,
    }
    for name in ("sasl", "both"):
        prefix = f"listener.name.{name}"
        settings |= {
            f"{prefix}.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
            f"{prefix}.plain.sasl.jaas.config": plain_users,
            f"{prefix}.scram-sha-256.sasl.jaas.config": f"{SCRAM} required;",
            f"{prefix}.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
            f"{prefix}.oauthbearer.sasl.jaas.config": f"{OAUTH} required;",
            f"{prefix}.oauthbearer.sasl.server.callback.handler.class": f"{_MODULE}.oauthbearer."
            "OAuthBearerValidatorCallbackHandler",
            f"{prefix}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": tokens.url,
            f"{prefix}.oauthbearer.sasl.oauthbearer.expected.audience": "kafka",
            f"{prefix}.oauthbearer.sasl.oauthbearer.expected.issuer": "tests",
        }
    root, _ = authorities(folder)
    (folder / "root.pem").write_text(root.pem)
    intermediate = intermediate_authority(folder)
    servers = {
        "both": sign_certificate(intermediate, "broker"),
        "tls": sign_certificate(intermediate, "broker"),
        "mtls": sign_certificate(intermediate, "broker"),
        "only_scram": sign_certificate(intermediate, "broker"),
        "expired": sign_certificate(root, "broker", days=(-10, -3)),
        "elsewhere": sign_certificate(root, "broker", host="broker.example"),
    }
    for name, server in servers.items():
        prefix, file = f"listener.name.{name}.ssl", folder / f"{name}.pem"
        file.write_text(server.key() + server.chain)
        settings |= {
            f"{prefix}.keystore.type": "PEM",
            f"{prefix}.keystore.location": str(file),
            f"{prefix}.truststore.type": "PEM",
            f"{prefix}.truststore.location": str(folder / "root.pem"),
        }
    return settings
