"""A query reads from the replica of its rack, and leaders change: the near replica, then the leader dies."""

from __future__ import annotations

import time

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.clusters import leader_of, wait_for_replicas
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import running

_RACK = "b"


def scenario(asked: ScenarioConfig) -> Outcome:
    """Killed, stopped in good order (its partitions move first) and frozen."""
    chance = asked.rng()
    near = {"properties.client.rack": _RACK, "scan.max-offsets-per-trigger": "1000"}
    with EmbeddedKafka(3) as kafka, running(kafka.bootstrap_servers, asked.folder, reading=near) as run:
        run.start()
        run.send(asked.rows_per_fault)
        run.wait_until_caught_up()
        for i in range(asked.repeat):
            run.send(asked.rows_per_fault)
            time.sleep(chance.uniform(0, 1))  # into a batch, at any place of it
            mine = next(node for node in kafka.nodes if node.rack == _RACK)
            node = mine if i % 2 else leader_of(kafka, run.query.source, i % 3)
            how = ("killed", "stopped", "frozen")[i % 3]
            if how == "frozen":
                node.pause()
                time.sleep(4)
                node.resume()
            else:
                (node.kill if how == "killed" else node.stop)()
                run.wait_until_caught_up()
                node.restart()
            run.wait_until_caught_up()
            wait_for_replicas(kafka)
            asked.log(f"{i + 1} {how}: {node.id}{', the near one' if node is mine else ''}")
        return run.finish(asked.repeat)
