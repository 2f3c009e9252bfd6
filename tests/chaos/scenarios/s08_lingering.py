"""Transactions that a dead driver has left, and a restart that cuts its batch into fewer tasks or more."""

from __future__ import annotations

import signal

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.clusters import PATIENCE
from tests.chaos.outcome import Asked, Outcome
from tests.chaos.pipeline import End
from tests.chaos.run import running

_BEFORE, _AFTER = 6, (1, 12, 5, 7)
_POINTS = ("preparing", "prepared", "deciding", "decided", "ending", "ended")


def scenario(asked: Asked) -> Outcome:
    """Some are open, decided or not; some are ended. Each start finds those of the driver before it, and no others."""
    limit = {"scan.max-offsets-per-trigger": str(max(1, asked.portion // 4))}
    with EmbeddedKafka() as kafka, running(kafka.bootstrap_servers, asked.folder, reading=limit) as run:
        for i in range(asked.repeat):
            point = _POINTS[i % len(_POINTS)]
            run.send(asked.portion)
            run.start(End(point), tasks=_BEFORE)
            run.driver.join(PATIENCE)
            assert run.driver.exitcode == -signal.SIGKILL, f"'{point}': {run.driver.exitcode}, {run.error()}"
            left = len(run.open())
            tasks = _AFTER[i % len(_AFTER)]
            run.start(tasks=tasks)
            run.caught_up()
            run.kill()
            asked.log(f"{i + 1} killed {point}, {left} left open by {_BEFORE} tasks, then {tasks}")
        return run.finish(asked.repeat)
