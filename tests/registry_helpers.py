"""Helpers for tests with a schema registry: schemas, Avro payloads, a proxy that misbehaves, and a certificate."""

from __future__ import annotations

import datetime as dt
import io
import ipaddress
import json
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fastavro
import httpx

from kafka_sql.embedded import EmbeddedRegistry
from kafka_sql.formats.confluent import client
from kafka_sql.formats.format import InferredSchema
from kafka_sql.source.schema_inference import infer_columns
from kafka_sql.table.table import Table


def register(registry: EmbeddedRegistry, subject: str, schema: Any, **request_fields: Any) -> int:
    """Register a schema, as text or JSON document, under a subject; return its id."""
    text = schema if isinstance(schema, str) else json.dumps(schema)
    response = httpx.post(f"{registry.url}/subjects/{subject}/versions", json={"schema": text, **request_fields})
    assert response.is_success, response.text
    return int(response.json()["id"])


def latest_version(registry: EmbeddedRegistry, subject: str) -> Any:
    """Return the registry's document of a subject's latest version."""
    response = httpx.get(f"{registry.url}/subjects/{subject}/versions/latest")
    assert response.is_success, response.text
    return response.json()


def infer(options: Mapping[str, str]) -> InferredSchema:
    """Return what is inferred for a table with these options."""
    base = {"connector": "kafka", "properties.bootstrap.servers": "localhost:9092"}
    inferred = infer_columns(Table(("t",), (), {**base, **options}))
    assert inferred is not None
    return inferred


def encode_avro(schema_id: int, schema: Any, row: Any) -> bytes:
    """Return a row as Avro in Confluent's wire format."""
    out = io.BytesIO(b"\0" + schema_id.to_bytes(4, "big"))
    out.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    return out.getvalue()


def clear_registry_clients() -> None:
    """Drop this process's clients of registries, and the schemas that they cached."""
    client._registry.cache_clear()


class RegistryProxy(BaseHTTPRequestHandler):
    """Forwards requests with the expected credentials to the registry.

    Attributes:
        target: URL of the registry.
        expected_authorization: the header that requests must have.
        request_count: requests so far.
        failing_requests: how many requests fail first.
        delay: seconds before each response.
        returns_not_found: whether every schema is unknown.
    """

    target = ""
    expected_authorization = ""
    request_count = 0
    failing_requests = 0
    delay = 0.0
    returns_not_found = False

    def forward(self) -> None:
        proxy = type(self)
        proxy.request_count += 1
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if proxy.request_count <= proxy.failing_requests:
            self.send_error(503)
            return
        time.sleep(proxy.delay)
        if self.headers.get("Authorization", "") != proxy.expected_authorization:
            self.send_error(401)
            return
        if proxy.returns_not_found:
            self.send_error(404)
            return
        response = httpx.request(self.command, proxy.target + self.path, content=body, headers={
            "Content-Type": self.headers.get("Content-Type", "application/json")})  # fmt: skip
        self.send_response(response.status_code)
        self.send_header("Content-Length", str(len(response.content)))
        self.end_headers()
        self.wfile.write(response.content)

    do_GET = do_POST = forward

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def run_registry_proxy(url: str, secure: ssl.SSLContext | None = None) -> Iterator[tuple[str, type[RegistryProxy]]]:
    """Run a proxy in front of a registry; yield its URL and its class, whose attributes configure it."""

    class Proxy(RegistryProxy):
        target = url

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    if secure is not None:
        server.socket = secure.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        scheme = "http" if secure is None else "https"
        yield f"{scheme}://127.0.0.1:{server.server_address[1]}", Proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def create_certificate(folder: Path) -> tuple[Path, Path]:
    """Create a self-signed certificate for 127.0.0.1 and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "registry")])
    now = dt.datetime.now(dt.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "cert.pem", folder / "key.pem"
