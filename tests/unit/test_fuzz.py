"""A sample of what ``make fuzz`` feeds by the million, and the inputs that it has found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz import harness, options
from tests.fuzz.targets import DECODERS, ONE_BY_ONE

SEED = 7
SAMPLE = 300
MILLION = 1_000_000


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    """Without the warnings of ignored options."""
    with options.silence():
        yield


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_a_sample(name: str) -> None:
    result = harness.run(name, ONE_BY_ONE[name](), SAMPLE, SEED)
    assert result.failures == []
    assert result.inputs == SAMPLE
    assert len(result.outcomes) > 1  # some pass and some do not


def test_a_failure_is_told_with_the_number_that_makes_it_again() -> None:
    def one(rng: object) -> str:
        chance = rng.random()  # type: ignore[attr-defined]
        assert chance < 0.9, chance
        return "fine"

    result = harness.run("t", one, 200, SEED)
    assert 0 < result.failed < 60
    number, why = result.failures[0]
    assert str(harness.luck("t", SEED, number).random()) in why
    assert harness.run("t", one, 1, SEED, first=number).failed == 1


@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_a_million(name: str) -> None:
    result = harness.run(name, ONE_BY_ONE[name](), MILLION, SEED)
    assert result.failures == []


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", DECODERS)
def test_a_million_records(name: str) -> None:
    DECODERS[name](MILLION, SEED)
