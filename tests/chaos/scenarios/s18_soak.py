"""For as long as told: memory, threads, sockets and open files stay flat, and every record comes once and in order."""

from __future__ import annotations

import subprocess
import sys

from tests.chaos.outcome import Outcome, ScenarioConfig

_RATE = 2000  # records a second


def scenario(asked: ScenarioConfig) -> Outcome:
    """A minute for each repetition."""
    command = [sys.executable, "-m", "tests.chaos.soak", "--minutes", str(asked.repeat), "--rate", str(_RATE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return Outcome(asked.repeat, asked.repeat * 60 * _RATE, notes=done.stdout.strip().splitlines()[-1:])
