"""The protocol of exactly-once, state by state: the sink's own tasks and drivers on a real broker, without Spark."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.errors import (
    DecidedTransactionLostError,
    PreparedTransactionLostError,
    TransactionError,
    TransactionInDoubtError,
    WriterFencedError,
)
from kafka_sql.kafka.decision_log import read_log
from kafka_sql.kafka.properties import to_librdkafka
from kafka_sql.kafka.protocol.transactions import Transactions
from kafka_sql.sink.transactions import committer, settle
from kafka_sql.sink.transactions.committer import Committer, abort_attempt
from kafka_sql.sink.transactions.names import task_prefix
from kafka_sql.sink.transactions.ownership import Owned
from kafka_sql.sink.transactions.records import Prepared, Writer, decisions
from kafka_sql.sink.transactions.tools import abort_transactions, commit_transactions, list_transactions
from tests.kills.engine import ROWS, Engine, table
from tests.support import Topics

pytestmark = pytest.mark.integration
SHORT = 1000  # milliseconds: a transaction that the brokers abort soon


class Died(BaseException):
    """The driver is gone; nothing of it runs any more."""


@dataclasses.dataclass
class Sink:
    """A topic, a prefix and a checkpoint of their own, and drivers that write with them."""

    topics: Topics
    folder: Path
    topic: str = ""
    prefix: str = dataclasses.field(default_factory=lambda: f"p-{uuid.uuid4().hex[:6]}")
    used: list[Any] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self.topic = self.topics.create(3)

    def driver(self, prefix: str | None = None, timeout: int = 60_000, folder: Path | None = None) -> Engine:
        """A new life of the query."""
        sink = table(self.topics.bootstrap, self.topic, prefix or self.prefix)
        engine = Engine(sink, folder or self.folder, uuid.uuid4().hex, self.folder.name + self.topic, timeout)
        self.used.append(engine)
        return engine

    def close(self) -> None:
        """Close the connections of all drivers."""
        for one in self.used:
            one.close()

    def numbers(self, expected: int) -> list[int]:
        """What a reader of committed records sees."""
        found = self.topics.take(self.topic, expected, 3, **{"isolation.level": "read_committed"})
        return sorted(json.loads(m.value() or b"")["a"] for m in found)

    def open(self) -> list[str]:
        """Transactions that were left open."""
        client = Transactions(self.config)
        try:
            return client.ongoing(task_prefix(self.prefix))
        finally:
            client.close()

    @property
    def config(self) -> dict[str, str]:
        """A client's."""
        return to_librdkafka({"bootstrap.servers": self.topics.bootstrap})

    @property
    def properties(self) -> dict[str, str]:
        """A client's, as a user gives them."""
        return {"bootstrap.servers": self.topics.bootstrap}

    def await_timeout(self) -> None:
        """Return when the brokers have aborted all that was open."""
        deadline = time.monotonic() + 120
        while self.open():
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.fixture(scope="module")
def impatient() -> Iterator[Topics]:
    """A broker that looks for transactions that have timed out every 200 ms."""
    with EmbeddedKafka(
        properties={"transaction.abort.timed.out.transaction.cleanup.interval.ms": 200, "log.cleaner.backoff.ms": 200}
    ) as kafka:
        yield Topics(kafka.bootstrap_servers)


@pytest.fixture
def sink(impatient: Topics, tmp_path: Path) -> Iterator[Sink]:
    one = Sink(impatient, tmp_path)
    yield one
    one.close()


@pytest.fixture
def other(impatient: Topics, tmp_path: Path, sink: Sink) -> Iterator[Sink]:
    """Another query under the same prefix."""
    one = Sink(impatient, tmp_path / "other", prefix=sink.prefix)
    yield one
    one.close()


def rows(batches: int) -> list[int]:
    return list(range(batches * ROWS))


def dies_after_the_decision(monkeypatch: pytest.MonkeyPatch, engine: Engine, tasks: int) -> None:
    """The next batch is decided, and no transaction of it is ended."""
    crash(monkeypatch, dead, lambda: engine.batch(tasks=tasks))


