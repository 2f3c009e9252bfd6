"""Restart after a crash that left transactions open, with fewer or more tasks per batch."""

from __future__ import annotations

import signal

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.pipeline import CrashPlan
from tests.chaos.run import running
from tests.waiting import TIMEOUT

_BEFORE, _AFTER = 6, (1, 12, 5, 7)
_POINTS = ("preparing", "prepared", "deciding", "decided", "ending", "ended")


def scenario(config: ScenarioConfig) -> Outcome:
    """Kill drivers at points where transactions are open, decided or ended, and check that the next one cleans up."""
    limit = {"scan.max-offsets-per-trigger": str(max(1, config.rows_per_fault // 4))}
    with EmbeddedKafka() as kafka, running(kafka.bootstrap_servers, config, source_options=limit) as run:
        for i in range(config.repeat):
            point = _POINTS[i % len(_POINTS)]
            run.send(config.rows_per_fault)
            run.start(CrashPlan(point), tasks=_BEFORE)
            run.driver.join(TIMEOUT)
            assert run.driver.exitcode == -signal.SIGKILL, f"'{point}': {run.driver.exitcode}, {run.error()}"
            lingering = len(run.open_transactions())
            tasks = _AFTER[i % len(_AFTER)]
            run.start(tasks=tasks)
            run.wait_until_caught_up()
            run.kill()
            config.log(f"{i + 1} killed {point}, {lingering} open transactions of {_BEFORE} tasks, then {tasks}")
        return run.finish(config.repeat)
