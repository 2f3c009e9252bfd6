"""The protocol of exactly-once, state by state: the sink's own tasks and drivers on a real broker, without Spark."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import closing

import numpy as np
import pyarrow as pa
import pytest

from kafka_sql.errors import WriterFencedError
from kafka_sql.kafka.librdkafka.transaction import open_transaction
from kafka_sql.sink.exactly_once import transactional_ids
from kafka_sql.sink.exactly_once.committer import Committer, abort_failed_job
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


@pytest.mark.parametrize("tasks", [1, 3, 4])
def test_a_decided_batch_is_completed_and_not_written_again_however_it_is_cut(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch, tasks: int
) -> None:
    first = sink.driver()
    first.run_batch(tasks=3)
    crash_after_decision(monkeypatch, first, 3)
    assert sink.numbers(ROWS) == rows(1)
    sink.driver().run_batch(tasks=tasks)
    assert sink.numbers(2 * ROWS) == rows(2)
    assert sink.open() == []


def test_a_replay_with_other_rows_is_told(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    crash_after_decision(monkeypatch, sink.driver(), 2)
    (sink.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS + 5}))
    with caplog.at_level(logging.WARNING, "kafka_sql"):
        sink.driver().run_batch(tasks=3)
    assert f"batch 0 was written with {ROWS} rows before a crash. The replay has {ROWS + 5} rows" in caplog.text
    assert sink.numbers(ROWS) == rows(1)


@pytest.mark.parametrize("tasks", [1, 3, 4])
def test_a_batch_that_was_committed_in_part_is_completed(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch, tasks: int
) -> None:
    crash_in_commit(monkeypatch, commit_first_only, lambda: sink.driver().run_batch(tasks=3))
    sink.driver().run_batch(tasks=tasks)
    assert sink.numbers(ROWS) == rows(1)
    assert sink.open() == []


@pytest.mark.parametrize("tasks", [1, 3, 4])
def test_what_was_not_decided_is_aborted_and_written_again(sink: WriterHarness, tasks: int) -> None:
    def die(point: str) -> None:
        if point == "prepared":
            raise DriverDied

    with pytest.raises(DriverDied):
        sink.driver().run_batch(die, tasks=3)
    assert len(sink.open()) == 3
    sink.driver().run_batch(tasks=tasks)
    assert sink.numbers(ROWS) == rows(1)
    assert sink.open() == []


def test_attempts_that_lost_leave_nothing(sink: WriterHarness) -> None:
    driver = sink.driver()
    driver.run_batch(tasks=2)
    number = driver.last_batch("done") + 1
    (sink.folder / "planned" / str(number)).write_text(json.dumps({"start": ROWS, "end": 2 * ROWS}))
    driver.prepare_batch(number, 2)  # a stage that was lost, or the slower half of a speculation
    driver.run_batch(tasks=2)
    assert sink.numbers(2 * ROWS) == rows(2)
    assert sink.open() == []


def test_a_zombie_that_wakes_up_before_it_decided(sink: WriterHarness) -> None:
    zombie = sink.driver()
    zombie.run_batch(tasks=2)
    (sink.folder / "planned" / "1").write_text(json.dumps({"start": ROWS, "end": 2 * ROWS}))
    prepared = zombie.prepare_batch(1, 2)
    living = sink.driver()
    living.run_batch(tasks=3)
    with pytest.raises(
        WriterFencedError, match=r"another writer has taken over .* = 'p-.*': query .* into 'numbers' on"
    ):
        zombie.committer.commit(1, prepared)
    living.run_batch(tasks=2)  # the zombie has not thrown it out
    assert sink.numbers(3 * ROWS) == rows(3)
    assert sink.open() == []


def test_a_zombie_does_not_abort_what_the_living_has_decided(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks for what others left open before it finds that it is fenced."""
    zombie, living = sink.driver(), sink.driver()
    zombie.run_batch(tasks=2)
    (sink.folder / "planned" / "1").write_text(json.dumps({"start": ROWS, "end": 2 * ROWS}))
    prepared = zombie.prepare_batch(1, 2)
    crash_in_commit(monkeypatch, commit_first_only, lambda: living.run_batch(tasks=3))
    with pytest.raises(WriterFencedError, match="another writer has taken over"):
        zombie.committer.commit(1, prepared)
    sink.driver().run_batch(tasks=2)
    assert sink.numbers(2 * ROWS) == rows(2)
    assert sink.open() == []


def test_a_run_that_was_swept_before_it_decided_is_superseded(sink: WriterHarness) -> None:
    """Else it might decide between the look at its transactions and their end."""
    early, later = sink.driver(), sink.driver()
    (sink.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS}))
    prepared = early.prepare_batch(0, 2)
    later.run_batch(tasks=2)
    assert sink.open() == []
    with pytest.raises(WriterFencedError, match="another writer has taken over"):
        early.committer.commit(0, prepared)
    assert sink.numbers(ROWS) == rows(1)