def crash(monkeypatch: pytest.MonkeyPatch, how: Callable[..., Any], work: Callable[[], Any]) -> None:
    """Die where decided transactions are to be ended."""
    with monkeypatch.context() as patched:
        patched.setattr(committer, "commit_all", how)
        with pytest.raises(Died):
            work()


def hurried(sink: Sink, work: Callable[[Engine], Any]) -> None:
    """``work`` with transactions that time out as soon as can be, and yet not before they are decided."""
    for timeout in (SHORT, 4 * SHORT, 16 * SHORT):
        try:
            work(sink.driver(timeout=timeout))
            return
        except PreparedTransactionLostError:
            continue  # nothing of it is to be seen; a busy machine needs longer
    work(sink.driver(timeout=64 * SHORT))


def dead(*_: Any) -> Any:
    raise Died


def ends_first_only(client: Any, decided: Any) -> Any:
    settle.commit_all(client, decided[:1])
    raise Died


@pytest.mark.parametrize("tasks", [1, 3, 4])
def test_a_decided_batch_is_completed_and_not_written_again_however_it_is_cut(
    sink: Sink, monkeypatch: pytest.MonkeyPatch, tasks: int
) -> None:
    first = sink.driver()
    first.batch(tasks=3)
    dies_after_the_decision(monkeypatch, first, 3)
    assert sink.numbers(ROWS) == rows(1)
    sink.driver().batch(tasks=tasks)
    assert sink.numbers(2 * ROWS) == rows(2)
    assert sink.open() == []


@pytest.mark.parametrize("tasks", [1, 3, 4])
def test_a_batch_that_was_committed_in_part_is_completed(
    sink: Sink, monkeypatch: pytest.MonkeyPatch, tasks: int
) -> None:
    crash(monkeypatch, ends_first_only, lambda: sink.driver().batch(tasks=3))
    sink.driver().batch(tasks=tasks)
    assert sink.numbers(ROWS) == rows(1)
    assert sink.open() == []


@pytest.mark.parametrize("tasks", [1, 3, 4])
def test_what_was_not_decided_is_aborted_and_written_again(sink: Sink, tasks: int) -> None:
    def die(point: str) -> None:
        if point == "prepared":
            raise Died

    with pytest.raises(Died):
        sink.driver().batch(die, tasks=3)
    assert len(sink.open()) == 3
    sink.driver().batch(tasks=tasks)
    assert sink.numbers(ROWS) == rows(1)
    assert sink.open() == []


def test_attempts_that_lost_leave_nothing(sink: Sink) -> None:
    driver = sink.driver()
    driver.batch(tasks=2)
    number = driver.last("done") + 1
    (sink.folder / "planned" / str(number)).write_text(json.dumps({"start": ROWS, "end": 2 * ROWS}))
    driver.prepare(number, 2)  # a stage that was lost, or the slower half of a speculation
    driver.batch(tasks=2)
    assert sink.numbers(2 * ROWS) == rows(2)
    assert sink.open() == []


def test_a_zombie_that_wakes_up_before_it_decided(sink: Sink) -> None:
    zombie = sink.driver()
    zombie.batch(tasks=2)
    (sink.folder / "planned" / "1").write_text(json.dumps({"start": ROWS, "end": 2 * ROWS}))
    prepared = zombie.prepare(1, 2)
    living = sink.driver()
    living.batch(tasks=3)
    with pytest.raises(
        WriterFencedError, match=r"another writer has taken over .* = 'p-.*': query .* into 'numbers' on"
    ):
        zombie.committer.commit(1, prepared)
    living.batch(tasks=2)  # the zombie has not thrown it out
    assert sink.numbers(3 * ROWS) == rows(3)
    assert sink.open() == []


def test_a_zombie_in_a_new_process_does_not_throw_the_living_out(sink: Sink) -> None:
    zombie = sink.driver()
    zombie.batch(tasks=2)
    living = sink.driver()
    living.batch(tasks=2)
    again = Committer(zombie.sink.client, zombie.committer.writer)  # Spark gives it a new process for its commits
    sink.used.append(again)
    (sink.folder / "planned" / "2").write_text(json.dumps({"start": 2 * ROWS, "end": 3 * ROWS}))
    with pytest.raises(WriterFencedError, match="another writer has taken over"):
        again.commit(2, zombie.prepare(2, 2))
    before = living.committer._owned
    living.batch(tasks=2)
    assert living.committer._owned is before  # it has not been fenced
    assert sink.numbers(3 * ROWS) == rows(3)


