"""The transaction timeout passes before the recovery: it refuses loudly, or fills in what is missing and only that."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafka_sql.embedded import EmbeddedKafka
from tests.chaos.outcome import Outcome, ScenarioConfig
from tests.integration.sink.exactly_once import test_timeouts as timeouts
from tests.topics import Topics
from tests.transaction_writers import WriterHarness

# each of them knows what is to be written and what is to be said
CASES: tuple[Callable[[WriterHarness, pytest.MonkeyPatch], None], ...] = (
    lambda sink, _: timeouts.test_a_transaction_that_timed_out_before_the_decision(sink),
    timeouts.test_a_decided_batch_that_timed_out_as_a_whole_is_written_again,
    timeouts.test_what_timed_out_after_the_decision_stops_the_query_and_is_filled_in,
    timeouts.test_a_gap_that_a_replay_cannot_fill_stops_the_query_until_somebody_says,
    timeouts.test_a_doubt_without_a_witness_stops_the_query,
)
IMPATIENT = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 200}


def scenario(asked: ScenarioConfig) -> Outcome:
    """With the same tasks and with others, before the decision and after it."""
    with EmbeddedKafka(properties=IMPATIENT) as kafka:
        topics = Topics(kafka.bootstrap_servers)
        for i in range(asked.repeat):
            sink = WriterHarness(topics, asked.folder / str(i), size=asked.rows_per_fault)
            try:
                with pytest.MonkeyPatch.context() as patched:
                    CASES[i % len(CASES)](sink, patched)
            finally:
                sink.close()
            asked.log(f"{i + 1} timed out")
    return Outcome(asked.repeat, asked.repeat * asked.rows_per_fault)
