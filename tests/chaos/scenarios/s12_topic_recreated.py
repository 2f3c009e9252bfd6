"""Delete or recreate the source while it is read: the query must fail and write none of the new records."""

from __future__ import annotations

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import PARTITIONS, PipelineRun, running
from tests.integration.source.stream import test_micro_batch as ranges
from tests.topics import Topics
from tests.waiting import wait_until


def scenario(config: ScenarioConfig) -> Outcome:
    """Delete the topic, and recreate it with fewer or more records than were read."""
    outcome = Outcome()
    with EmbeddedKafka() as kafka:
        for i in range(config.repeat):
            with running(kafka.bootstrap_servers, config) as run:
                run.start()
                run.send(config.rows_per_fault)
                run.wait_until_caught_up()
                delete_source(run)
                if i % 3:
                    run.create_topic(run.query.source, PARTITIONS)
                    for partition in range(PARTITIONS):  # none of them may be copied
                        records = [b'{"a": -1, "k": -1}'] * (1 if i % 3 == 1 else config.rows_per_fault)
                        Topics(run.bootstrap).produce(run.query.source, *records, partition=partition)
                error = run.wait_for_failure()
                assert run.query.source in error, error
                assert "does not exist" in error or "The topic was deleted or recreated" in error, error
                run.assert_start_fails("The topic was deleted or recreated" if i % 3 else "does not exist")
                outcome += run.evaluate(1)
                config.log(f"{i + 1} {('deleted', 'recreated', 'recreated, with more records')[i % 3]}")
        topics = Topics(kafka.bootstrap_servers)
        ranges.test_recreated_topics_fail_or_are_read_from_the_earliest_offset(topics)
        ranges.test_recreated_topics_are_detected_by_their_id(topics)
    return outcome


def delete_source(run: PipelineRun) -> None:
    """Delete the source, and wait until the brokers have applied it."""
    topic = run.query.source
    run.admin.delete_topics([topic])[topic].result(60)
    wait_until(lambda: topic not in run.admin.list_topics(timeout=30).topics, f"deletion of {topic}")