def test_a_zombie_that_never_decided_does_not_throw_the_living_out(sink: Sink) -> None:
    zombie = sink.driver()
    (sink.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS}))
    prepared = zombie.prepare(0, 2)
    living = sink.driver()
    for _ in range(2):
        living.batch(tasks=2)
    with pytest.raises(
        WriterFencedError, match=r"batch 0 is to be written, and batch 1 of query .* was written already"
    ):
        zombie.committer.commit(0, prepared)
    living.batch(tasks=2)
    assert sink.numbers(3 * ROWS) == rows(3)


def test_a_zombies_failed_job_touches_its_own_transactions_only(sink: Sink) -> None:
    zombie, living = sink.driver(), sink.driver()
    (sink.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS}))
    old, new = zombie.prepare(0, 2), living.prepare(0, 3)
    abort_attempt(zombie.sink.client, [*old, None])
    assert sorted(sink.open()) == sorted(str(m.transaction) for m in new)
    living.committer.commit(0, new)
    assert sink.numbers(ROWS) == rows(1)


def test_a_job_whose_tasks_are_all_done_is_not_aborted(sink: Sink) -> None:
    driver = sink.driver()
    (sink.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS}))
    prepared = driver.prepare(0, 2)
    abort_attempt(driver.sink.client, prepared)  # what Spark does when commit() has raised
    assert len(sink.open()) == 2


def test_an_outsider_that_fences_and_decides_nothing_does_not_end_a_query(sink: Sink) -> None:
    driver = sink.driver()
    driver.batch(tasks=2)
    from kafka_sql.kafka.decision_log import LogWriter
    from kafka_sql.sink.transactions.names import driver_id

    LogWriter(sink.config, driver_id(sink.prefix)).fence()
    driver.batch(tasks=2)
    assert sink.numbers(2 * ROWS) == rows(2)


def test_a_second_query_under_a_prefix_ends_the_first_by_name(sink: Sink, other: Sink) -> None:
    first, second = sink.driver(), other.driver()
    first.batch(tasks=2)
    second.batch(tasks=2)
    with pytest.raises(WriterFencedError, match=rf"taken over 'sink.transactional-id-prefix' = '{sink.prefix}': query"):
        first.batch(tasks=2)
    second.batch(tasks=2)
    assert other.numbers(2 * ROWS) == rows(2)
    assert sink.numbers(ROWS) == rows(1)
    sink.driver("another").batch(tasks=2)
    assert sink.numbers(2 * ROWS) == rows(2)


def test_a_prefix_within_another_one_is_not_its(sink: Sink, other: Sink) -> None:
    inner, other.prefix = other, f"{sink.prefix}-t-x"
    running = inner.driver()
    (inner.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS}))
    prepared = running.prepare(0, 2)
    sink.driver().batch(tasks=2)
    running.committer.commit(0, prepared)
    assert inner.numbers(ROWS) == rows(1)


@pytest.mark.parametrize("decided", [True, False])
def test_a_query_restarted_under_another_prefix(sink: Sink, monkeypatch: pytest.MonkeyPatch, decided: bool) -> None:
    old = sink.driver()
    old.batch(tasks=2)
    if decided:
        dies_after_the_decision(monkeypatch, old, 2)
    else:
        (sink.folder / "planned" / "1").write_text(json.dumps({"start": ROWS, "end": 2 * ROWS}))
    late = [] if decided else old.prepare(1, 2)
    new = sink.driver(f"{sink.prefix}-new")
    new.batch(tasks=3)
    new.batch(tasks=3)
    assert sink.numbers(3 * ROWS) == rows(3)
    assert sink.open() == []
    if not decided:
        with pytest.raises(WriterFencedError):
            old.committer.commit(1, late)
    new.batch(tasks=1)
    assert sink.numbers(4 * ROWS) == rows(4)


