"""Add partitions (3 to 12) to source and sink of a running query, and a new topic that matches its pattern."""

from __future__ import annotations

import contextlib
import re

from confluent_kafka import Consumer, TopicPartition

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import KEYS, PARTITIONS, PipelineRun, running
from tests.waiting import wait_until

_FINAL_PARTITIONS = 12
_SINK_OPTIONS = {"properties.metadata.max.age.ms": "500"}  # milliseconds until writers see new partitions
_ROWS_PER_ATTEMPT = 50  # rows per attempt until the new partitions of the sink have some


def scenario(config: ScenarioConfig) -> Outcome:
    """In half of the cases, also kill the driver while it discovers them."""
    outcome, rng = Outcome(), config.rng()
    with EmbeddedKafka() as kafka:
        for i in range(config.repeat):
            with running(kafka.bootstrap_servers, config, sink_options=_SINK_OPTIONS) as run:
                source = run.query.source
                pattern = {"topic-pattern": re.escape(source) + ".*", **run.query.source_options}
                run.start(source_options=pattern)
                run.send(config.rows_per_fault // 4)
                run.wait_until_caught_up()
                run.send(config.rows_per_fault // 4)
                run.add_partitions(source, _FINAL_PARTITIONS)
                _add_routes(run, [(source, p) for p in range(PARTITIONS, _FINAL_PARTITIONS)])
                run.send(config.rows_per_fault // 4)
                if rng.random() < 0.5:
                    run.kill()
                    run.start(source_options=pattern)
                run.wait_until_caught_up()
                run.create_topic(f"{source}-2", 2)
                _add_routes(run, [(f"{source}-2", p) for p in range(2)])
                run.send(config.rows_per_fault // 4)
                run.wait_until_caught_up()
                _check_new_sink_partitions(run)
                outcome += run.finish(1)
                config.log(f"{i + 1} {PARTITIONS} to {_FINAL_PARTITIONS} partitions, and another topic")
    return outcome


def _check_new_sink_partitions(run: PipelineRun) -> None:
    """Check that keys are written to new partitions of the sink without a restart."""
    run.add_partitions(run.query.target, _FINAL_PARTITIONS)
    with contextlib.closing(Consumer({"bootstrap.servers": run.bootstrap, "group.id": "ends"})) as consumer:

        def written() -> bool:
            run.send(_ROWS_PER_ATTEMPT)
            run.wait_until_caught_up()
            partitions = [TopicPartition(run.query.target, p) for p in range(PARTITIONS, _FINAL_PARTITIONS)]
            return any(consumer.get_watermark_offsets(partition, 30)[1] for partition in partitions)

        wait_until(written, "rows in the sink's new partitions")


def _add_routes(run: PipelineRun, partitions: list[tuple[str, int]]) -> None:
    """Use new keys for new partitions, because a moved key has no order."""
    run.routes += [partitions[k % len(partitions)] for k in range(KEYS)]
