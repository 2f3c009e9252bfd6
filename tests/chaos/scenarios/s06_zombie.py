"""A driver is stopped, another takes its place, and the first wakes up: it finds itself fenced and writes nothing."""

from __future__ import annotations

import os
import signal

import psutil

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.clusters import TIMEOUT, wait_until
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.pipeline import FENCED, CrashPlan
from tests.chaos.run import PipelineRun, running

# where it holds something that is not decided; it is told at once when it wakes up, while the other lives
_UNDECIDED = ("planned", "preparing", "prepared", "claimed", "deciding")
# here it is told by its next batch. Two drivers that plan batches share a checkpoint, which Spark does not allow
_DECIDED = ("decided", "ending", "ended")
_POINTS = _UNDECIDED + _DECIDED


def scenario(asked: ScenarioConfig) -> Outcome:
    """SIGSTOP at a point, a second driver, SIGCONT."""
    chance = asked.rng()
    limit = {"scan.max-offsets-per-trigger": str(max(1, asked.rows_per_fault // 4))}
    with EmbeddedKafka() as kafka, running(kafka.bootstrap_servers, asked.folder, reading=limit) as run:
        for i in range(asked.repeat):
            point = _POINTS[i % len(_POINTS)]
            run.send(asked.rows_per_fault)
            zombie = run.start(CrashPlan(point, chance.randint(1, 2), stops=True))
            await_stop(run, point)
            run.start()
            run.wait_until_caught_up()
            if point in _DECIDED:
                run.kill()
                run.send(asked.rows_per_fault)
            os.kill(zombie.pid, signal.SIGCONT)
            zombie.join(TIMEOUT)
            assert zombie.exitcode == FENCED, f"'{point}': a driver that was fenced ended with {zombie.exitcode}"
            if point in _UNDECIDED:
                run.send(asked.rows_per_fault)
                run.wait_until_caught_up()  # the living was not thrown out
                run.kill()
            asked.log(f"{i + 1} stopped {point}")
        return run.finish(asked.repeat)


def await_stop(run: PipelineRun, point: str) -> None:
    """Return when the driver has stopped itself."""
    process = psutil.Process(run.driver.pid)

    def look() -> bool:
        assert run.driver.is_alive(), f"'{point}': the driver ended with {run.driver.exitcode}: {run.error()}"
        return bool(process.status() == psutil.STATUS_STOPPED)

    wait_until(look, f"a driver that stops at '{point}'")
