"""Partitions are added while a query runs, 3 to 12, and then a new topic that its pattern matches."""

from __future__ import annotations

import re

from confluent_kafka.admin import NewPartitions

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.outcome import Asked, Outcome
from tests.chaos.run import KEYS, PARTITIONS, Run, running

_MORE = 12


def scenario(asked: Asked) -> Outcome:
    """Also beneath a driver that is killed while it finds them."""
    outcome, chance = Outcome(), asked.chance()
    with EmbeddedKafka() as kafka:
        for i in range(asked.repeat):
            with running(kafka.bootstrap_servers, asked.folder) as run:
                source = run.query.source
                pattern = {"topic-pattern": re.escape(source) + ".*", **run.query.reading}
                run.start(reading=pattern)
                run.send(asked.portion // 4)
                run.caught_up()
                run.send(asked.portion // 4)
                run.admin.create_partitions([NewPartitions(source, _MORE)])[source].result(60)
                _route(run, [(source, p) for p in range(PARTITIONS, _MORE)])
                run.send(asked.portion // 4)
                if chance.random() < 0.5:
                    run.kill()
                    run.start(reading=pattern)
                run.caught_up()
                run.make(f"{source}-2", 2)
                _route(run, [(f"{source}-2", p) for p in range(2)])
                run.send(asked.portion // 4)
                run.caught_up()
                outcome += run.finish(1)
                asked.log(f"{i + 1} {PARTITIONS} to {_MORE} partitions, and another topic")
    return outcome


def _route(run: Run, places: list[tuple[str, int]]) -> None:
    """Keys of their own for new partitions: a key that moved would have no order."""
    run.routes += [places[k % len(places)] for k in range(KEYS)]
