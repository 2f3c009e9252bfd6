"""A sample of the nineteen scenarios, and all of them: what readers saw is what was written."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.chaos.registry import SCENARIOS

pytestmark = pytest.mark.integration
# those that start one broker and end in seconds; the others have samples among the tests that they call
QUICK = (6, 10, 13)


def chaos(*arguments: str, wait: float) -> str:
    """The table."""
    command = [sys.executable, "-m", "tests.chaos", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=wait)
    assert done.returncode == 0, done.stdout + done.stderr[-5000:]
    return done.stdout


@pytest.mark.timeout(900)
def test_a_sample_of_the_scenarios_of_one_broker() -> None:
    told = chaos("--sample", "--repeat", "1", "--only", *map(str, QUICK), wait=890)
    assert told.count("| right") == len(QUICK)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_sample_of_all() -> None:
    told = chaos("--sample", wait=3500)
    assert told.count("| right") == sum(bool(one.sample) for one in SCENARIOS)
