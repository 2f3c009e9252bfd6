"""List the scenarios, with their numbers in docs/reliability.md."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from tests.chaos.outcome import Outcome, ScenarioConfig


@dataclass(frozen=True)
class Scenario:
    """A scenario.

    Attributes:
        module: name of its module.
        title: title in the table.
        repeat: number of faults.
        rows: number of rows.
        sample: number of faults in a sample run; 0 if it is not part of sample runs.
        codec: codec of its topics, if it is not chosen.
    """

    module: str
    title: str
    repeat: int = 20
    rows: int = 100_000
    sample: int = 2
    codec: str = ""

    @property
    def number(self) -> int:
        """Number of the scenario, from 1."""
        return int(self.module[1:3])

    def run(self, config: ScenarioConfig) -> Outcome:
        """Run the scenario."""
        function: Callable[[ScenarioConfig], Outcome] = importlib.import_module(
            f"tests.chaos.scenarios.{self.module}"
        ).scenario
        return function(config)


SCENARIOS = (
    Scenario("s01_driver_killed", "driver killed at each phase of a commit", repeat=207, sample=9),
    Scenario("s02_workers_killed", "Spark's workers, executors and drivers killed", sample=0),
    Scenario("s03_coordinator_killed", "leaders and coordinators killed or frozen"),
    Scenario("s04_brokers_stopped", "brokers stopped one by one, then restarted", sample=1),
    Scenario("s05_network", "network cut, stalled, 50 ms, 1 Mbit/s, connections dropped", sample=5),
    Scenario("s06_zombie", "a zombie driver resumes"),
    Scenario("s07_timeout", "transactions time out before the recovery", sample=0),
    Scenario("s08_lingering", "lingering transactions, then fewer or more tasks"),
    Scenario("s09_undecodable_records", "1 % undecodable records"),
    Scenario("s10_retention", "retention deletes unread records"),
    Scenario("s11_control_records", "aborted transactions, control records, compaction"),
    Scenario("s12_topic_recreated", "source topic deleted or recreated"),
    Scenario("s13_partitions_added", "source and sink grow from 3 to 12 partitions; a new topic"),
    Scenario("s14_registry", "schema registry down, 401, slow, unknown schema id", sample=0),
    Scenario("s15_access_denied", "wrong certificates, passwords, ACLs", sample=0),
    Scenario("s16_full_queue", "full queues, records of 10 MB, null keys"),
    Scenario("s17_wrong_checkpoint", "wrong checkpoints: old, corrupt, another query's", sample=5),
    Scenario("s18_soak", "soak test of 30 minutes, with restarts", repeat=30, sample=0, codec="lz4"),
    Scenario("s19_follower_fetch", "leaders change under follower fetch", sample=3),
    Scenario(
        "s20_slow_tasks",
        "tasks pause for minutes; brokers restart or close idle connections",
        repeat=24,
        rows=12_000,
        sample=0,
    ),
    Scenario("s21_rolling_restarts", "rolling restarts of all brokers under load", repeat=21, sample=0),
    Scenario("s22_quotas", "quotas of bytes written, bytes read and requests", sample=0),
    Scenario("s23_frozen_bootstrap", "frozen and unreachable bootstrap servers", sample=0),
    Scenario("s24_frozen_brokers", "each broker frozen during statements of each kind", repeat=63, sample=0),
)
