"""Read a source with aborted transactions, control records at its end, and gaps due to compaction."""

from __future__ import annotations

import uuid

from confluent_kafka import Producer

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.chaos.run import PipelineRun, running
from tests.integration.kafka import test_fetch
from tests.integration.source.stream import test_micro_batch
from tests.topics import Topics

_NEVER = 10**12  # first number of aborted records


def scenario(config: ScenarioConfig) -> Outcome:
    """Read committed records while transactions commit and abort. Bounded reads are covered by the called tests."""
    committed = {"properties.isolation.level": "read_committed"}
    rng = config.rng()
    with EmbeddedKafka(properties={"log.cleaner.backoff.ms": 200}) as kafka:
        with running(kafka.bootstrap_servers, config, source_options=committed) as run:
            run.start()
            for i in range(config.repeat):
                transaction(run, 100, commits=False)
                transaction(run, config.rows_per_fault, commits=True)
                for _ in range(rng.randint(0, 3)):
                    transaction(run, rng.randint(1, 50), commits=False)
                if i % 5 == 4:
                    run.kill()
                    run.start()
                run.wait_until_caught_up()
                config.log(f"{i + 1} aborted and committed")
            outcome = run.finish(config.repeat)
        topics = Topics(kafka.bootstrap_servers)
        test_fetch.test_ends_after_control_records_and_aborted_records(topics)
        test_fetch.test_ends_inside_a_gap_before_more_records(topics)
        test_fetch.test_an_open_transaction_limits_the_end(topics)
        if config.long:  # waits for the log cleaner
            test_fetch.test_ends_after_compacted_gaps(topics)
            test_micro_batch.test_compaction_is_not_data_loss(topics)
    return outcome


def transaction(run: PipelineRun, count: int, commits: bool) -> None:
    """Send numbers in one transaction: the next ones, or, if it aborts, numbers that must not appear."""
    producer = Producer(
        {
            "bootstrap.servers": run.bootstrap,
            "transactional.id": uuid.uuid4().hex,
            "linger.ms": 5,
            "compression.type": run.codec,
            "log_level": 0,
        }
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    for a in range(run.sent, run.sent + count) if commits else range(_NEVER, _NEVER + count):
        key = a % len(run.routes)
        topic, partition = run.routes[key]
        producer.produce(topic, run.encode(a, key), partition=partition)
        producer.poll(0)
    assert producer.flush(60) == 0
    if commits:
        producer.commit_transaction(60)
        run.count(count)
    else:
        producer.abort_transaction(60)
