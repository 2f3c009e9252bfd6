"""Responses of token endpoints are not quoted, neither in errors nor in logs, with either client."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from confluent_kafka import Producer

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.admin.client import Admin
from kafka_sql.kafka.config.properties import resolve_config, to_librdkafka
from kafka_sql.kafka.librdkafka.client import mask_message, open_client
from kafka_sql.kafka.protocol.oauth import fetch_token

EVENT = "Failed to acquire SASL OAUTHBEARER token: "
LOG = '[thrd:background]: Failed to retrieve OIDC token from "http://h/token": '
CONTENT = "internal-4711"


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (CONTENT, "the endpoint returned an invalid response"),
        (f'{{"a": "{CONTENT}"}}\n{CONTENT}', "the endpoint returned an invalid response"),
        (f'{{"error": "invalid_client", "b": "{CONTENT}"}}', "the endpoint returned the error invalid_client"),
        (f"Response is not JSON encoded: text/{CONTENT}", "the endpoint returned an invalid response"),
        (f"SSL <{CONTENT}>", "the endpoint returned an invalid response"),
        (f"SSL ok\n{CONTENT}", "the endpoint returned an invalid response"),
        ('Expected JSON response with "access_token" field', None),
        ("Failed to parse JSON response at 0/12", None),
        ("Failed to decode JWT payload: The token is invalid with less than 2 delimiters", None),
        ("Must supply an unexpired token: now=1700000000000ms, exp=1600000000000ms", None),
        ("Failed to connect to 127.0.0.1:1 after 0 ms: Could not connect to server", None),
        ("Failed to connect to localhost port 1 after 0 ms: Couldn't connect to server", None),
        ("Could not resolve host: nosuchhost.invalid", None),
        ("Operation timed out after 10001 milliseconds with 0 bytes received", None),
        ("SSL certificate problem: unable to get local issuer certificate", None),
        ("SSL: no alternative certificate subject name matches target host name 'h'", None),
        ("Empty reply from server", None),
    ],
)
def test_responses_in_messages(response: str, expected: str | None) -> None:
    assert mask_message(EVENT + response, {}, {}) == EVENT + (expected or response)
    assert mask_message(f"{LOG}{response} (401)", {}, {}) == f"{LOG}{expected or response} (401)"


def test_secrets_are_masked_in_other_messages() -> None:
    settings = {"sasl.password": "hunter2"}
    assert mask_message("localhost: hunter2 is wrong", settings, settings) == "localhost: ****** is wrong"


@contextmanager
def endpoint(status: int) -> Iterator[str]:
    """Run a token endpoint that rejects each request; yield its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(status)
            self.send_header("Content-Type", f"text/{CONTENT}")
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            with suppress(OSError):  # the client closed the connection
                self.wfile.write(CONTENT.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/token"
        server.shutdown()


def read_with_protocol_client(config: dict[str, str]) -> str:
    with pytest.raises(BrokerError) as raised:
        fetch_token(resolve_config(config))
    return str(raised.value)


def read_with_librdkafka(config: dict[str, str]) -> str:
    client, errors = open_client(Producer, config)
    deadline = time.monotonic() + 60
    while not errors.recent and time.monotonic() < deadline:
        client.poll(0.1)
    return errors.causes()


def read_with_admin_client(config: dict[str, str]) -> str:
    admin = Admin(config)
    deadline = time.monotonic() + 60
    while not admin.errors.recent and time.monotonic() < deadline:
        admin.api.poll(0.1)
    return admin.errors.causes()


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("read", [read_with_protocol_client, read_with_librdkafka, read_with_admin_client])
def test_responses_of_an_endpoint(
    caplog: pytest.LogCaptureFixture, read: Callable[[dict[str, str]], str], status: int
) -> None:
    caplog.set_level(logging.DEBUG, "kafka_sql")
    with endpoint(status) as url:
        config = to_librdkafka(
            {
                "bootstrap.servers": "127.0.0.1:1",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.client.id": "id",
                "sasl.oauthbearer.client.secret": "hunter2",
                "sasl.oauthbearer.token.endpoint.url": url,
            }
        )
        error = read(config)
    assert "token" in error
    assert CONTENT not in error
    assert CONTENT not in caplog.text
    assert "hunter2" not in error + caplog.text
