"""librdkafka's check of configuration properties."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_sql.kafka.config.librdkafka_properties import find_rejected, is_unknown

THREADS = Path("/proc/self/task")


def test_accepted_properties() -> None:
    assert find_rejected({}) is None
    assert find_rejected({"linger.ms": "5", "fetch.wait.max.ms": "10", "debug": "broker", "group.id": "g"}) is None
    assert find_rejected({"delivery.report.only.error": "true", "builtin.features": "ssl"}) is None


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "linger.ms",
            "-5",
            "value -5 is outside allowed range 0..900000",
        ),
        ("linger.ms", "", "cannot be set to empty value"),
        ("debug", "junk", 'Invalid value "junk" for configuration property "debug"'),
        ("delivery.report.only.error", "junk", "Expected bool value"),
    ],
)
def test_rejected_values(key: str, value: str, message: str) -> None:
    rejected = find_rejected({"acks": "all", key: value, "compression.type": "junk"})
    assert rejected is not None
    assert rejected[0] == key
    assert message in rejected[1]
    assert not is_unknown(rejected[1])


@pytest.mark.parametrize(
    "key",
    ["nope", "", "logger", "error_cb", "oauth_cb", "on_delivery", "on_commit", "stats_cb"],
)
def test_unknown_properties_and_those_of_the_python_client(key: str) -> None:
    rejected = find_rejected({"acks": "all", key: "x"})
    assert rejected is not None
    assert rejected[0] == key
    assert is_unknown(rejected[1])


def test_no_client_is_started() -> None:
    threads = len(list(THREADS.iterdir()))
    config = {
        "bootstrap.servers": "127.0.0.1:1",
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.metadata.authentication.type": "aws_iam",
        "ssl.ca.location": "/nowhere",
    }
    rejected = find_rejected(config)
    assert rejected is None or rejected[0] == "sasl.oauthbearer.metadata.authentication.type"  # older librdkafka
    assert len(list(THREADS.iterdir())) == threads
