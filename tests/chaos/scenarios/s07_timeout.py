"""Let transactions time out before the recovery: it must fail with an error, or write exactly the missing rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.batch_codecs import topic_codecs
from tests.chaos.client_record import recorded_clients, used_clients
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.integration.sink.exactly_once import test_timeouts as timeouts
from tests.topics import Topics
from tests.transaction_writers import WriterHarness

# each test checks the written rows and the error
CASES: tuple[Callable[[WriterHarness, pytest.MonkeyPatch], None], ...] = (
    lambda sink, _: timeouts.test_a_transaction_that_timed_out_before_the_decision(sink),
    timeouts.test_a_decided_batch_that_timed_out_completely_is_written_again,
    timeouts.test_a_partial_timeout_after_the_decision_stops_the_query_and_is_completed,
    timeouts.test_missing_rows_that_a_replay_cannot_identify_stop_the_query_until_accepted,
    timeouts.test_an_unknown_outcome_stops_the_query,
)
FAST_ABORT = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 200}


def scenario(config: ScenarioConfig) -> Outcome:
    """Let transactions time out before and after the decision; recover with the same tasks and with different ones."""
    with EmbeddedKafka(properties=FAST_ABORT) as kafka:
        topics = Topics(kafka.bootstrap_servers)
        options = {"sink.client": config.client, "properties.compression.type": config.codec}
        for i in range(config.repeat):
            sink = WriterHarness(topics, config.folder / str(i), size=config.rows_per_fault, options=options)
            try:
                with pytest.MonkeyPatch.context() as patched, recorded_clients(config.folder):
                    CASES[i % len(CASES)](sink, patched)
            finally:
                sink.close()
            assert topic_codecs(topics.bootstrap, sink.topic) == {config.codec}
            config.log(f"{i + 1} timed out")
    assert used_clients(config.folder) == {f"write {config.client}"}
    return Outcome(config.repeat, config.repeat * config.rows_per_fault)
