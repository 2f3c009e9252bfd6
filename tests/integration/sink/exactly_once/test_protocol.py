"""The exactly-once protocol, state by state: the sink's tasks and drivers with a real broker, without Spark."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.errors import WriterFencedError
from kafka_sql.kafka.decision_log_writer import DecisionLogWriter
from kafka_sql.kafka.librdkafka.producer_clients import open_transaction
from kafka_sql.sink.exactly_once import transactional_ids
from kafka_sql.sink.exactly_once.committer import Committer
from kafka_sql.sink.exactly_once.driver import abort
from tests.kills.simulated_query import ROWS, SimulatedQuery
from tests.transaction_writers import (
    DriverDied,
    WriterHarness,
    commit_first_only,
    crash_after_decision,
    crash_in_commit,
    rows,
)

pytestmark = pytest.mark.integration


@pytest.mark.sample(1)
@pytest.mark.parametrize("tasks", [1, 3, 4])
def test_a_decided_batch_is_completed_but_not_rewritten_with_any_number_of_tasks(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch, tasks: int
) -> None:
    first = sink.driver()
    first.run_batch(tasks=3)
    crash_after_decision(monkeypatch, first, 3)
    assert sink.numbers(ROWS) == rows(1)
    sink.driver().run_batch(tasks=tasks)
    assert sink.numbers(2 * ROWS) == rows(2)
    assert sink.open() == []


def test_a_replay_with_other_rows_is_logged(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    crash_after_decision(monkeypatch, sink.driver(), 2)
    (sink.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS + 5}))
    with caplog.at_level(logging.WARNING, "kafka_sql"):
        sink.driver().run_batch(tasks=3)
    assert f"batch 0 was written with {ROWS} rows before a crash. The replay has {ROWS + 5} rows" in caplog.text
    assert sink.numbers(ROWS) == rows(1)


@pytest.mark.sample(1)
@pytest.mark.parametrize("tasks", [1, 3, 4])
def test_a_partially_committed_batch_is_completed(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch, tasks: int
) -> None:
    crash_in_commit(monkeypatch, commit_first_only, lambda: sink.driver().run_batch(tasks=3))
    sink.driver().run_batch(tasks=tasks)
    assert sink.numbers(ROWS) == rows(1)
    assert sink.open() == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("tasks", [1, 3, 4])
def test_an_undecided_batch_is_aborted_and_rewritten(sink: WriterHarness, tasks: int) -> None:
    def die(point: str) -> None:
        if point == "prepared":
            raise DriverDied

    with pytest.raises(DriverDied):
        sink.driver().run_batch(die, tasks=3)
    assert len(sink.open()) == 3
    sink.driver().run_batch(tasks=tasks)
    assert sink.numbers(ROWS) == rows(1)
    assert sink.open() == []


def test_lost_attempts_leave_no_transactions(sink: WriterHarness) -> None:
    driver = sink.driver()
    driver.run_batch(tasks=2)
    number = driver.last_batch("done") + 1
    (sink.folder / "planned" / str(number)).write_text(json.dumps({"start": ROWS, "end": 2 * ROWS}))
    driver.prepare_batch(number, 2)  # a lost stage, or a speculative task that lost
    driver.run_batch(tasks=2)
    assert sink.numbers(2 * ROWS) == rows(2)
    assert sink.open() == []


def test_a_zombie_that_resumes_before_its_decision(sink: WriterHarness) -> None:
    zombie = sink.driver()
    zombie.run_batch(tasks=2)
    (sink.folder / "planned" / "1").write_text(json.dumps({"start": ROWS, "end": 2 * ROWS}))
    prepared = zombie.prepare_batch(1, 2)
    active = sink.driver()
    active.run_batch(tasks=3)
    with pytest.raises(
        WriterFencedError, match=r"another writer has taken over .* = 'p-.*': query .* into 'numbers' on"
    ):
        zombie.committer.commit(1, prepared)
    active.run_batch(tasks=2)  # the zombie has not fenced it
    assert sink.numbers(3 * ROWS) == rows(3)
    assert sink.open() == []


def test_a_zombie_does_not_abort_decided_transactions_of_the_active_driver(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The zombie searches for lingering transactions before it notices that it was fenced."""
    zombie, active = sink.driver(), sink.driver()
    zombie.run_batch(tasks=2)
    (sink.folder / "planned" / "1").write_text(json.dumps({"start": ROWS, "end": 2 * ROWS}))
    prepared = zombie.prepare_batch(1, 2)
    crash_in_commit(monkeypatch, commit_first_only, lambda: active.run_batch(tasks=3))
    with pytest.raises(WriterFencedError, match="another writer has taken over"):
        zombie.committer.commit(1, prepared)
    sink.driver().run_batch(tasks=2)
    assert sink.numbers(2 * ROWS) == rows(2)
    assert sink.open() == []


