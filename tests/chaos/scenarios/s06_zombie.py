"""Suspend a driver, start another one, and resume the first: it must detect that it is fenced, and write nothing."""

from __future__ import annotations

import os
import signal

import psutil

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.pipeline import FENCED, CrashPlan
from tests.chaos.run import PipelineRun, running
from tests.waiting import TIMEOUT, wait_until

# A driver that was suspended before its decision is fenced as soon as it resumes, while the other driver is running.
_BEFORE_DECISION = ("planned", "preparing", "prepared", "claimed", "deciding")
# After its decision, it is fenced in its next batch. The other driver is killed before that, because two drivers must
# not plan batches in the same checkpoint.
_AFTER_DECISION = ("decided", "ending", "ended")
_CRASH_POINTS = _BEFORE_DECISION + _AFTER_DECISION


def scenario(config: ScenarioConfig) -> Outcome:
    """At a crash point, suspend the driver (SIGSTOP); start a second driver; resume the first (SIGCONT)."""
    rng = config.rng()
    source_options = {"scan.max-offsets-per-trigger": str(max(1, config.rows_per_fault // 4))}
    with (
        EmbeddedKafka() as kafka,
        running(kafka.bootstrap_servers, config, source_options=source_options) as run,
    ):
        for i in range(config.repeat):
            point = _CRASH_POINTS[i % len(_CRASH_POINTS)]
            run.send(config.rows_per_fault)
            zombie = run.start(CrashPlan(point, rng.randint(1, 2), is_suspended=True))
            wait_until_suspended(run, point)
            run.start()
            run.wait_until_caught_up()
            if point in _AFTER_DECISION:
                run.kill()
                run.send(config.rows_per_fault)
            os.kill(zombie.pid, signal.SIGCONT)
            zombie.join(TIMEOUT)
            assert zombie.exitcode == FENCED, f"'{point}': a fenced driver exited with {zombie.exitcode}"
            if point in _BEFORE_DECISION:
                run.send(config.rows_per_fault)
                run.wait_until_caught_up()  # the running driver was not fenced
                run.kill()
            config.log(f"{i + 1} suspended at {point}")
        return run.finish(config.repeat)


def wait_until_suspended(run: PipelineRun, point: str) -> None:
    """Wait until the driver has suspended itself."""
    process = psutil.Process(run.driver.pid)

    def poll() -> bool:
        assert run.driver.is_alive(), f"'{point}': the driver exited with {run.driver.exitcode}: {run.error()}"
        return bool(process.status() == psutil.STATUS_STOPPED)

    wait_until(poll, f"the driver to be suspended at '{point}'")
