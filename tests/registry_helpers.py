"""Schemas in a registry, and what stands before it, for tests."""

from __future__ import annotations

import datetime as dt
import io
import ipaddress
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fastavro
import httpx

from kafka_sql.embedded import EmbeddedRegistry


def register(registry: EmbeddedRegistry, subject: str, schema: Any, **more: Any) -> int:
    """Register a schema, as text or as JSON's data, under a subject; its id."""
    text = schema if isinstance(schema, str) else json.dumps(schema)
    answer = httpx.post(f"{registry.url}/subjects/{subject}/versions", json={"schema": text, **more})
    assert answer.is_success, answer.text
    return int(answer.json()["id"])


def latest(registry: EmbeddedRegistry, subject: str) -> Any:
    """What the registry says of a subject's latest schema."""
    answer = httpx.get(f"{registry.url}/subjects/{subject}/versions/latest")
    assert answer.is_success, answer.text
    return answer.json()


def framed(number: int, schema: Any, row: Any) -> bytes:
    """A row as Avro in Confluent's wire format."""
    out = io.BytesIO(b"\0" + number.to_bytes(4, "big"))
    out.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    return out.getvalue()


class Gate(BaseHTTPRequestHandler):
    """Passes on to the registry what has the right credentials; counts, and fails the first ``failing`` requests.

    It may be slow (``delay``, in seconds), and know nothing (``hides``).
    """

    target = ""
    expected = ""
    asked = 0
    failing = 0
    delay = 0.0
    hides = False

    def answer(self) -> None:
        kind = type(self)
        kind.asked += 1
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if kind.asked <= kind.failing:
            self.send_error(503)
            return
        time.sleep(kind.delay)
        if self.headers.get("Authorization", "") != kind.expected:
            self.send_error(401)
            return
        if kind.hides:
            self.send_error(404)
            return
        answer = httpx.request(self.command, kind.target + self.path, content=body, headers={
            "Content-Type": self.headers.get("Content-Type", "application/json")})  # fmt: skip
        self.send_response(answer.status_code)
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    do_GET = do_POST = answer

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def gate_before(url: str, secure: ssl.SSLContext | None = None) -> Iterator[tuple[str, type[Gate]]]:
    """A gate before a registry: its address, and its settings."""

    class Own(Gate):
        target = url

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    if secure is not None:
        server.socket = secure.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        scheme = "http" if secure is None else "https"
        yield f"{scheme}://127.0.0.1:{server.server_address[1]}", Own
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def certificates(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1, which is its own authority, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "registry")])
    now = dt.datetime.now(dt.timezone.utc)
    made = (
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
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return folder / "cert.pem", folder / "key.pem"
