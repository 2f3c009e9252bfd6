"""Stop a driver, start another one, and resume the first: it must detect that it is fenced, and write nothing."""

from __future__ import annotations

import os
import signal

import psutil

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.clusters import TIMEOUT, wait_until
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.pipeline import FENCED, CrashPlan
from tests.chaos.run import PipelineRun, running

# Before its decision, it finds out at once when it resumes, while the other driver is running.
_UNDECIDED = ("planned", "preparing", "prepared", "claimed", "deciding")
# After its decision, it finds out with its next batch. The other driver is killed before, because two drivers must not
# plan batches in the same checkpoint.
_DECIDED = ("decided", "ending", "ended")
_POINTS = _UNDECIDED + _DECIDED


def scenario(config: ScenarioConfig) -> Outcome:
    """SIGSTOP at a crash point, start a second driver, SIGCONT."""
    rng = config.rng()
    limit = {"scan.max-offsets-per-trigger": str(max(1, config.rows_per_fault // 4))}
    with EmbeddedKafka() as kafka, running(kafka.bootstrap_servers, config.folder, source_options=limit) as run:
        for i in range(config.repeat):
            point = _POINTS[i % len(_POINTS)]
            run.send(config.rows_per_fault)
            zombie = run.start(CrashPlan(point, rng.randint(1, 2), stops=True))
            wait_until_stopped(run, point)
            run.start()
            run.wait_until_caught_up()
            if point in _DECIDED:
                run.kill()
                run.send(config.rows_per_fault)
            os.kill(zombie.pid, signal.SIGCONT)
            zombie.join(TIMEOUT)
            assert zombie.exitcode == FENCED, f"'{point}': a fenced driver exited with {zombie.exitcode}"
            if point in _UNDECIDED:
                run.send(config.rows_per_fault)
                run.wait_until_caught_up()  # the running driver was not fenced
                run.kill()
            config.log(f"{i + 1} stopped {point}")
        return run.finish(config.repeat)


def wait_until_stopped(run: PipelineRun, point: str) -> None:
    """Wait until the driver has stopped itself."""
    process = psutil.Process(run.driver.pid)

    def poll() -> bool:
        assert run.driver.is_alive(), f"'{point}': the driver exited with {run.driver.exitcode}: {run.error()}"
        return bool(process.status() == psutil.STATUS_STOPPED)

    wait_until(poll, f"the driver to stop at '{point}'")