def test_a_run_whose_transactions_were_aborted_is_superseded(sink: WriterHarness) -> None:
    """Otherwise it could decide after its transactions were listed, but before they are aborted."""
    early, later = sink.driver(), sink.driver()
    (sink.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS}))
    prepared = early.prepare_batch(0, 2)
    later.run_batch(tasks=2)
    assert sink.open() == []
    with pytest.raises(WriterFencedError, match="another writer has taken over"):
        early.committer.commit(0, prepared)
    assert sink.numbers(ROWS) == rows(1)


def test_a_zombie_in_a_new_process_does_not_fence_the_active_driver(sink: WriterHarness) -> None:
    zombie = sink.driver()
    zombie.run_batch(tasks=2)
    active = sink.driver()
    active.run_batch(tasks=2)
    # Spark starts a new process for its commits
    committer = Committer(zombie.sink.client_config, zombie.committer.writer)
    sink.opened.append(committer)
    (sink.folder / "planned" / "2").write_text(json.dumps({"start": 2 * ROWS, "end": 3 * ROWS}))
    with pytest.raises(WriterFencedError, match="another writer has taken over"):
        committer.commit(2, zombie.prepare_batch(2, 2))
    before = active.committer._owner
    active.run_batch(tasks=2)
    assert active.committer._owner is before  # it was not fenced
    assert sink.numbers(3 * ROWS) == rows(3)


def test_a_zombie_without_decisions_does_not_fence_the_active_driver(sink: WriterHarness) -> None:
    zombie, active = sink.driver(), sink.driver()
    for _ in range(2):
        active.run_batch(tasks=2)
    (sink.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS}))
    prepared = zombie.prepare_batch(0, 2)
    with pytest.raises(
        WriterFencedError, match=r"cannot write batch 0, because batch 1 of query .* was already written"
    ):
        zombie.committer.commit(0, prepared)
    active.run_batch(tasks=2)
    assert sink.numbers(3 * ROWS) == rows(3)


def test_a_failed_job_of_a_zombie_aborts_only_its_transactions(sink: WriterHarness) -> None:
    zombie, active = sink.driver(), sink.driver()
    (sink.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS}))
    old, new = zombie.prepare_batch(0, 2), active.prepare_batch(0, 3)
    abort(zombie.sink, [*old, None])
    assert sorted(sink.open()) == sorted(str(m.transaction) for m in new)
    active.committer.commit(0, new)
    assert sink.numbers(ROWS) == rows(1)


def test_a_job_whose_tasks_all_succeeded_is_not_aborted(sink: WriterHarness) -> None:
    driver = sink.driver()
    (sink.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS}))
    prepared = driver.prepare_batch(0, 2)
    abort(driver.sink, prepared)  # Spark does this after commit() raised an error
    assert len(sink.open()) == 2


