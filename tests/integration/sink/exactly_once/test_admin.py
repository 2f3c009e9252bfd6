"""Exactly-once statements, manual recovery, and the decision log."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.errors import (
    DecidedTransactionLostError,
    TransactionError,
    WriterFencedError,
)
from kafka_sql.kafka.decision_log import read_decisions
from kafka_sql.sink.exactly_once.admin import abort_transactions, commit_transactions, list_transactions
from kafka_sql.sink.exactly_once.committer import Committer
from kafka_sql.sink.exactly_once.ownership import PrefixOwner
from kafka_sql.sink.exactly_once.records import Writer, parse_decisions
from tests.kills.simulated_query import ROWS, SimulatedQuery
from tests.transaction_writers import (
    WriterHarness,
    commit_first_only,
    crash_in_commit,
    prepared_statement,
    rows,
    with_short_timeout,
)

pytestmark = pytest.mark.integration


def test_a_statement_is_atomic(sink: WriterHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    driver, prepared = prepared_statement(sink, range(10))
    assert sink.numbers(0) == []
    driver.commit(None, prepared)
    assert sink.numbers(10) == list(range(10))
    driver, prepared = prepared_statement(sink, range(10, 20))
    crash_in_commit(monkeypatch, commit_first_only, lambda: driver.commit(None, prepared))
    driver, prepared = prepared_statement(sink, range(20, 30))
    driver.commit(None, prepared)  # the next statement completes the earlier one
    assert sink.numbers(30) == list(range(30))
    assert [d for d in parse_decisions(read_decisions(sink.config)) if d.prefix == sink.prefix] == []


def test_an_undecided_statement_writes_nothing(sink: WriterHarness) -> None:
    prepared_statement(sink, range(10))
    driver, prepared = prepared_statement(sink, range(10, 20))
    driver.commit(None, prepared)
    assert sink.numbers(10) == list(range(10, 20))
    assert sink.open() == []


def test_concurrent_statements_with_the_same_prefix(sink: WriterHarness) -> None:
    first, prepared = prepared_statement(sink, range(10))
    second, other = prepared_statement(sink, range(10, 20))
    second.commit(None, other)
    with pytest.raises(WriterFencedError, match=r"another writer has taken over .* a statement into 'numbers' on"):
        first.commit(None, prepared)
    assert sink.numbers(10) == list(range(10, 20))


def test_a_lost_part_of_a_statement_must_be_accepted(sink: WriterHarness, monkeypatch: pytest.MonkeyPatch) -> None:

    def crash(query: SimulatedQuery) -> None:
        driver = Committer(query.sink.client_config, dataclasses.replace(query.committer.writer, query=None))
        sink.opened.append(driver)
        prepared = [query.prepare_rows(None, i, [(i, 0)]) for i in range(3)]
        crash_in_commit(monkeypatch, commit_first_only, lambda: driver.commit(None, prepared))

    with_short_timeout(sink, crash)
    sink.await_timeout()
    for _ in range(2):
        driver, prepared = prepared_statement(sink, range(10, 20))
        with pytest.raises(DecidedTransactionLostError, match=r"Missing: 2 rows of 2 transactions.*--accept-missing"):
            driver.commit(None, prepared)
    with pytest.raises(DecidedTransactionLostError):
        commit_transactions(sink.properties, sink.prefix)
    commit_transactions(sink.properties, sink.prefix, accept_missing=True)
    driver, prepared = prepared_statement(sink, range(10, 20))
    driver.commit(None, prepared)
    assert sink.numbers(11) == [0, *range(10, 20)]


def test_a_second_write_in_a_batch_is_rejected(sink: WriterHarness) -> None:
    driver = sink.driver()
    (sink.folder / "planned" / "0").write_text(json.dumps({"start": 0, "end": ROWS}))
    driver.committer.commit(0, driver.prepare_batch(0, 2))
    with pytest.raises(TransactionError, match=r"is written a second time in batch 0 of query .*Write a union of both"):
        driver.committer.commit(0, driver.prepare_batch(0, 2))
    assert sink.numbers(ROWS) == rows(1)


def test_list_abort_and_commit(sink: WriterHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    crash_in_commit(monkeypatch, commit_first_only, lambda: sink.driver().run_batch(tasks=3))
    undecided = sink.driver().prepare_rows(0, 0, [(1000, 0)])
    listed = list_transactions(sink.properties, sink.prefix)
    assert [(t.id == undecided.transaction, t.decided, t.topics) for t in listed].count(
        (True, False, (sink.topic,))
    ) == 1
    assert [t.decided for t in listed].count(True) == 2
    assert all((t.aborts - t.started).total_seconds() == 60 for t in listed)
    assert abort_transactions(sink.properties, sink.prefix) == [undecided.transaction]
    assert len(commit_transactions(sink.properties, sink.prefix)) == 2
    assert list_transactions(sink.properties, sink.prefix) == []
    assert abort_transactions(sink.properties, sink.prefix) == []
    assert sink.numbers(ROWS) == rows(1)


@pytest.mark.parametrize("earlier", [0, 1], ids=["no decision yet", "one decision"])
def test_manual_abort_fences_a_running_query(sink: WriterHarness, earlier: int) -> None:
    driver = sink.driver()
    for _ in range(earlier):
        driver.run_batch(tasks=2)
    (sink.folder / "planned" / str(earlier)).write_text(
        json.dumps({"start": earlier * ROWS, "end": (earlier + 1) * ROWS})
    )
    prepared = driver.prepare_batch(earlier, 2)
    assert len(abort_transactions(sink.properties, sink.prefix)) == 2
    with pytest.raises(WriterFencedError, match=r"taken over .* a statement into 'transactions' on"):
        driver.committer.commit(earlier, prepared)
    sink.driver().run_batch(tasks=2)
    assert sink.numbers((earlier + 1) * ROWS) == rows(earlier + 1)


def test_command_line(sink: WriterHarness, tmp_path: Path) -> None:
    sink.driver().prepare_rows(0, 0, [(1, 0)])
    (tmp_path / "client.properties").write_text("client.id=tests\n")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        address = ("--bootstrap-server", sink.topics.bootstrap, "--prefix", sink.prefix)
        command = [sys.executable, "-m", "kafka_sql.cli", "transactions", *arguments, *address]
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
    assert "Option 'properties.acls' is not a Kafka client property" in wrong.stderr


def test_the_log_is_compacted_and_has_one_partition(sink: WriterHarness) -> None:
    from confluent_kafka.admin import ConfigResource

    from kafka_sql.kafka.decision_log import LOG_TOPIC

    sink.driver().run_batch(tasks=1)
    assert len(sink.topics.admin.list_topics(timeout=30).topics[LOG_TOPIC].partitions) == 1
    resource = ConfigResource(ConfigResource.Type.TOPIC, LOG_TOPIC)
    settings = sink.topics.admin.describe_configs([resource])[resource].result(30)
    assert settings["cleanup.policy"].value == "compact"


@pytest.mark.long
def test_another_writers_open_transaction_does_not_hide_a_decision(
    sink: WriterHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver that crashes while it decides holds back the last stable offset of the log."""
    from kafka_sql.kafka import decision_log_writer
    from kafka_sql.kafka.direct.writes.transaction_manager import TransactionManager

    monkeypatch.setattr(decision_log_writer, "_TIMEOUT_MS", 10_000)  # the test waits that long
    driver = sink.driver()
    driver.run_batch(tasks=1)
    with closing(decision_log_writer.DecisionLogWriter(sink.config, f"{sink.prefix}-elsewhere-driver")) as crashed:
        crashed.fence_older_writers()
        with monkeypatch.context() as before_commit:
            before_commit.setattr(TransactionManager, "commit", lambda _: None)
            crashed.write({'["nothing"]': b"x"})
    driver.run_batch(tasks=1)
    batches = [d.batch for d in parse_decisions(read_decisions(sink.config)) if d.prefix == sink.prefix]
    assert batches == [1]


def test_the_owner_knows_the_decisions_in_the_log(sink: WriterHarness) -> None:
    driver = sink.driver()
    for _ in range(3):
        driver.run_batch(tasks=2)
    owner = driver.committer._owner
    assert isinstance(owner, PrefixOwner)
    assert [d for d in parse_decisions(read_decisions(sink.config)) if d.prefix == sink.prefix] == owner.decisions
    assert isinstance(owner.writer, Writer)


def test_a_cluster_without_decision_log() -> None:
    with EmbeddedKafka() as new:
        properties = {"bootstrap.servers": new.bootstrap_servers}
        assert list_transactions(properties, "any") == []
        assert commit_transactions(properties, "any") == []
        assert abort_transactions(properties, "any") == []
