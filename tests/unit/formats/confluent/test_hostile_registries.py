"""Test schema registries that hang or send oversized or malformed responses: an error is raised within the timeout."""

from __future__ import annotations

import gzip
import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import unquote

import pytest

from kafka_sql.errors import SchemaRegistryError
from kafka_sql.formats.confluent import client
from kafka_sql.formats.confluent.client import SchemaRegistry
from kafka_sql.formats.confluent.options import RegistrySettings
from tests.http_server import serve


@contextmanager
def registry(respond: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[SchemaRegistry]:
    """Run a registry that responds with ``respond``."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(OSError):
                respond(self)

        def log_message(self, *_: Any) -> None:
            pass

    with serve(Handler) as address:
        yield SchemaRegistry(RegistrySettings("avro-confluent", "AVRO", (address,)))


def json_response(content: Any, status: int = 200) -> Callable[[BaseHTTPRequestHandler], None]:
    def respond(handler: BaseHTTPRequestHandler) -> None:
        data = json.dumps(content).encode()
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return respond


def test_registry_that_never_responds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "RETRY_TIMEOUT", 0.2)
    monkeypatch.setattr(client, "_TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listening:  # connections are queued, and never accepted
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        silent = SchemaRegistry(RegistrySettings("avro-confluent", "AVRO", (url,)))
        with pytest.raises(SchemaRegistryError) as caught:
            silent.schema_by_id(5)
    assert re.search(r"did not respond within 0\.\d s to a request for schema id 5: ", str(caught.value))
    assert f"{url}: timed out. Check that it is running, and the option 'avro-confluent.url'." in str(caught.value)


@pytest.fixture
def free_port() -> Iterator[int]:
    """A port that refuses connections."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


@pytest.mark.parametrize("is_continuous", [False, True])
def test_a_registry_that_is_down(is_continuous: bool, free_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement fails soon. A continuous query waits, because the registry may restart."""
    monkeypatch.setattr(client, "_FIRST_TIMEOUT", 0.2)
    monkeypatch.setattr(client, "RETRY_TIMEOUT", 0.8)
    monkeypatch.setattr(client, "is_continuous_task", lambda: is_continuous)
    urls = (f"http://127.0.0.1:{free_port}", f"http://me:planted-4711@localhost:{free_port}")
    registry_client = SchemaRegistry(RegistrySettings("avro-confluent", "AVRO", urls))
    with pytest.raises(SchemaRegistryError) as caught:
        registry_client.latest_schema("orders-value")
    message = re.fullmatch(
        r"\[SCHEMA_REGISTRY\] The schema registry did not respond within (0\.\d) s to a request for subject "
        rf"'orders-value': {urls[0]}, http://localhost:{free_port}: \[Errno 111\] Connection refused\. Check that it "
        r"is running, and the option 'avro-confluent\.url'\.",
        str(caught.value),
    )
    assert message is not None
    assert (float(message[1]) > 0.3) == is_continuous


def test_a_registry_that_has_responded_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_FIRST_TIMEOUT", 0.0)
    monkeypatch.setattr(client, "RETRY_TIMEOUT", 0.8)
    with registry(json_response({"schema": '"int"'})) as registry_client:
        registry_client.schema_by_id(1)
    with pytest.raises(SchemaRegistryError, match=r"did not respond within 0\.[4-8] s to a request for schema id 2"):
        registry_client.schema_by_id(2)


def send_endless_blanks(handler: BaseHTTPRequestHandler) -> None:
    """Send a blank at a time until the client disconnects."""
    while True:
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.02)


def test_registry_with_an_endless_response(monkeypatch: pytest.MonkeyPatch) -> None:
    def respond(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        send_endless_blanks(handler)

    monkeypatch.setattr(client, "RETRY_TIMEOUT", 0.2)
    with registry(respond) as registry_client, pytest.raises(SchemaRegistryError, match="the response is incomplete"):
        registry_client.schema_by_id(5)


def test_registry_with_an_endless_header(monkeypatch: pytest.MonkeyPatch) -> None:
    def respond(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Header: ")
        send_endless_blanks(handler)

    monkeypatch.setattr(client, "RETRY_TIMEOUT", 0.2)
    with registry(respond) as registry_client, pytest.raises(SchemaRegistryError, match="the response is incomplete"):
        registry_client.schema_by_id(5)


def test_registry_with_a_compression_bomb() -> None:
    bomb = gzip.compress(bytes(client._MAX_RESPONSE_SIZE + 1), 1)

    def respond(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Encoding", "gzip")
        handler.end_headers()
        handler.wfile.write(bomb)

    with (
        registry(respond) as registry_client,
        pytest.raises(SchemaRegistryError, match="schema id 5: it is larger than 67,108,864 bytes"),
    ):
        registry_client.schema_by_id(5)


def test_registry_with_an_oversized_response(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_MAX_RESPONSE_SIZE", 10_000)
    with (
        registry(json_response("x" * 20_000)) as registry_client,
        pytest.raises(SchemaRegistryError, match="larger than 10,000 bytes"),
    ):
        registry_client.schema_by_id(5)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([], "not a JSON object"),
        (None, "not a JSON object"),
        ({}, "'schema' is missing or malformed"),
        ({"schema": 5}, "'schema' is missing or malformed"),
        ({"schema": "x", "references": 5}, "'references' is missing or malformed"),
        ({"schema": "x", "references": [5]}, "'name' is missing or malformed"),
        (
            {"schema": "x", "references": [{"name": "a", "subject": "b", "version": "../.."}]},
            "'version' is missing or malformed",
        ),
    ],
)
def test_registry_with_a_malformed_response(content: Any, expected: str) -> None:
    with registry(json_response(content)) as registry_client, pytest.raises(SchemaRegistryError, match=expected):
        registry_client.schema_by_id(5)


@pytest.mark.parametrize(
    ("content", "status", "expected"),
    [
        ({"error_code": 42201, "message": "Invalid schema"}, 422, r"\(42201: Invalid schema\)"),
        ({"error_code": 42201, "message": "m" * 9000}, 422, r"\(42201: m{2000}\)"),
        ({"error_code": {"internal": 4711}, "message": "m"}, 422, r"\(422 Unprocessable Entity\)"),
        ({"error_code": 1, "message": {"internal": 4711}}, 401, r"\(401 Unauthorized\)"),
        (["internal 4711"], 404, r"\(404 Not Found\)"),
        ({"schema": "x", "schemaType": {"internal": 4711}}, 200, "is of type unknown, expected AVRO"),
        ({"schema": "x", "schemaType": "JSON"}, 200, "is of type JSON, expected AVRO"),
    ],
)
def test_only_errors_of_a_registry_are_quoted(content: Any, status: int, expected: str) -> None:
    with (
        registry(json_response(content, status)) as registry_client,
        pytest.raises(SchemaRegistryError, match=expected) as raised,
    ):
        registry_client.schema_by_id(5)
    assert "4711" not in str(raised.value)


def test_schemas_that_reference_each_other() -> None:
    names = {"schema": '"long"', "references": [{"name": n, "subject": n, "version": 1} for n in ("a", "b")]}
    with registry(json_response(names)) as registry_client:
        assert registry_client.schema_by_id(5).references == (("b", '"long"'), ("a", '"long"'))


@pytest.mark.long
def test_a_chain_of_references_as_long_as_the_limit() -> None:
    """References are not resolved recursively: the limit of 1000 is Python's recursion limit, too."""

    def respond(handler: BaseHTTPRequestHandler) -> None:
        number = int(handler.path.split("/")[2].removeprefix("s")) if "subjects" in handler.path else 0
        references = [{"name": f"n{number + 1}", "subject": f"s{number + 1}", "version": 1}] if number < 1000 else []
        json_response({"schema": f'"{number}"', "references": references})(handler)

    with registry(respond) as registry_client:
        references = registry_client.schema_by_id(5).references
    assert references == tuple((f"n{number}", f'"{number}"') for number in range(1000, 0, -1))


def test_references_with_large_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_MAX_RESPONSE_SIZE", 10_000)
    references = [{"name": f"n{n}", "subject": "s", "version": 1} for n in range(3)]
    with (
        registry(json_response({"schema": "x" * 4_000, "references": references})) as registry_client,
        pytest.raises(SchemaRegistryError, match="refers to others with more than 10,000 characters in total"),
    ):
        registry_client.schema_by_id(5)


@pytest.mark.parametrize("subject", ["../../..", "..", ".", "a/b", "a?b#c&d%2F", "ü \\", "/"])
def test_subjects_do_not_change_the_path(subject: str) -> None:
    paths = list[str]()

    def respond(handler: BaseHTTPRequestHandler) -> None:
        paths.append(handler.path)
        reference = {"name": "n", "subject": subject, "version": 1}
        json_response({"id": 1, "schema": "x", "references": [reference]})(handler)

    with registry(respond) as registry_client:
        registry_client.latest_schema(subject)
    latest, version = (path.split("/") for path in paths)
    assert latest[:2] + latest[3:] == ["", "subjects", "versions", "latest"]
    assert version[:2] + version[3:] == ["", "subjects", "versions", "1"]
    assert unquote(latest[2]) == unquote(version[2]) == subject
    assert latest[2] not in (".", "..")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(status: int) -> None:
    requests = list[str]()

    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            json_response({"schema": "x"})(self)

        def log_message(self, *_: Any) -> None:
            pass

    def redirect(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Location", f"{elsewhere}/schemas/ids/5")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    with serve(Other) as elsewhere, registry(redirect) as registry_client:
        with pytest.raises(SchemaRegistryError, match=str(status)):
            registry_client.schema_by_id(5)
        assert requests == []


def test_schema_with_endless_references(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_MAX_REFERENCES", 20)
    numbers = iter(range(1000))

    def respond(handler: BaseHTTPRequestHandler) -> None:
        reference = {"name": f"n{next(numbers)}", "subject": "s", "version": 1}
        json_response({"schema": "x", "references": [reference]})(handler)

    with (
        registry(respond) as registry_client,
        pytest.raises(SchemaRegistryError, match="refers to more than 20 others"),
    ):
        registry_client.schema_by_id(5)