def test_fencing_without_a_claim_does_not_stop_a_query(sink: WriterHarness) -> None:
    driver = sink.driver()
    driver.run_batch(tasks=2)
    with closing(DecisionLogWriter(sink.config, transactional_ids.driver_id(sink.prefix))) as outsider:
        outsider.fence_older_writers()
    driver.run_batch(tasks=2)
    assert sink.numbers(2 * ROWS) == rows(2)


def test_a_second_query_with_the_same_prefix_stops_the_first(sink: WriterHarness, other: WriterHarness) -> None:
    first, second = sink.driver(), other.driver()
    first.run_batch(tasks=2)
    second.run_batch(tasks=2)
    with pytest.raises(WriterFencedError, match=rf"taken over 'sink.transactional-id-prefix' = '{sink.prefix}': query"):
        first.run_batch(tasks=2)
    second.run_batch(tasks=2)
    assert other.numbers(2 * ROWS) == rows(2)
    assert sink.numbers(ROWS) == rows(1)
    sink.driver("another").run_batch(tasks=2)
    assert sink.numbers(2 * ROWS) == rows(2)


def test_a_prefix_that_starts_with_another_prefix_is_separate(sink: WriterHarness, other: WriterHarness) -> None:
    other.prefix = f"{sink.prefix}-t-x"
    running = other.driver()
    (other.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS}))
    prepared = running.prepare_batch(0, 2)
    sink.driver().run_batch(tasks=2)
    running.committer.commit(0, prepared)
    assert other.numbers(ROWS) == rows(1)


@pytest.mark.sample(1)
@pytest.mark.parametrize("decided", [True, False])
def test_a_query_restarted_with_another_prefix(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch, decided: bool
) -> None:
    old = sink.driver()
    old.run_batch(tasks=2)
    if decided:
        crash_after_decision(monkeypatch, old, 2)
    else:
        (sink.folder / "planned" / "1").write_text(json.dumps({"start": ROWS, "end": 2 * ROWS}))
    late = [] if decided else old.prepare_batch(1, 2)
    new = sink.driver(f"{sink.prefix}-new")
    new.run_batch(tasks=3)
    new.run_batch(tasks=3)
    assert sink.numbers(3 * ROWS) == rows(3)
    assert sink.open() == []
    if not decided:
        with pytest.raises(WriterFencedError):
            old.committer.commit(1, late)
    new.run_batch(tasks=1)
    assert sink.numbers(4 * ROWS) == rows(4)


def test_an_attempt_that_continues_after_it_was_aborted_is_fenced(sink: WriterHarness) -> None:
    """A speculative task that lost, but still runs."""
    driver = sink.driver()
    with pytest.raises(WriterFencedError, match="has taken over"):
        continue_after(lambda: driver.run_batch(tasks=2), sink, driver)
    assert sink.numbers(ROWS) == rows(1)
    assert sink.open() == []


def test_a_task_that_another_query_aborted_is_not_partially_written(sink: WriterHarness, other: WriterHarness) -> None:
    """A second query with the same prefix writes while the first batch of the first query is running."""
    with pytest.raises(WriterFencedError, match="a second query with the same 'sink"):
        continue_after(lambda: other.driver().run_batch(tasks=2), sink, sink.driver())
    assert sink.numbers(0) == []
    assert other.numbers(ROWS) == rows(1)


def continue_after(abort: Callable[[], object], sink: WriterHarness, driver: SimulatedQuery) -> None:
    """Run a task whose transaction is aborted between its rows. It continues with a partition that it has not written
    before, where a broker would begin another transaction with the same id and epoch.
    """
    config = {**sink.config, "transaction.timeout.ms": "60000"}
    name = transactional_ids.incrementing_id(sink.prefix, driver.run, 0, 0, 99)
    with open_transaction(config, name, sink.topic) as producer:
        for partition in range(2):
            producer.produce(pa.array([b'{"a": -1}']), partitions=np.array([partition], np.int32))
            producer.flush()
            if partition == 0:
                assert sink.open() == [name]
                abort()
                assert sink.open() == []
