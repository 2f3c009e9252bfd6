"""Brokers go one by one until there is none, and come back: 3, 2, 1, 0, 3."""

from __future__ import annotations

import time

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.clusters import start_all
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import running

# longer than a slow machine takes to start three brokers: half a minute and two minutes are the defaults
_PATIENT = {"properties.default.api.timeout.ms": "240000", "properties.delivery.timeout.ms": "240000"}


def scenario(asked: ScenarioConfig) -> Outcome:
    """The driver lives through all of it: with two brokers it goes on, with fewer it waits."""
    chance = asked.rng()
    with (
        EmbeddedKafka(3) as kafka,
        running(kafka.bootstrap_servers, asked.folder, reading=_PATIENT, writing=_PATIENT) as run,
    ):
        run.start()
        for i in range(asked.repeat):
            run.send(asked.rows_per_fault // 2)
            run.wait_until_caught_up()
            order = chance.sample(kafka.nodes, 3)
            order[0].kill()
            run.send(asked.rows_per_fault // 4)
            run.wait_until_caught_up()  # two brokers are enough
            run.send(asked.rows_per_fault - asked.rows_per_fault // 2 - asked.rows_per_fault // 4)
            for node in order[1:]:
                time.sleep(chance.uniform(0, 1))
                (node.kill if chance.random() < 0.5 else node.stop)()
            time.sleep(chance.uniform(0, 3))
            start_all(kafka)
            run.wait_until_caught_up()
            asked.log(f"{i + 1} down to none and up again")
        return run.finish(asked.repeat)
