"""The choice of the broker for the tests. (Starting a container needs a Docker engine.)"""

from __future__ import annotations

import pytest

from tests.broker import (
    CONTAINER,
    EMBEDDED,
    VARIABLE,
    BrokerChoice,
    choice_from_environment,
    docker_problem,
    parse_choice,
    start_broker,
)


@pytest.mark.parametrize("value", ["", "embedded"])
def test_embedded_is_the_default(value: str) -> None:
    assert parse_choice(value) == BrokerChoice(EMBEDDED)


def test_a_container_if_docker_is_available() -> None:
    assert parse_choice("testcontainers", lambda: "") == BrokerChoice(CONTAINER)


def test_embedded_with_a_reason_if_docker_is_not_available() -> None:
    choice = parse_choice("testcontainers", lambda: "no Docker engine: refused")
    assert choice.name == EMBEDDED
    assert str(choice) == "embedded (no Docker engine: refused)"


@pytest.mark.parametrize("address", ["localhost:9092", "a:1,b:2"])
def test_the_address_of_a_running_broker(address: str) -> None:
    choice = parse_choice(address)
    with start_broker(choice) as kafka:
        assert kafka.bootstrap_servers == address
    assert str(choice) == address


@pytest.mark.parametrize("value", ["docker", "localhost", "localhost:", ":9092", "a:1;b:2"])
def test_other_values_are_rejected(value: str) -> None:
    with pytest.raises(ValueError, match=rf"KAFKA_SQL_TEST_BROKER={value}: expected 'embedded', 'testcontainers' or"):
        parse_choice(value)


def test_the_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "localhost:9092")
    assert choice_from_environment() == BrokerChoice("localhost:9092")
    monkeypatch.delenv(VARIABLE)
    assert choice_from_environment() == BrokerChoice(EMBEDDED)


def test_docker_problem_is_explained() -> None:
    assert docker_problem() == "" or docker_problem().startswith(
        ("testcontainers is not installed", "no Docker engine:")
    )
