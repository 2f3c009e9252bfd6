"""Java's client properties in librdkafka's words."""

from __future__ import annotations

import logging

import pytest

from kafka_sql.errors import InvalidOptionError, UnknownOptionError
from kafka_sql.kafka.properties import IGNORED, REFUSED, RENAMED, to_librdkafka

SERVERS = {"bootstrap.servers": "localhost:9092"}


def test_java_defaults_hold_where_librdkafka_differs() -> None:
    config = to_librdkafka(SERVERS)
    assert config["isolation.level"] == "read_uncommitted"
    assert config["check.crcs"] == "true"
    assert config["acks"] == "all"
    assert config["enable.idempotence"] == "true"
    assert config["partitioner"] == "murmur2_random"


def test_a_given_property_wins_over_the_default() -> None:
    assert to_librdkafka({**SERVERS, "isolation.level": "read_committed"})["isolation.level"] == "read_committed"


@pytest.mark.parametrize("key", [k for k in RENAMED if not k.startswith("ssl.")])
def test_renamed(key: str) -> None:
    config = to_librdkafka({**SERVERS, key: "100000"})
    assert config[RENAMED[key]] == "100000"
    assert key not in config


def test_java_words_for_values() -> None:
    assert to_librdkafka({**SERVERS, "auto.offset.reset": "none"})["auto.offset.reset"] == "error"


@pytest.mark.parametrize("key", IGNORED)
def test_ignored_with_a_warning(key: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert to_librdkafka({**SERVERS, key: "1"}) == to_librdkafka(SERVERS)
    assert f"'properties.{key}' has no effect: {IGNORED[key]}" in caplog.text


@pytest.mark.parametrize("key", REFUSED)
def test_refused_with_the_reason(key: str) -> None:
    with pytest.raises(InvalidOptionError) as caught:
        to_librdkafka({**SERVERS, key: "hunter2"})
    assert f"'properties.{key}' is not supported: {REFUSED[key]}" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_unknown_property_names_the_nearest() -> None:
    with pytest.raises(UnknownOptionError, match=r"'properties.grup.id' is no property .* Did you mean 'group.id'\?"):
        to_librdkafka({**SERVERS, "grup.id": "a"})


def test_out_of_range_names_the_range_and_not_the_value() -> None:
    with pytest.raises(InvalidOptionError, match=r"'properties.socket.timeout.ms': range 10..300000") as caught:
        to_librdkafka({**SERVERS, "socket.timeout.ms": "7"})
    assert "7" not in str(caught.value).removesuffix("range 10..300000.")


def test_api_timeout_is_ours_and_checked() -> None:
    assert to_librdkafka({**SERVERS, "default.api.timeout.ms": "1500"})["default.api.timeout.ms"] == "1500"
    with pytest.raises(InvalidOptionError, match=r"default.api.timeout.ms': expected milliseconds"):
        to_librdkafka({**SERVERS, "default.api.timeout.ms": "soon"})


@pytest.mark.parametrize("given", [{"acks": "1"}, {"max.in.flight.requests.per.connection": "10"}])
def test_idempotence_gives_way_as_in_java(given: dict[str, str]) -> None:
    assert to_librdkafka({**SERVERS, **given})["enable.idempotence"] == "false"
    assert to_librdkafka({**SERVERS, **given, "enable.idempotence": "true"})["enable.idempotence"] == "true"
