"""Claims of a transactional id prefix: which writers supersede which, with a fake decision log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from kafka_sql.errors import CheckpointError, WriterFencedError
from kafka_sql.sink.exactly_once import ownership
from kafka_sql.sink.exactly_once.ownership import PrefixOwner, claim_prefix, fencing_error, next_claim
from kafka_sql.sink.exactly_once.records import Claim, Decision, Writer, parse_claims, parse_decisions


class Log:
    """The decision log, and the transactional ids whose older writers were fenced."""

    def __init__(self) -> None:
        self.records: dict[str, bytes] = {}
        self.fenced: list[str] = []
        self.closed: list[str] = []
        self.writes = 0

    def add(self, *records: Claim | Decision) -> None:
        self.records.update({record.key: record.encode() for record in records})


class LogWriter:
    def __init__(self, log: Log, transactional_id: str) -> None:
        self.log, self.id = log, transactional_id

    def close(self) -> None:
        self.log.closed.append(self.id)

    def fence_older_writers(self) -> None:
        self.log.fenced.append(self.id)

    def write(self, records: Mapping[str, bytes | None]) -> None:
        self.log.writes += 1
        for key, value in records.items():
            if value is None:
                self.log.records.pop(key, None)
            else:
                self.log.records[key] = value


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    fake = Log()
    monkeypatch.setattr(ownership, "create_log", lambda _: None)
    monkeypatch.setattr(ownership, "read_committed_decisions", lambda _: dict(fake.records))
    monkeypatch.setattr(ownership, "read_decisions", lambda _: dict(fake.records))
    monkeypatch.setattr(ownership, "DecisionLogWriter", lambda _, id: LogWriter(fake, id))
    return fake


def writer(run: str, query: str | None = "q", prefix: str = "p", topics: str = "t") -> Writer:
    return Writer("orders", prefix, topics, run, query)


def decision(batch: int | None, run: str = "r1", query: str | None = "q", prefix: str = "p") -> Decision:
    return Decision(prefix, run, query, "t", batch, ())


def claim(log: Log, claimant: Writer, batch: int | None = 1, active: tuple[str, ...] = ()) -> PrefixOwner:
    return claim_prefix({}, claimant, batch, lambda: active)


def test_a_new_run_supersedes_the_previous_ones(log: Log) -> None:
    claim(log, writer("r1"))
    claim(log, writer("r2"))
    owner = claim(log, writer("r3"), active=("r0",))
    assert parse_claims(log.records)["p"].superseded == ("r1", "r2", "r0")
    assert owner.superseded_runs == {"r0", "r1", "r2"}
    assert owner.prefixes == ("p",)
    assert log.fenced == ["p-driver"] * 3
    assert log.closed == []


def test_a_superseded_run_cannot_claim_again(log: Log) -> None:
    claim(log, writer("r1"))
    claim(log, writer("r2"))
    with pytest.raises(WriterFencedError, match=r"another writer has taken over .* = 'p': query q into 'orders'"):
        claim(log, writer("r1"))
    assert log.fenced == ["p-driver"] * 2  # it does not fence the new one


def test_a_repeated_claim_is_not_written_again(log: Log) -> None:
    claim(log, writer("r1"))
    claim(log, writer("r1"))
    assert log.writes == 1


@pytest.mark.parametrize(("decided_batch", "batch", "is_rejected"), [(4, 3, True), (3, 3, False), (2, 3, False)])
def test_a_later_batch_of_another_run(log: Log, decided_batch: int, batch: int, is_rejected: bool) -> None:
    log.add(decision(decided_batch))
    if is_rejected:
        with pytest.raises(WriterFencedError, match="cannot write batch 3, because batch 4 of query 'q'"):
            claim(log, writer("r2"), batch)
    else:
        assert claim(log, writer("r2"), batch).decisions == [decision(decided_batch)]
    assert claim(log, writer("r1"), batch)  # the same run may


@pytest.mark.parametrize(
    ("claimant", "is_rejected"),
    [
        (writer("r2", query="new"), True),
        (writer("r2"), False),
        (writer("r2", query=None), False),
        (writer("r2", query="new", topics="other"), False),
        (writer("r2", query="new", prefix="other"), False),
        (replace(writer("r2", query="new"), allows_new_checkpoint=True), False),
    ],
)
@pytest.mark.parametrize("is_claimed_by_a_statement", [False, True])
def test_a_query_with_a_new_checkpoint(
    log: Log, claimant: Writer, is_rejected: bool, is_claimed_by_a_statement: bool
) -> None:
    claim(log, writer("r1"))
    log.add(decision(7))
    if is_claimed_by_a_statement:
        claim(log, writer("s", query=None), None)
    log.fenced.clear()
    batch = 7 if claimant.query == "q" else 0
    if not is_rejected:
        assert claim(log, claimant, batch)
        return
    earlier = "query q" if is_claimed_by_a_statement else "query q into 'orders' on "
    with pytest.raises(CheckpointError, match=f"'p' by {earlier}.*'sink.allow-new-checkpoint' = 'true'"):
        claim(log, claimant, batch)
    assert log.fenced == []  # it does not fence a running query


def test_a_checkpoint_with_another_prefix_is_not_new(log: Log) -> None:
    claim(log, writer("r1", prefix="old"))
    log.add(decision(3, prefix="old"), decision(5, query="other"))
    assert claim(log, writer("r2"), 4)


def test_earlier_prefixes_of_a_query_are_fenced_and_taken_over(log: Log) -> None:
    claim(log, writer("r0", prefix="old"))
    claim(log, writer("r1", prefix="old"))
    log.add(decision(1, prefix="old"))
    claim(log, writer("s", query="other", prefix="unrelated"))
    owner = claim(log, writer("r2"), 2)
    assert owner.prefixes == ("p", "old")
    assert log.fenced[-2:] == ["p-driver", "old-driver"]
    assert log.closed == ["old-driver"]
    assert owner.decisions == [decision(1, prefix="old")]
    assert owner.superseded_runs == {"r0", "r1"}


def test_statements_have_no_earlier_prefixes(log: Log) -> None:
    claim(log, writer("r1", query=None, prefix="old"), None)
    assert claim(log, writer("r2", query=None), None).prefixes == ("p",)


def test_a_fenced_writer_may_continue_if_nobody_claimed_the_prefix(log: Log) -> None:
    first, second = writer("r1"), writer("r2")
    assert fencing_error({}, first, 1) is None
    claim(log, first)
    assert fencing_error({}, first, 1) is None
    error = fencing_error({}, second, 1)
    assert isinstance(error, WriterFencedError)
    assert "another writer has taken over" in str(error)
    log.add(decision(5, run="r2"))
    assert "batch 5 of query 'q' was already written" in str(fencing_error({}, first, 1))


def test_a_claim_has_a_limited_number_of_superseded_runs() -> None:
    runs = tuple(f"r{i:03}" for i in range(100))
    last_claim = Claim("p", "last", "q", "t", "", runs)
    new_claim = next_claim({last_claim.key: last_claim.encode()}, writer("new"))
    assert new_claim.superseded == (*runs[-63:], "last")
    assert (new_claim.prefix, new_claim.run, new_claim.query, new_claim.topics) == ("p", "new", "q", "t")
    assert next_claim({}, writer("new", query=None)).topics is None


def test_recorded_decisions_replace_others(log: Log) -> None:
    owner = PrefixOwner(writer("r1"), LogWriter(log, "p-driver"), ("p",))  # type: ignore[arg-type]
    owner.record_decisions(decision(1), decision(None, query=None))
    owner.record_decisions(decision(2), without=(decision(None, query=None),))
    assert owner.decisions == parse_decisions(log.records) == [decision(2)]
