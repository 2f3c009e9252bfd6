"""Read from the replica in the same rack (KIP-392) while that replica or a leader fails."""

from __future__ import annotations

import time

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.clusters import FREEZE_SECONDS, leader_of, wait_for_replicas
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import running

_RACK = "b"


def scenario(config: ScenarioConfig) -> Outcome:
    """Kill, stop (controlled shutdown) or freeze a leader and the nearest replica in turn."""
    rng = config.rng()
    options = {"properties.client.rack": _RACK, "scan.max-offsets-per-trigger": "1000"}
    with EmbeddedKafka(3) as kafka, running(kafka.bootstrap_servers, config, source_options=options) as run:
        run.start()
        run.send(config.rows_per_fault)
        run.wait_until_caught_up()
        for i in range(config.repeat):
            run.send(config.rows_per_fault)
            time.sleep(rng.uniform(0, 1))  # at a random point of a batch
            nearest_replica = next(node for node in kafka.nodes if node.rack == _RACK)
            node = nearest_replica if i % 2 else leader_of(kafka, run.query.source, i % 3)
            action = ("killed", "stopped", "frozen")[i % 3]
            if action == "frozen":
                node.pause()
                time.sleep(FREEZE_SECONDS)
                node.resume()
            else:
                (node.kill if action == "killed" else node.stop)()
                run.wait_until_caught_up()
                node.restart()
            run.wait_until_caught_up()
            wait_for_replicas(kafka)
            config.log(f"{i + 1} {action}: {node.id}{', the nearest replica' if node is nearest_replica else ''}")
        return run.finish(config.repeat)