def test_a_zombie_in_a_new_process_does_not_throw_the_living_out(sink: WriterHarness) -> None:
    zombie = sink.driver()
    zombie.run_batch(tasks=2)
    living = sink.driver()
    living.run_batch(tasks=2)
    again = Committer(zombie.sink.client, zombie.committer.writer)  # Spark gives it a new process for its commits
    sink.used.append(again)
    (sink.folder / "planned" / "2").write_text(json.dumps({"start": 2 * ROWS, "end": 3 * ROWS}))
    with pytest.raises(WriterFencedError, match="another writer has taken over"):
        again.commit(2, zombie.prepare_batch(2, 2))
    before = living.committer._owner
    living.run_batch(tasks=2)
    assert living.committer._owner is before  # it has not been fenced
    assert sink.numbers(3 * ROWS) == rows(3)


def test_a_zombie_that_never_decided_does_not_throw_the_living_out(sink: WriterHarness) -> None:
    zombie, living = sink.driver(), sink.driver()
    for _ in range(2):
        living.run_batch(tasks=2)
    (sink.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS}))
    prepared = zombie.prepare_batch(0, 2)
    with pytest.raises(
        WriterFencedError, match=r"cannot write batch 0, because batch 1 of query .* was already written"
    ):
        zombie.committer.commit(0, prepared)
    living.run_batch(tasks=2)
    assert sink.numbers(3 * ROWS) == rows(3)


def test_a_zombies_failed_job_touches_its_own_transactions_only(sink: WriterHarness) -> None:
    zombie, living = sink.driver(), sink.driver()
    (sink.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS}))
    old, new = zombie.prepare_batch(0, 2), living.prepare_batch(0, 3)
    abort_failed_job(zombie.sink.client, [*old, None])
    assert sorted(sink.open()) == sorted(str(m.transaction) for m in new)
    living.committer.commit(0, new)
    assert sink.numbers(ROWS) == rows(1)


def test_a_job_whose_tasks_are_all_done_is_not_aborted(sink: WriterHarness) -> None:
    driver = sink.driver()
    (sink.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS}))
    prepared = driver.prepare_batch(0, 2)
    abort_failed_job(driver.sink.client, prepared)  # what Spark does when commit() has raised
    assert len(sink.open()) == 2


def test_an_outsider_that_fences_and_decides_nothing_does_not_end_a_query(sink: WriterHarness) -> None:
    driver = sink.driver()
    driver.run_batch(tasks=2)
    from kafka_sql.kafka.decision_log_writer import DecisionLogWriter
    from kafka_sql.sink.exactly_once.transactional_ids import driver_id

    with closing(DecisionLogWriter(sink.config, driver_id(sink.prefix))) as outsider:
        outsider.fence_older_writers()
    driver.run_batch(tasks=2)
    assert sink.numbers(2 * ROWS) == rows(2)


def test_a_second_query_under_a_prefix_ends_the_first_by_name(sink: WriterHarness, other: WriterHarness) -> None:
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


def test_a_prefix_within_another_one_is_not_its(sink: WriterHarness, other: WriterHarness) -> None:
    inner, other.prefix = other, f"{sink.prefix}-t-x"
    running = inner.driver()
    (inner.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS}))
    prepared = running.prepare_batch(0, 2)
    sink.driver().run_batch(tasks=2)
    running.committer.commit(0, prepared)
    assert inner.numbers(ROWS) == rows(1)


@pytest.mark.parametrize("decided", [True, False])
def test_a_query_restarted_under_another_prefix(
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


def test_an_attempt_that_goes_on_after_it_was_swept_is_refused(sink: WriterHarness) -> None:
    """A copy that lost, and does not know it yet."""
    driver = sink.driver()
    with pytest.raises(WriterFencedError, match="has taken over"):
        go_on_after(lambda: driver.run_batch(tasks=2), sink, driver)
    assert sink.numbers(ROWS) == rows(1)
    assert sink.open() == []


def test_a_task_that_another_query_of_the_prefix_has_swept_is_not_half_written(
    sink: WriterHarness, other: WriterHarness
) -> None:
    """A first batch that takes long, and a second query that writes its own under the same prefix meanwhile."""
    with pytest.raises(WriterFencedError, match="a second query with the same 'sink"):
        go_on_after(lambda: other.driver().run_batch(tasks=2), sink, sink.driver())
    assert sink.numbers(0) == []
    assert other.numbers(ROWS) == rows(1)


def go_on_after(sweep: Callable[[], object], sink: WriterHarness, driver: SimulatedQuery) -> None:
    """A task that is swept between its rows, and goes on with a partition that it has not written to before: there a
    broker would begin another transaction under the same id and epoch.
    """
    config = {**sink.config, "transaction.timeout.ms": "60000"}
    name = transactional_ids.incrementing_id(sink.prefix, driver.run, 0, 0, 99)
    with open_transaction(config, name, sink.topic) as producer:
        for partition in range(2):
            producer.produce(pa.array([b'{"a": -1}']), partitions=np.array([partition], np.int32))
            producer.flush()
            if partition == 0:
                assert sink.open() == [name]
                sweep()
                assert sink.open() == []
