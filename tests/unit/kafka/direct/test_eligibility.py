"""Which client settings the direct producer supports."""

from __future__ import annotations

import pytest

from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.direct.eligibility import can_write

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required username='u' password='p';"
SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": PLAIN}


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"batch.size": "10000", "request.timeout.ms": "5000", "client.id": "me", "linger.ms": "5"},
        {"group.id": "g", "max.partition.fetch.bytes": "1000000", "isolation.level": "read_committed"},
        SASL,
        {"security.protocol": "SSL"},
    ],
)
def test_supported(properties: dict[str, str]) -> None:
    assert can_write(to_librdkafka({"bootstrap.servers": "b:9092", **properties}))


@pytest.mark.parametrize(
    "properties",
    [
        {"compression.type": "lz4"},
        {"acks": "1", "enable.idempotence": "false"},
        {"enable.idempotence": "false"},
        {"queue.buffering.max.messages": "1000"},
        {"partitioner": "consistent"},
        {"debug": "msg"},
    ],
)
def test_not_supported(properties: dict[str, str]) -> None:
    assert not can_write(to_librdkafka({"bootstrap.servers": "b:9092", **properties}))
