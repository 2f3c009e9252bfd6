"""Samples of the chaos scenarios: readers see exactly what was written."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.chaos.registry import SCENARIOS

pytestmark = pytest.mark.integration
# a scenario with one broker that takes seconds; parts of the others are covered by the tests that they call
QUICK = (6,)


def chaos(*arguments: str, wait: float) -> str:
    """Run scenarios and return the table."""
    command = [sys.executable, "-m", "tests.chaos", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=wait)
    assert done.returncode == 0, done.stdout + done.stderr[-5000:]
    return done.stdout


@pytest.mark.long
@pytest.mark.timeout(900)
def test_sample_of_a_scenario_with_one_broker() -> None:
    table = chaos("--sample", "--repeat", "1", "--only", *map(str, QUICK), wait=890)
    assert table.count("| correct") == len(QUICK)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_sample_of_all_scenarios() -> None:
    table = chaos("--sample", wait=3500)
    assert table.count("| correct") == sum(bool(scenario.sample) for scenario in SCENARIOS)
