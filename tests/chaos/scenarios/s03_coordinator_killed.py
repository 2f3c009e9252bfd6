"""The leader of a partition dies, then the coordinator of a transaction: three brokers, killed or frozen."""

from __future__ import annotations

import time

from kafka_sql.embedded import EmbeddedKafka, Node
from kafka_sql.kafka.decision_log import LOG_TOPIC
from kafka_sql.sink.exactly_once.transactional_ids import driver_id
from tests.chaos.clusters import coordinator_of, leader_of, wait_for_replicas
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import PipelineRun, running

_FROZEN = 4.0  # seconds: longer than a broker's session


def scenario(asked: ScenarioConfig) -> Outcome:
    """The target's leader, the driver's coordinator, an open transaction's, the decisions' leader, the source's."""
    chance = asked.rng()
    with EmbeddedKafka(3) as kafka, running(kafka.bootstrap_servers, asked.folder) as run:
        run.start()
        run.send(asked.rows_per_fault)
        run.wait_until_caught_up()
        for i in range(asked.repeat):
            run.send(asked.rows_per_fault)
            time.sleep(chance.uniform(0, 1))  # into a batch, at any place of it
            whose = _AIMS[i % len(_AIMS)]
            node = _aim(kafka, run, whose)
            if i % 4 == 3:
                asked.log(f"{i + 1} frozen: {node.id}, {whose}")
                node.pause()
                time.sleep(_FROZEN)
                run.send(asked.rows_per_fault // 10)
                node.resume()
            else:
                asked.log(f"{i + 1} killed: {node.id}, {whose}")
                node.kill()
                run.send(asked.rows_per_fault // 10)
                run.wait_until_caught_up()
                node.restart()
            run.wait_until_caught_up()
            wait_for_replicas(kafka)
        return run.finish(asked.repeat)


_AIMS = ("the target's leader", "the driver's coordinator", "a task's coordinator", "the log's leader", "the source's")


def _aim(kafka: EmbeddedKafka, run: PipelineRun, whose: str) -> Node:
    if whose == "the driver's coordinator":
        return coordinator_of(kafka, driver_id(run.query.prefix))
    if whose == "a task's coordinator":
        for _ in range(100):
            for transaction in run.open_transactions():
                return coordinator_of(kafka, transaction)
    if whose == "the log's leader":
        return leader_of(kafka, LOG_TOPIC)
    return leader_of(kafka, run.query.source if whose == "the source's" else run.query.target)
