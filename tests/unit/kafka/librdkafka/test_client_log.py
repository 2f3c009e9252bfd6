"""librdkafka's log as Python log records: levels and facilities."""

from __future__ import annotations

import logging
import socket

import pytest
from confluent_kafka import Producer

from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.librdkafka.client import open_client


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
