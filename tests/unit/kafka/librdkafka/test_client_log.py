"""librdkafka's log as Python log records: levels, facilities and invalid text; its statistics."""

from __future__ import annotations

import json
import logging
import socket
import struct
import threading
from contextlib import ExitStack, suppress

import pytest
from confluent_kafka import Producer

from kafka_sql.errors import AuthenticationError
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.fetch_errors import raise_data_loss
from kafka_sql.kafka.librdkafka import consumer, producer_clients
from kafka_sql.kafka.librdkafka.client import open_client
from kafka_sql.kafka.records import DEFAULT_SIZE, VALUES_ONLY
from kafka_sql.kafka.split import Split


def test_levels_and_facilities(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # does not listen
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        config = to_librdkafka({"bootstrap.servers": address, "client.id": "me", "group.id": "g", "debug": "broker"})
        caplog.set_level(logging.DEBUG, "kafka_sql.librdkafka")
        producer, _ = open_client(Producer, config)
        while not any(record.levelno == logging.ERROR for record in caplog.records):
            producer.poll(0.1)
    error = next(record for record in caplog.records if record.levelno == logging.ERROR)
    assert error.name == "kafka_sql.librdkafka"
    assert error.getMessage().startswith("FAIL: ")
    assert address in error.getMessage()
    assert (vars(error)["client"], vars(error)["facility"]) == ("me", "FAIL")
    assert any(record.levelno == logging.DEBUG for record in caplog.records)
    # warnings about consumer settings of a producer: this package uses one configuration for both
    levels = [record.levelno for record in caplog.records if vars(record)["facility"] == "CONFWARN"]
    assert set(levels) <= {logging.DEBUG}
    assert logging.WARNING not in {record.levelno for record in caplog.records}


def test_statistics(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafka_sql.kafka.statistics")
    config = to_librdkafka({"bootstrap.servers": "127.0.0.1:1", "client.id": "me", "statistics.interval.ms": "10"})
    producer, _ = open_client(Producer, config)
    while not (statistics := [r for r in caplog.records if r.name == "kafka_sql.kafka.statistics"]):
        producer.poll(0.1)
    assert json.loads(statistics[0].getMessage())["client_id"] == "me"


_SASL_HANDSHAKE, _API_VERSIONS, _SASL_AUTHENTICATE = 17, 18, 36
_UNSUPPORTED_VERSION, _SASL_AUTHENTICATION_FAILED = 35, 58


def reject_logins(connection: socket.socket) -> None:
    """Reject a login with a message that is not UTF-8."""
    versions = b"".join(struct.pack(">hhh", *v) for v in ((18, 0, 0), (17, 0, 1), (36, 0, 1), (3, 0, 4)))
    with connection, suppress(OSError):
        while header := connection.recv(4):
            request = connection.recv(struct.unpack(">i", header)[0])
            api, version, number = struct.unpack(">hhi", request[:8])
            body = {
                _API_VERSIONS: struct.pack(">hi", _UNSUPPORTED_VERSION if version else 0, 4) + versions,
                _SASL_HANDSHAKE: struct.pack(">hih", 0, 1, 5) + b"PLAIN",
                _SASL_AUTHENTICATE: struct.pack(">hh", _SASL_AUTHENTICATION_FAILED, 7) + b"wrong\xff!" + b"\0\0\0\0",
            }[api]
            connection.sendall(struct.pack(">ii", len(body) + 4, number) + body)


@pytest.mark.long
def test_messages_of_brokers_that_are_not_utf_8() -> None:
    """confluent-kafka raises an exception for the log line."""

    def run() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=reject_logins, args=(server.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=run, daemon=True).start()
        config = to_librdkafka(
            {
                "bootstrap.servers": f"127.0.0.1:{server.getsockname()[1]}",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "me",
                "sasl.password": "secret-password",
            }
        )
        message = r"SASL authentication error: wrong\ufffd!. Check 'properties.sasl.jaas.config'"
        with ExitStack() as stack, pytest.raises(AuthenticationError, match=message):
            producer_clients.await_metadata(producer_clients._create(config, stack), "t", 60)
        with pytest.raises(AuthenticationError, match=message):
            list(consumer.read_to_end(config, Split("t", 0, 0, 1), VALUES_ONLY, DEFAULT_SIZE, raise_data_loss))
