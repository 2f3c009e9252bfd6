"""Transactions that a dead driver has left, and a restart that cuts its batch into fewer tasks or more."""

from __future__ import annotations

import signal

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.clusters import TIMEOUT
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.pipeline import CrashPlan
from tests.chaos.run import running

_BEFORE, _AFTER = 6, (1, 12, 5, 7)
_POINTS = ("preparing", "prepared", "deciding", "decided", "ending", "ended")


def scenario(asked: ScenarioConfig) -> Outcome:
    """Some are open, decided or not; some are ended. Each start finds those of the driver before it, and no others."""
    limit = {"scan.max-offsets-per-trigger": str(max(1, asked.rows_per_fault // 4))}
    with EmbeddedKafka() as kafka, running(kafka.bootstrap_servers, asked.folder, reading=limit) as run:
        for i in range(asked.repeat):
            point = _POINTS[i % len(_POINTS)]
            run.send(asked.rows_per_fault)
            run.start(CrashPlan(point), tasks=_BEFORE)
            run.driver.join(TIMEOUT)
            assert run.driver.exitcode == -signal.SIGKILL, f"'{point}': {run.driver.exitcode}, {run.error()}"
            left = len(run.open_transactions())
            tasks = _AFTER[i % len(_AFTER)]
            run.start(tasks=tasks)
            run.wait_until_caught_up()
            run.kill()
            asked.log(f"{i + 1} killed {point}, {left} left open by {_BEFORE} tasks, then {tasks}")
        return run.finish(asked.repeat)
