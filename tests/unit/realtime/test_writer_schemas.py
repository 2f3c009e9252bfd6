"""Test the schemas that the driver returns to the executors' requests."""

from __future__ import annotations

import json
import threading
import time
from http.server import ThreadingHTTPServer

import pyarrow as pa
import pytest

from kafka_sql.definition import Definition, validate_table
from kafka_sql.formats.confluent import client
from kafka_sql.realtime.writer_schemas import answer_request
from kafka_sql.runtime.continuous_task import is_continuous_task
from kafka_sql.table.table import Column, Table
from tests.http_server import registry_with


def define(url: str) -> Definition:
    options = {"connector": "kafka", "properties.bootstrap.servers": "host:9092", "topic": "t"}
    options |= {"format": "avro-confluent", "avro-confluent.url": url}
    return validate_table(Table(("t",), (Column("a", "INT", "INT"),), options))


def test_a_registry_that_starts_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record waits for it as in micro-batches, even if it has never responded."""

    schema = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}

    def start_late() -> None:
        time.sleep(0.8)
        server.server_activate()
        server.serve_forever(0.01)

    monkeypatch.setattr(client, "_FIRST_TIMEOUT", 0.1)
    with ThreadingHTTPServer(("127.0.0.1", 0), registry_with(schema), bind_and_activate=False) as server:
        server.server_bind()  # without listening: connections are refused
        thread = threading.Thread(target=start_late)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_address[1]}"
            answer = answer_request(define(url).value, pa.schema([("a", pa.int32())]), "5")
        finally:
            server.shutdown()
            thread.join()
    assert list(map(json.loads, json.loads(answer)["schemas"])) == [schema]
    assert not is_continuous_task()
