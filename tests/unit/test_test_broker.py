"""Which Kafka the tests run on. (A container itself needs a Docker engine.)"""

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


@pytest.mark.parametrize("asked", ["", "embedded"])
def test_the_embedded_one_unless_something_else_is_asked_for(asked: str) -> None:
    assert parse_choice(asked) == BrokerChoice(EMBEDDED)


def test_a_container_where_a_docker_engine_answers() -> None:
    assert parse_choice("testcontainers", lambda: "") == BrokerChoice(CONTAINER)


def test_the_embedded_one_where_none_does_and_it_says_why() -> None:
    found = parse_choice("testcontainers", lambda: "no Docker engine answers: refused")
    assert found.name == EMBEDDED
    assert str(found) == "embedded (no Docker engine answers: refused)"


@pytest.mark.parametrize("address", ["localhost:9092", "a:1,b:2"])
def test_a_broker_by_its_address(address: str) -> None:
    found = parse_choice(address)
    with start_broker(found) as kafka:
        assert kafka.bootstrap_servers == address
    assert str(found) == address


@pytest.mark.parametrize("asked", ["docker", "localhost", "localhost:", ":9092", "a:1;b:2"])
def test_anything_else_is_refused(asked: str) -> None:
    with pytest.raises(ValueError, match=rf"KAFKA_SQL_TEST_BROKER={asked}: expected 'embedded', 'testcontainers' or"):
        parse_choice(asked)


def test_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "localhost:9092")
    assert choice_from_environment() == BrokerChoice("localhost:9092")
    monkeypatch.delenv(VARIABLE)
    assert choice_from_environment() == BrokerChoice(EMBEDDED)


def test_what_keeps_a_container_away_is_said_in_words() -> None:
    assert docker_problem() == "" or docker_problem().startswith(
        ("testcontainers is not installed", "no Docker engine answers")
    )
