"""Partitions are added while a query runs, 3 to 12, to its source and its sink, and then a new topic of its pattern."""

from __future__ import annotations

import contextlib
import re

from confluent_kafka import Consumer, TopicPartition

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.clusters import wait_until
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import KEYS, PARTITIONS, PipelineRun, running

_MORE = 12
_WRITING = {"properties.metadata.max.age.ms": "500"}  # writers learn of partitions by then
_LITTLE = 50  # rows that are sent until the new partitions of the sink have some


def scenario(asked: ScenarioConfig) -> Outcome:
    """Also beneath a driver that is killed while it finds them."""
    outcome, chance = Outcome(), asked.rng()
    with EmbeddedKafka() as kafka:
        for i in range(asked.repeat):
            with running(kafka.bootstrap_servers, asked.folder, writing=_WRITING) as run:
                source = run.query.source
                pattern = {"topic-pattern": re.escape(source) + ".*", **run.query.reading}
                run.start(reading=pattern)
                run.send(asked.rows_per_fault // 4)
                run.wait_until_caught_up()
                run.send(asked.rows_per_fault // 4)
                run.add_partitions(source, _MORE)
                _route(run, [(source, p) for p in range(PARTITIONS, _MORE)])
                run.send(asked.rows_per_fault // 4)
                if chance.random() < 0.5:
                    run.kill()
                    run.start(reading=pattern)
                run.wait_until_caught_up()
                run.create_topic(f"{source}-2", 2)
                _route(run, [(f"{source}-2", p) for p in range(2)])
                run.send(asked.rows_per_fault // 4)
                run.wait_until_caught_up()
                _widen_target(run)
                outcome += run.finish(1)
                asked.log(f"{i + 1} {PARTITIONS} to {_MORE} partitions, and another topic")
    return outcome


def _widen_target(run: PipelineRun) -> None:
    """Keys go to other partitions as soon as the writers know of them, without a restart."""
    run.add_partitions(run.query.target, _MORE)
    with contextlib.closing(Consumer({"bootstrap.servers": run.bootstrap, "group.id": "ends"})) as consumer:

        def written() -> bool:
            run.send(_LITTLE)
            run.wait_until_caught_up()
            places = [TopicPartition(run.query.target, p) for p in range(PARTITIONS, _MORE)]
            return any(consumer.get_watermark_offsets(place, 30)[1] for place in places)

        wait_until(written, "rows in the sink's new partitions")


def _route(run: PipelineRun, places: list[tuple[str, int]]) -> None:
    """Keys of their own for new partitions: a key that moved would have no order."""
    run.routes += [places[k % len(places)] for k in range(KEYS)]
