"""Which client settings the direct client supports."""

from __future__ import annotations

import pytest

from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.direct.eligibility import find_read_obstacle, find_write_obstacle

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
        {"compression.type": "lz4", "compression.lz4.level": "5"},
        {"compression.codec": "zstd", "compression.level": "5"},
        {"acks": "-1"},
        {"acks": "all", "enable.idempotence": "true", "partitioner": "murmur2_random"},
        {"buffer.memory": "64000000", "max.request.size": "2000000", "max.in.flight.requests.per.connection": "1"},
        {"retries": "5", "retry.backoff.ms": "7", "retry.backoff.max.ms": "70"},
        {"reconnect.backoff.ms": "7", "reconnect.backoff.max.ms": "70", "metadata.max.age.ms": "7"},
        {"receive.buffer.bytes": "70000", "send.buffer.bytes": "70000"},
        {"acks": "1"},  # which implies enable.idempotence = false
        {"max.in.flight.requests.per.connection": "6"},  # as does this
        {"enable.idempotence": "false"},
        {"connections.max.idle.ms": "7000", "client.dns.lookup": "use_all_dns_ips"},
        {"heartbeat.interval.ms": "7", "max.poll.interval.ms": "400000", "enable.metrics.push": "false"},
        {"metadata.recovery.strategy": "none", "allow.auto.create.topics": "false"},
        {"socket.keepalive.enable": "true", "socket.nagle.disable": "true"},
    ],
)
def test_supported(properties: dict[str, str]) -> None:
    assert find_write_obstacle(to_librdkafka({"bootstrap.servers": "b:9092", **properties})) is None


@pytest.mark.parametrize(
    ("properties", "unsupported"),
    [
        ({"acks": "0"}, "'properties.acks' = '0'"),
        ({"socket.keepalive.enable": "false"}, "'properties.socket.keepalive.enable'"),
        ({"queue.buffering.max.messages": "1000"}, "'properties.queue.buffering.max.messages'"),
        ({"partitioner": "consistent"}, "'properties.partitioner'"),
        ({"debug": "msg"}, "'properties.debug'"),
    ],
)
def test_not_supported(properties: dict[str, str], unsupported: str) -> None:
    obstacle = find_write_obstacle(to_librdkafka({"bootstrap.servers": "b:9092", **properties}))
    assert obstacle == f"the direct client does not support {unsupported}"


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"client.rack": "a", "fetch.min.bytes": "7", "fetch.max.wait.ms": "9", "fetch.max.bytes": "2000000"},
        {"max.partition.fetch.bytes": "1000000", "check.crcs": "false", "isolation.level": "read_committed"},
        {"default.api.timeout.ms": "7", "metadata.max.age.ms": "7", "request.timeout.ms": "5000", "client.id": "me"},
        {"retry.backoff.ms": "7", "retry.backoff.max.ms": "70", "reconnect.backoff.ms": "7"},
        {"receive.buffer.bytes": "70000", "send.buffer.bytes": "70000"},
        {
            "group.id": "g",
            "max.poll.interval.ms": "400000",
            "session.timeout.ms": "9000",
            "auto.offset.reset": "latest",
        },
        {"compression.type": "lz4", "acks": "0", "linger.ms": "7", "retries": "3", "partitioner": "consistent"},
        {"connections.max.idle.ms": "7000", "client.dns.lookup": "use_all_dns_ips"},
        SASL,
        {"security.protocol": "SSL"},
    ],
)
def test_readable(properties: dict[str, str]) -> None:
    assert find_read_obstacle(to_librdkafka({"bootstrap.servers": "b:9092", **properties})) is None


def test_not_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    config = to_librdkafka({"bootstrap.servers": "b:9092", "debug": "msg", "broker.address.family": "v4"})
    assert (
        find_read_obstacle(config)
        == "the direct client does not support 'properties.broker.address.family', 'properties.debug'"
    )
    kerberos = {**config, "security.protocol": "sasl_plaintext", "sasl.mechanism": "GSSAPI"}
    del kerberos["debug"], kerberos["broker.address.family"]
    monkeypatch.setattr("kafka_sql.kafka.protocol.gssapi.load_library", lambda: None)
    expected = "the direct client needs MIT Kerberos' library for 'properties.sasl.mechanism' = 'GSSAPI'"
    assert find_read_obstacle(kerberos) == expected
    monkeypatch.setattr("kafka_sql.kafka.protocol.gssapi.load_library", lambda: object())
    assert find_read_obstacle(kerberos) is None
    expected = "the direct client does not support 'properties.sasl.mechanism' = 'GSSAPI' for writing"
    assert find_write_obstacle(kerberos) == expected
