"""kill -9 of the driver at each phase of the commit, from before the plan to after the checkpoint."""

from __future__ import annotations

import signal

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.clusters import TIMEOUT, wait_until
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.pipeline import CrashPlan
from tests.chaos.run import running
from tests.kills.crash_points import POINTS


def scenario(asked: ScenarioConfig) -> Outcome:
    """One life after another, each of which does two batches or three, the last of them not to its end."""
    chance = asked.rng()
    limit = {"scan.max-offsets-per-trigger": str(max(1, asked.rows_per_fault // 4))}
    with EmbeddedKafka() as kafka, running(kafka.bootstrap_servers, asked.folder, reading=limit) as run:
        for life in range(asked.repeat):
            point = POINTS[life % len(POINTS)]
            seen = run.watch.seen.value
            run.send(asked.rows_per_fault)
            run.start(CrashPlan(point, chance.randint(1, 2)), naming=chance.choice(["INCREMENTING", "POOLING"]))
            run.driver.join(TIMEOUT)
            assert run.driver.exitcode == -signal.SIGKILL, f"'{point}': {run.driver.exitcode}, {run.error()}"
            wait_until(lambda seen=seen: run.watch.seen.value > seen, f"progress in life {life}, '{point}'")
            asked.log(f"{life + 1} killed {point}")
        return run.finish(asked.repeat)
