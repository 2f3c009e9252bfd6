"""A user and password in a registry's URL are sent to that registry only, and never logged or shown."""

from __future__ import annotations

import base64
import logging
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from kafka_sql.errors import SchemaRegistryError
from kafka_sql.formats.confluent.client import SchemaRegistry
from kafka_sql.formats.confluent.options import RegistrySettings
from tests.http_server import serve


class Registry(BaseHTTPRequestHandler):
    """A registry that records credentials, and rejects them."""

    received: list[str | None]

    def do_GET(self) -> None:
        self.received.append(self.headers["Authorization"])
        self.send_response(401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("user_info", "user", "expected"),
    [
        ("u:hunter%402@", "", "u:hunter@2"),
        ("u:hunter%402@", "other:hunter3", "other:hunter3"),
        ("", "other:hunter3", "other:hunter3"),
        ("", "", None),
    ],
)
def test_credentials(caplog: pytest.LogCaptureFixture, user_info: str, user: str, expected: str | None) -> None:
    caplog.set_level(logging.DEBUG)
    Registry.received = []
    with serve(Registry) as address:
        url = address.replace("://", f"://{user_info}")
        registry = SchemaRegistry(RegistrySettings("avro-confluent", "AVRO", (url,), user))
        with pytest.raises(SchemaRegistryError, match="rejected the credentials") as e:
            registry.schema_by_id(1)
    authorization = None if expected is None else "Basic " + base64.b64encode(expected.encode()).decode()
    assert Registry.received == [authorization]
    assert address in str(e.value)
    assert address in caplog.text  # httpx logs requests
    assert "hunter" not in caplog.text + str(e.value)
