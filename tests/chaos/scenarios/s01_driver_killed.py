"""Kill the driver with SIGKILL in each phase of the commit, from before the plan to after the checkpoint."""

from __future__ import annotations

import signal

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.pipeline import CrashPlan
from tests.chaos.run import running
from tests.kills.crash_points import POINTS
from tests.waiting import TIMEOUT, wait_until


def scenario(config: ScenarioConfig) -> Outcome:
    """Run drivers one after another. Each completes one or two batches, and is killed within the next."""
    rng = config.rng()
    limit = {"scan.max-offsets-per-trigger": str(max(1, config.rows_per_fault // 4))}
    with EmbeddedKafka() as kafka, running(kafka.bootstrap_servers, config, source_options=limit) as run:
        for number in range(config.repeat):
            point = POINTS[number % len(POINTS)]
            seen = run.watch.seen.value
            run.send(config.rows_per_fault)
            run.start(CrashPlan(point, rng.randint(1, 2)), naming=rng.choice(["INCREMENTING", "POOLING"]))
            run.driver.join(TIMEOUT)
            assert run.driver.exitcode == -signal.SIGKILL, f"'{point}': {run.driver.exitcode}, {run.error()}"
            wait_until(lambda seen=seen: run.watch.seen.value > seen, f"progress of driver {number}, '{point}'")
            config.log(f"{number + 1} killed {point}")
        return run.finish(config.repeat)
