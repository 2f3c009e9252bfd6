"""Test the checks of schema registries with an in-memory registry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pyarrow as pa
import pytest

from kafka_sql.checks.schemas import check_schemas
from kafka_sql.definition import Definition, validate_table
from kafka_sql.table.table import Column, Table
from tests.http_server import serve
from tests.registry_helpers import clear_registry_clients

SCHEMA = pa.schema([("id", pa.int64())])
COMPATIBLE = {"type": "record", "name": "r", "fields": [{"name": "id", "type": ["null", "long"]}]}
INCOMPATIBLE = {"type": "record", "name": "r", "fields": [{"name": "id", "type": "boolean"}]}


class Registry(BaseHTTPRequestHandler):
    """A registry with at most one schema.

    Attributes:
        latest: the latest schema of every subject.
        is_compatible: whether it accepts a new schema.
    """

    latest: Any = None
    is_compatible = True

    def do_GET(self) -> None:
        if Registry.latest is None:
            self._respond(404, {"error_code": 40401, "message": "no such subject"})
        else:
            self._respond(200, {"id": 7, "version": 1, "schema": json.dumps(Registry.latest)})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._respond(200, {"is_compatible": Registry.is_compatible})

    def _respond(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Registry, "latest", None)
    monkeypatch.setattr(Registry, "is_compatible", True)
    clear_registry_clients()
    with serve(Registry) as address:
        yield address


def define(format: str = "avro-confluent", **options: str) -> Definition:
    table_options = {
        "connector": "kafka",
        "topic": "orders",
        "properties.bootstrap.servers": "h:1",
        "value.format": format,
        **{f"value.{format}.{key}": value for key, value in options.items()},
    }
    return validate_table(Table(("db", "t"), (Column("id", "BIGINT", "BIGINT"),), table_options))


def findings(table: Definition) -> list[tuple[str, bool | None, str]]:
    results = list(check_schemas(table, SCHEMA))
    assert {finding.table for finding in results} == {"db.t"}
    return [(finding.subject, finding.ok, finding.message) for finding in results]


def test_a_subject_without_a_schema_can_be_read_and_written(url: str) -> None:
    connection, read, write = findings(define(url=url))
    assert connection == ("registry of the value", True, f"connected to {url.removeprefix('http://')}")
    assert read == ("schema of the value, to read", True, "subject 'orders-value' has no schema yet")
    assert write[:2] == ("schema of the value, to write", True)
    assert write[2].startswith("subject 'orders-value' has no schema yet; writing the first row registers")


def test_the_latest_schema_is_compared_with_the_columns(url: str) -> None:
    Registry.latest = COMPATIBLE
    _, read, write = findings(define(url=url))
    assert read[1:] == (True, "the latest schema of subject 'orders-value' (id 7) has the table's columns")
    assert write[1:] == (True, "the table's schema is compatible with the latest schema of subject 'orders-value'")


def test_incompatible_schemas(url: str) -> None:
    Registry.latest, Registry.is_compatible = INCOMPATIBLE, False
    _, read, write = findings(define(url=url))
    assert (read[1], write[1]) == (False, False)
    assert "The latest schema of subject 'orders-value' (id 7) " in read[2]
    assert "The table's schema is incompatible with the latest schema of subject 'orders-value'" in write[2]


def test_formats_without_schema_checks_report_that(url: str) -> None:
    _, read, write = findings(define("debezium-avro-confluent", url=url))
    assert read == ("schema of the value, to read", None, "not supported by format 'debezium-avro-confluent'")
    assert write == ("schema of the value, to write", None, "not supported by format 'debezium-avro-confluent'")


def test_a_table_that_cannot_be_written_can_still_be_checked_for_reading(url: str) -> None:
    table = define(url=url)
    options = {**table.table.options, "topic": "orders;returns"}
    two_topics = validate_table(Table(("db", "t"), table.table.columns, options))
    _, read, write = findings(two_topics)
    assert read[1:] == (True, "the table has no single subject; each record names its own schema")
    assert write[1] is False
    assert "is required for serialization if the table does not have exactly one topic" in write[2]


def test_schemas_are_not_checked_without_a_connection() -> None:
    ((subject, ok, message),) = findings(define(url="http://127.0.0.1:1"))
    assert (subject, ok) == ("registry of the value", False)
    assert "127.0.0.1:1: " in message
    assert message.endswith("Check the format's option 'url' and the network.")


def test_one_of_several_registries_is_enough(url: str) -> None:
    results = findings(define(url=f"http://127.0.0.1:1,{url}"))
    assert [ok for _, ok, _ in results] == [False, True, True, True]


@pytest.mark.parametrize(("scheme", "port"), [("http", 80), ("https", 443)])
def test_default_ports(scheme: str, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from kafka_sql.checks import schemas

    opened = []
    monkeypatch.setattr(schemas, "open_connection", lambda host, port: opened.append((host, port)))
    results = check_schemas(define(url=f"{scheme}://registry.invalid"), SCHEMA)
    assert next(results).message == f"connected to registry.invalid:{port}"
    assert opened == [("registry.invalid", port)]


def test_formats_without_a_registry_are_skipped() -> None:
    table = Table(
        ("t",),
        (Column("id", "BIGINT", "BIGINT"),),
        {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1", "format": "json"},
    )
    assert list(check_schemas(validate_table(table), SCHEMA)) == []


def test_a_malformed_url_is_not_quoted() -> None:
    (result,) = findings(define(url="http://u:hunter2/x@h"))
    assert result == (
        "registry of the value",
        False,
        "[SCHEMA_REGISTRY] The format's option 'url' has an invalid port.",
    )
