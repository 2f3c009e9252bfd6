"""Claim a transactional id prefix, so that only the newest run can commit under it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Final

from kafka_sql.errors import CheckpointError, WriterFencedError
from kafka_sql.kafka.decision_log import create_log, read_committed_decisions, read_decisions
from kafka_sql.kafka.decision_log_writer import DecisionLogWriter
from kafka_sql.sink.exactly_once.errors import log_ahead_of_checkpoint, new_checkpoint, superseded
from kafka_sql.sink.exactly_once.records import Claim, Decision, Writer, parse_claims, parse_decisions
from kafka_sql.sink.exactly_once.transactional_ids import driver_id

_MAX_SUPERSEDED_RUNS: Final = 64  # in a claim


@dataclass
class PrefixOwner:
    """The owner of a prefix, until a newer run claims it."""

    writer: Writer
    log: DecisionLogWriter
    prefixes: tuple[str, ...]  # this prefix, and those under which the query wrote before
    # decisions under this prefix, and of this query under its earlier prefixes
    decisions: list[Decision] = field(default_factory=list)
    # runs that can no longer commit, so their open transactions may be aborted. Transactions of unknown runs must not
    # be aborted: if this driver was paused, a newer driver may have decided to commit them.
    superseded_runs: frozenset[str] = frozenset()

    def record_decisions(self, *new: Decision, without: tuple[Decision, ...] = ()) -> None:
        """Write decisions to the log, replacing earlier ones with the same key, and delete others.

        Raises:
            LogWriterFenced: a newer writer has fenced this one.
        """
        new_keys = {d.key for d in new}
        deleted_keys = {d.key for d in without} - new_keys
        self.log.write({**dict.fromkeys(deleted_keys), **{d.key: d.encode() for d in new}})
        self.decisions = [d for d in self.decisions if d.key not in deleted_keys | new_keys] + list(new)


def claim_prefix(
    config: Mapping[str, str], writer: Writer, batch: int | None, active_runs: Callable[[], Collection[str]]
) -> PrefixOwner:
    """Fence all older drivers of the prefix and read their decisions.

    The log is also read before fencing: a superseded driver that resumes must not fence the new one. Runs that have
    open transactions but never claimed the prefix are superseded, too.

    Args:
        active_runs: returns the runs that have open transactions under the prefix.

    Raises:
        WriterFencedError: a newer run has claimed the prefix, or has committed a later batch.
        CheckpointError: see ``new_checkpoint_error``.
        LogWriterFenced: a newer writer fenced this one meanwhile.
        BrokerError: the brokers do not respond, or reject a request.
    """
    records = read_committed_decisions(config)
    if not records:
        create_log(config)
    _raise_if_rejected(records, writer, batch)
    with ExitStack() as stack:
        log = stack.enter_context(closing(DecisionLogWriter(config, driver_id(writer.prefix))))
        log.fence_older_writers()
        earlier_prefixes = _earlier_prefixes(records, writer)
        for prefix in earlier_prefixes:
            with closing(DecisionLogWriter(config, driver_id(prefix))) as earlier_log:
                earlier_log.fence_older_writers()
        records = read_decisions(config)
        _raise_if_rejected(records, writer, batch)
        claims = parse_claims(records)
        previous = claims.get(writer.prefix)
        claim = next_claim(records, writer, active_runs())
        if previous is None or (previous.run, previous.superseded) != (claim.run, claim.superseded):
            log.write({claim.key: claim.encode()})
        decisions = [d for d in parse_decisions(records) if d.prefix == writer.prefix or writer.wrote(d)]
        superseded_runs = {*claim.superseded, *(d.run for d in decisions)}
        for prefix in earlier_prefixes:
            superseded_runs |= {claims[prefix].run, *claims[prefix].superseded}
        stack.pop_all()  # without an error, the log stays open for the owner
    prefixes = (writer.prefix, *earlier_prefixes)
    return PrefixOwner(writer, log, prefixes, decisions, frozenset(superseded_runs - {writer.run}))


def next_claim(log: dict[str, bytes], writer: Writer, active_runs: Collection[str] = ()) -> Claim:
    """Return the claim by which a writer supersedes the previous one.

    Args:
        log: records of the decision log.
        active_runs: other runs that the claim supersedes.
    """
    previous = parse_claims(log).get(writer.prefix)
    claimed_runs = (*previous.superseded, previous.run) if previous is not None else ()
    runs = tuple(run for run in dict.fromkeys((*claimed_runs, *sorted(active_runs))) if run != writer.run)
    topics = writer.topics if writer.query is not None else None
    superseded_runs = runs[-_MAX_SUPERSEDED_RUNS:]
    return Claim(writer.prefix, writer.run, writer.query, topics, _describe_writer(writer), superseded_runs)


def fencing_error(config: Mapping[str, str], writer: Writer, batch: int | None) -> WriterFencedError | None:
    """Return the error that another writer has superseded this one; None if it may continue."""
    log = read_decisions(config)
    current = parse_claims(log).get(writer.prefix)
    if current is not None and current.run != writer.run:
        return superseded(writer, current)
    later_decision = _find_later_decision(log, writer, batch)
    return log_ahead_of_checkpoint(writer, batch, later_decision) if later_decision is not None else None


def _earlier_prefixes(log: dict[str, bytes], writer: Writer) -> tuple[str, ...]:
    """Return prefixes that the same query used before, and that no other writer has claimed since."""
    sink = (writer.query, writer.topics)
    prefixes = [c.prefix for c in parse_claims(log).values() if c.query is not None and (c.query, c.topics) == sink]
    return tuple(prefix for prefix in prefixes if prefix != writer.prefix)


def new_checkpoint_error(log: dict[str, bytes], writer: Writer) -> CheckpointError | None:
    """Return the error of a query that would write rows again, because it does not have the checkpoint of its prefix.

    Spark stores the id of a query in its checkpoint. A query with another id than the one that has written the topics
    under the prefix has a new checkpoint.
    """
    if writer.query is None or writer.allows_new_checkpoint:
        return None
    decisions = parse_decisions(log)
    if any(map(writer.wrote, decisions)):
        return None
    sink = writer.prefix, writer.topics
    others = [d for d in decisions if d.query is not None and (d.prefix, d.topics) == sink]
    if not others:
        return None
    claim = parse_claims(log).get(writer.prefix)
    latest = next((d for d in others if claim is not None and d.query == claim.query), others[-1])
    return new_checkpoint(writer, latest, claim if claim is not None and claim.query == latest.query else None)


def _raise_if_rejected(log: dict[str, bytes], writer: Writer, batch: int | None) -> None:
    current = parse_claims(log).get(writer.prefix)
    if current is not None and writer.run in current.superseded:
        raise superseded(writer, current)
    later_decision = _find_later_decision(log, writer, batch)
    if later_decision is not None:
        raise log_ahead_of_checkpoint(writer, batch, later_decision)
    error = new_checkpoint_error(log, writer)
    if error is not None:
        raise error


def _find_later_decision(log: dict[str, bytes], writer: Writer, batch: int | None) -> Decision | None:
    """Return a decision of another run of the query about a later batch, if there is one."""
    for decision in parse_decisions(log):
        if writer.wrote(decision) and decision.run != writer.run and (decision.batch or 0) > (batch or 0):
            return decision
    return None


def _describe_writer(writer: Writer) -> str:
    source = f"query {writer.query}" if writer.query else "a statement"
    now = datetime.now(timezone.utc).isoformat(" ", "seconds")
    return f"{source} into '{writer.name}' on {socket.gethostname()}, process {os.getpid()}, at {now}"
