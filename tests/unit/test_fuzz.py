"""A sample of the inputs of ``make fuzz``, and failures that it has found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz import harness, options
from tests.fuzz.targets import DECODERS, INPUT_TARGETS

SEED = 7
SAMPLE = 300
MILLION = 1_000_000


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    """Suppress warnings about ignored options."""
    with options.suppress_warnings():
        yield


@pytest.mark.parametrize("name", INPUT_TARGETS)
def test_sample(name: str) -> None:
    result = harness.run(name, INPUT_TARGETS[name](), SAMPLE, SEED)
    assert result.failures == []
    assert result.inputs == SAMPLE
    assert len(result.outcomes) > 1  # some inputs are valid and some are not


def test_failures_are_reported_with_a_reproducible_number() -> None:
    def feed(rng: object) -> str:
        number = rng.random()  # type: ignore[attr-defined]
        assert number < 0.9, number
        return "ok"

    result = harness.run("t", feed, 200, SEED)
    assert 0 < result.failed < 60
    number, error = result.failures[0]
    assert str(harness.rng_of("t", SEED, number).random()) in error
    assert harness.run("t", feed, 1, SEED, first=number).failed == 1


@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("name", INPUT_TARGETS)
def test_one_million_inputs(name: str) -> None:
    result = harness.run(name, INPUT_TARGETS[name](), MILLION, SEED)
    assert result.failures == []


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", DECODERS)
def test_one_million_records(name: str) -> None:
    DECODERS[name](MILLION, SEED)
