"""librdkafka's own log in Python's logging: its levels, its facilities, and no secrets."""

from __future__ import annotations

import logging
import socket

import pytest

from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.librdkafka import bindings
from kafka_sql.kafka.librdkafka.client import open_handle


def test_its_log_at_its_levels_with_facts(caplog: pytest.LogCaptureFixture) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        config = to_librdkafka({"bootstrap.servers": address, "client.id": "me", "group.id": "g", "debug": "broker"})
        caplog.set_level(logging.DEBUG, "kafka_sql.librdkafka")
        with open_handle(bindings.PRODUCER, config) as handle:
            while not any(record.levelno == logging.ERROR for record in caplog.records):
                bindings.poll(handle.pointer, 100)
    error = next(record for record in caplog.records if record.levelno == logging.ERROR)
    assert error.name == "kafka_sql.librdkafka"
    assert error.getMessage().startswith("FAIL: ")
    assert address in error.getMessage()
    assert (vars(error)["client"], vars(error)["facility"]) == ("me", "FAIL")
    assert any(record.levelno == logging.DEBUG for record in caplog.records)
    # that a producer's settings are none of a consumer's is this package's own doing
    told = [record.levelno for record in caplog.records if vars(record)["facility"] == "CONFWARN"]
    assert set(told) <= {logging.DEBUG}
    assert logging.WARNING not in {record.levelno for record in caplog.records}