def test_a_transaction_that_timed_out_before_the_decision(sink: Sink) -> None:
    def wait(point: str) -> None:
        if point == "prepared":
            sink.await_timeout()

    with pytest.raises(
        PreparedTransactionLostError, match=r"2 are no longer open .* CompleteAbort.*transaction.timeout.ms"
    ):
        sink.driver(timeout=SHORT).batch(wait, tasks=2)
    assert sink.numbers(0) == []
    sink.driver().batch(tasks=2)
    assert sink.numbers(ROWS) == rows(1)


def test_a_decided_batch_that_timed_out_as_a_whole_is_written_again(
    sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurried(sink, lambda driver: dies_after_the_decision(monkeypatch, driver, 2))
    sink.await_timeout()
    sink.driver().batch(tasks=3)
    assert sink.numbers(ROWS) == rows(1)


def times_out_in_part(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> str:
    """A driver that lives, and is told; the words."""

    def first_only(client: Any, decided: Any) -> Any:
        settle.commit_all(client, decided[:1])
        sink.await_timeout()
        return settle.commit_all(client, decided)

    with monkeypatch.context() as patched:
        patched.setattr(committer, "commit_all", first_only)
        with pytest.raises(DecidedTransactionLostError) as e:
            hurried(sink, lambda driver: driver.batch(tasks=3))
    return str(e.value)


def test_what_timed_out_after_the_decision_stops_the_query_and_is_filled_in(
    sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = times_out_in_part(sink, monkeypatch)
    assert "batch 0: the brokers have aborted transactions that were decided" in message
    assert f"'{task_prefix(sink.prefix)}" in message
    assert "Start the query again" in message
    before = len(sink.topics.take(sink.topic, message_rows(sink), 3, **{"isolation.level": "read_committed"}))
    assert f"Missing are {ROWS - before} rows of 2 transactions" in message
    sink.driver().batch(tasks=3)
    assert sink.numbers(ROWS) == rows(1)
    assert sink.open() == []


def message_rows(sink: Sink) -> int:
    """How many rows the first of three tasks has."""
    return sum(a % 7 % 3 == 0 for a in range(ROWS))


def test_a_gap_that_a_replay_cannot_fill_stops_the_query_until_somebody_says(
    sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    times_out_in_part(sink, monkeypatch)
    for _ in range(2):
        with pytest.raises(DecidedTransactionLostError, match=r"cut into other tasks.*--accept-missing.*--rewrite"):
            sink.driver().batch(tasks=2)
    assert sink.open() == []
    commit_transactions(sink.properties, sink.prefix, accept_missing=True)
    driver = sink.driver()
    driver.batch(tasks=2)
    driver.batch(tasks=2)
    assert sink.numbers(message_rows(sink) + ROWS)[-ROWS:] == rows(2)[ROWS:]


def test_a_gap_may_be_written_again_as_a_whole(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    times_out_in_part(sink, monkeypatch)
    abort_transactions(sink.properties, sink.prefix, rewrite=True)
    sink.driver().batch(tasks=2)
    assert sorted(set(sink.numbers(message_rows(sink) + ROWS))) == rows(1)


def test_a_doubt_is_settled_by_the_witness(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    """An id that the coordinator has given to a newer producer says nothing of the transaction before."""
    from kafka_sql.kafka.transaction import open_transaction

    crash(monkeypatch, ends_first_only, lambda: sink.driver().batch(tasks=3))
    (decision,) = [d for d in decisions(read_log(sink.config)) if d.prefix == sink.prefix]
    for one in decision.transactions[:2]:  # the first was committed, this aborts the second
        with open_transaction({**sink.config, "transaction.timeout.ms": "60000"}, one.id, sink.topic):
            pass
    client = Transactions(sink.config)
    committed, lost = settle.commit_all(client, decision.transactions[:2])
    client.close()
    assert ([d.partition for d in committed], [d.partition for d in lost]) == ([0], [1])
    sink.driver().batch(tasks=3)
    assert sink.numbers(ROWS) == rows(1)


def test_a_doubt_without_a_witness_stops_the_query(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    hurried(sink, lambda driver: dies_after_the_decision(monkeypatch, driver, 2))
    sink.await_timeout()
    from confluent_kafka import TopicPartition

    deleted = [TopicPartition(sink.topic, p, -1) for p in range(3)]
    for future in sink.topics.admin.delete_records(deleted).values():
        future.result(30)
    with pytest.raises(TransactionInDoubtError, match=r"cannot be told: its coordinator no longer knows it .* is gone"):
        sink.driver().batch(tasks=2)


# --- statements ---


def statement(sink: Sink, numbers: range) -> tuple[Committer, list[Prepared]]:
    """A statement's tasks are done, its driver has not decided."""
    engine = sink.driver()
    writer = dataclasses.replace(engine.committer.writer, query=None)
    half = len(numbers) // 2
    prepared = [
        engine.task(None, i, [(a, a % 7) for a in part]) for i, part in enumerate((numbers[:half], numbers[half:]))
    ]
    sink.used.append(Committer(engine.sink.client, writer))
    return sink.used[-1], prepared


def test_a_statement_is_all_or_nothing(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    driver, prepared = statement(sink, range(10))
    assert sink.numbers(0) == []
    driver.commit(None, prepared)
    assert sink.numbers(10) == list(range(10))
    driver, prepared = statement(sink, range(10, 20))
    crash(monkeypatch, ends_first_only, lambda: driver.commit(None, prepared))
    driver, prepared = statement(sink, range(20, 30))
    driver.commit(None, prepared)  # the next one completes what was decided
    assert sink.numbers(30) == list(range(30))
    assert [d for d in decisions(read_log(sink.config)) if d.prefix == sink.prefix] == []


def test_a_statement_that_did_not_decide_is_as_if_it_had_not_been(sink: Sink) -> None:
    statement(sink, range(10))
    driver, prepared = statement(sink, range(10, 20))
    driver.commit(None, prepared)
    assert sink.numbers(10) == list(range(10, 20))
    assert sink.open() == []


def test_two_statements_at_once_under_one_prefix(sink: Sink) -> None:
    one, prepared = statement(sink, range(10))
    two, other = statement(sink, range(10, 20))
    two.commit(None, other)
    with pytest.raises(PreparedTransactionLostError, match=r"the writer before .* a statement into 'numbers' on"):
        one.commit(None, prepared)
    assert sink.numbers(10) == list(range(10, 20))


def test_a_lost_part_of_a_statement_is_never_passed_over(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:

    def dies(engine: Engine) -> None:
        driver = Committer(engine.sink.client, dataclasses.replace(engine.committer.writer, query=None))
        sink.used.append(driver)
        prepared = [engine.task(None, i, [(i, 0)]) for i in range(3)]
        crash(monkeypatch, ends_first_only, lambda: driver.commit(None, prepared))

    hurried(sink, dies)
    sink.await_timeout()
    for _ in range(2):
        driver, prepared = statement(sink, range(10, 20))
        with pytest.raises(
            DecidedTransactionLostError, match=r"Missing are 2 rows of 2 transactions.*--accept-missing"
        ):
            driver.commit(None, prepared)
    with pytest.raises(DecidedTransactionLostError):
        commit_transactions(sink.properties, sink.prefix)
    commit_transactions(sink.properties, sink.prefix, accept_missing=True)
    driver, prepared = statement(sink, range(10, 20))
    driver.commit(None, prepared)
    assert sink.numbers(11) == [0, *range(10, 20)]


def test_a_second_write_in_a_batch_is_refused(sink: Sink) -> None:
    driver = sink.driver()
    (sink.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS}))
    driver.committer.commit(0, driver.prepare(0, 2))
    with pytest.raises(TransactionError, match=r"is written a second time in batch 0 of query .*Write a union of both"):
        driver.committer.commit(0, driver.prepare(0, 2))
    assert sink.numbers(ROWS) == rows(1)


# --- by hand ---


def test_by_hand(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    crash(monkeypatch, ends_first_only, lambda: sink.driver().batch(tasks=3))
    engine = sink.driver()
    undecided = engine.task(0, 0, [(1000, 0)])
    found = list_transactions(sink.properties, sink.prefix)
    assert [(t.id == undecided.transaction, t.decided, t.topics) for t in found].count(
        (True, False, (sink.topic,))
    ) == 1
    assert [t.decided for t in found].count(True) == 2
    assert all((t.aborts - t.started).total_seconds() == 60 for t in found)
    assert abort_transactions(sink.properties, sink.prefix) == [undecided.transaction]
    assert len(commit_transactions(sink.properties, sink.prefix)) == 2
    assert list_transactions(sink.properties, sink.prefix) == []
    assert abort_transactions(sink.properties, sink.prefix) == []
    assert sink.numbers(ROWS) == rows(1)


def test_abort_by_hand_ends_a_query_that_runs_by_name(sink: Sink) -> None:
    driver = sink.driver()
    driver.batch(tasks=2)
    (sink.folder / "planned" / "1").write_text(json.dumps({"start": ROWS, "end": 2 * ROWS}))
    prepared = driver.prepare(1, 2)
    assert len(abort_transactions(sink.properties, sink.prefix)) == 2
    with pytest.raises(WriterFencedError, match=r"taken over .* a statement into 'transactions' on"):
        driver.committer.commit(1, prepared)
    sink.driver().batch(tasks=2)
    assert sink.numbers(2 * ROWS) == rows(2)


def test_the_command(sink: Sink, tmp_path: Path) -> None:
    sink.driver().task(0, 0, [(1, 0)])
    (tmp_path / "client.properties").write_text("client.id=tests\n")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        address = ("--bootstrap-server", sink.topics.bootstrap, "--prefix", sink.prefix)
        command = [sys.executable, "-m", "kafka_sql.cli", "transactions", *words, *address]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    listed = run("list", "--command-config", str(tmp_path / "client.properties"))
    assert listed.returncode == 0, listed.stderr
    (line,) = listed.stdout.splitlines()
    assert line.split("\t")[1:3] == ["undecided", sink.topic]
    aborted = run("abort").stdout
    assert aborted == f"aborted\t{line.split()[0]}\n"
    assert run("commit").stdout == ""
    wrong = run("list", "--property", "acls=1")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "Option 'properties.acls' is no property of Kafka's client" in wrong.stderr


# --- the log ---


def test_the_log_is_compacted_and_one_partition(sink: Sink) -> None:
    from confluent_kafka.admin import ConfigResource

    from kafka_sql.kafka.decision_log import LOG_TOPIC

    sink.driver().batch(tasks=1)
    assert len(sink.topics.admin.list_topics(timeout=30).topics[LOG_TOPIC].partitions) == 1
    resource = ConfigResource(ConfigResource.Type.TOPIC, LOG_TOPIC)
    settings = sink.topics.admin.describe_configs([resource])[resource].result(30)
    assert settings["cleanup.policy"].value == "compact"


def test_another_writers_open_transaction_does_not_hide_a_decision(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that dies while it decides leaves the log's last stable offset behind for a while."""
    from kafka_sql.kafka import decision_log
    from kafka_sql.kafka.decision_log import LOG_TOPIC, LogWriter

    monkeypatch.setattr(decision_log, "_TIMEOUT_MS", 10_000)  # the test takes as long
    driver = sink.driver()
    driver.batch(tasks=1)
    dead_one = LogWriter(sink.config, f"{sink.prefix}-elsewhere-driver")
    dead_one.fence()
    dead_one._producer.begin_transaction()
    dead_one._producer.produce(LOG_TOPIC, b"x", key='["nothing"]', partition=0)
    dead_one._producer.flush(30)
    driver.batch(tasks=1)
    found = [d.batch for d in decisions(read_log(sink.config)) if d.prefix == sink.prefix]
    assert found == [1]


def test_owned_is_what_the_log_says(sink: Sink) -> None:
    driver = sink.driver()
    for _ in range(3):
        driver.batch(tasks=2)
    owned = driver.committer._owned
    assert isinstance(owned, Owned)
    assert [d for d in decisions(read_log(sink.config)) if d.prefix == sink.prefix] == owned.known
    assert isinstance(owned.writer, Writer)
