"""Kill or freeze leaders of partitions and transaction coordinators in a cluster of three brokers."""

from __future__ import annotations

import time

from kafka_sql.embedded import EmbeddedKafka, Node
from kafka_sql.kafka.decision_log import LOG_TOPIC
from kafka_sql.sink.exactly_once.transactional_ids import driver_id
from tests.chaos.clusters import FREEZE_SECONDS, coordinator_of, leader_of, wait_for_replicas
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import PipelineRun, running


def scenario(config: ScenarioConfig) -> Outcome:
    """Kill or freeze the node that has each role in turn."""
    rng = config.rng()
    with EmbeddedKafka(3) as kafka, running(kafka.bootstrap_servers, config) as run:
        run.start()
        run.send(config.rows_per_fault)
        run.wait_until_caught_up()
        for i in range(config.repeat):
            run.send(config.rows_per_fault)
            time.sleep(rng.uniform(0, 1))  # at a random point of a batch
            role = _ROLES[i % len(_ROLES)]
            node = _node_with_role(kafka, run, role)
            if i % 4 == 3:
                config.log(f"{i + 1} frozen: {node.id}, {role}")
                node.pause()
                time.sleep(FREEZE_SECONDS)
                run.send(config.rows_per_fault // 10)
                node.resume()
            else:
                config.log(f"{i + 1} killed: {node.id}, {role}")
                node.kill()
                run.send(config.rows_per_fault // 10)
                run.wait_until_caught_up()
                node.restart()
            run.wait_until_caught_up()
            wait_for_replicas(kafka)
        return run.finish(config.repeat)


_ROLES = ("the target's leader", "the driver's coordinator", "a task's coordinator", "the log's leader", "the source's")


def _node_with_role(kafka: EmbeddedKafka, run: PipelineRun, role: str) -> Node:
    if role == "the driver's coordinator":
        return coordinator_of(kafka, driver_id(run.query.prefix))
    if role == "a task's coordinator":
        for _ in range(100):
            for transaction in run.open_transactions():
                return coordinator_of(kafka, transaction)
    if role == "the log's leader":
        return leader_of(kafka, LOG_TOPIC)
    return leader_of(kafka, run.query.source if role == "the source's" else run.query.target)
