"""Run the soak test: resource use must not grow, and each record must arrive once and in order."""

from __future__ import annotations

import subprocess
import sys

from tests.chaos.outcome import Outcome, ScenarioConfig

_RATE = 2000  # records per second


def scenario(config: ScenarioConfig) -> Outcome:
    """Run one minute per repetition."""
    command = [sys.executable, "-m", "tests.chaos.soak", "--minutes", str(config.repeat), "--rate", str(_RATE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return Outcome(config.repeat, config.repeat * 60 * _RATE, notes=done.stdout.strip().splitlines()[-1:])
