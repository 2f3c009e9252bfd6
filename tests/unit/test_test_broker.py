"""Which Kafka the tests run on. (A container itself needs a Docker engine.)"""

from __future__ import annotations

import pytest

from tests.broker import CONTAINER, EMBEDDED, VARIABLE, Choice, broker, choice, chosen, no_docker


@pytest.mark.parametrize("asked", ["", "embedded"])
def test_the_embedded_one_unless_something_else_is_asked_for(asked: str) -> None:
    assert choice(asked) == Choice(EMBEDDED)


def test_a_container_where_a_docker_engine_answers() -> None:
    assert choice("testcontainers", lambda: "") == Choice(CONTAINER)


def test_the_embedded_one_where_none_does_and_it_says_why() -> None:
    found = choice("testcontainers", lambda: "no Docker engine answers: refused")
    assert found.kind == EMBEDDED
    assert str(found) == "embedded (no Docker engine answers: refused)"


@pytest.mark.parametrize("address", ["localhost:9092", "a:1,b:2"])
def test_a_broker_by_its_address(address: str) -> None:
    found = choice(address)
    with broker(found) as kafka:
        assert kafka.bootstrap_servers == address
    assert str(found) == address


@pytest.mark.parametrize("asked", ["docker", "localhost", "localhost:", ":9092", "a:1;b:2"])
def test_anything_else_is_refused(asked: str) -> None:
    with pytest.raises(ValueError, match=rf"KAFKA_SQL_TEST_BROKER={asked}: expected 'embedded', 'testcontainers' or"):
        choice(asked)


def test_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "localhost:9092")
    assert chosen() == Choice("localhost:9092")
    monkeypatch.delenv(VARIABLE)
    assert chosen() == Choice(EMBEDDED)


def test_what_keeps_a_container_away_is_said_in_words() -> None:
    assert no_docker() == "" or no_docker().startswith(("testcontainers is not installed", "no Docker engine answers"))
