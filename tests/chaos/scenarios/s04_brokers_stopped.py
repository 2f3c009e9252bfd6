"""Stop the brokers one by one until none is left, and restart them: 3, 2, 1, 0, 3."""

from __future__ import annotations

import time

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.clusters import start_all
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import running

# longer than a slow machine takes to start three brokers; the defaults are 30 s and 2 minutes
_TIMEOUTS = {"properties.default.api.timeout.ms": "240000", "properties.delivery.timeout.ms": "240000"}


def scenario(config: ScenarioConfig) -> Outcome:
    """The driver keeps running: with two brokers it continues, with fewer it waits."""
    rng = config.rng()
    with (
        EmbeddedKafka(3) as kafka,
        running(kafka.bootstrap_servers, config, source_options=_TIMEOUTS, sink_options=_TIMEOUTS) as run,
    ):
        run.start()
        for i in range(config.repeat):
            run.send(config.rows_per_fault // 2)
            run.wait_until_caught_up()
            order = rng.sample(kafka.nodes, 3)
            order[0].kill()
            run.send(config.rows_per_fault // 4)
            run.wait_until_caught_up()  # two brokers are enough
            run.send(config.rows_per_fault - config.rows_per_fault // 2 - config.rows_per_fault // 4)
            for node in order[1:]:
                time.sleep(rng.uniform(0, 1))
                (node.kill if rng.random() < 0.5 else node.stop)()
            time.sleep(rng.uniform(0, 3))
            start_all(kafka)
            run.wait_until_caught_up()
            config.log(f"{i + 1} brokers stopped and restarted")
        return run.finish(config.repeat)
