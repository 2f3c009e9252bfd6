"""Commit prepared transactions on the driver: record the decision, commit, and complete what a crashed driver left."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from kafka_sql.errors import BrokerError, CheckpointError
from kafka_sql.kafka.config.properties import API_TIMEOUT, DELIVERY_TIMEOUT
from kafka_sql.kafka.decision_log import read_decisions
from kafka_sql.kafka.decision_log_writer import LogWriterFenced
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin
from kafka_sql.kafka.protocol.transactions import ONGOING, TransactionDescription
from kafka_sql.sink.exactly_once.end_transactions import abort_all, commit_all, find_lingering
from kafka_sql.sink.exactly_once.errors import (
    batch_written_twice,
    decided_lost,
    fencing_contention,
    prepared_lost,
    replay_differs,
    statement_lost,
)
from kafka_sql.sink.exactly_once.ownership import PrefixOwner, claim_prefix, fencing_error
from kafka_sql.sink.exactly_once.records import (
    DecidedTransaction,
    Decision,
    PreparedTransaction,
    Writer,
    decided_ids,
    parse_decisions,
)

_LOG = logging.getLogger("kafka_sql.sink")
_CLAIM_ATTEMPTS: Final = 3  # if another driver fences this one without claiming the prefix


class Committer:
    """Commits the batches of one run of a query, or one statement.

    ``commit`` works in two phases: the tasks have prepared transactions; the driver writes its decision to the decision
    log (the point of no return) and then commits the transactions. A restarted driver first completes the decisions in
    the log.
    """

    def __init__(self, config: Mapping[str, str], writer: Writer) -> None:
        """Create the committer; connections are opened when needed.

        Args:
            config: librdkafka's configuration, with references to secrets.

        Raises:
            InvalidOptionError: a security setting is not supported by the protocol client.
        """
        self.writer = writer
        # wait for unavailable brokers as long as producers do
        self._config = {**config, API_TIMEOUT: config[DELIVERY_TIMEOUT]}
        self._transactions, self._cleanup_transactions = TransactionAdmin(config), TransactionAdmin(config)
        self._owner: PrefixOwner | None = None
        self._first_offsets_fetched = False

    def close(self) -> None:
        for transactions in (self._transactions, self._cleanup_transactions):
            transactions.close()
        self._release_prefix()

    def commit(self, batch: int | None, messages: Sequence[PreparedTransaction]) -> None:
        """Commit the prepared transactions. If the batch was decided before, only complete that decision.

        Raises:
            WriterFencedError: another run, query or statement has claimed the prefix.
            CheckpointError: the query has a new checkpoint, and another one has written the topics under the prefix.
            PreparedTransactionLostError: a transaction is no longer open; nothing of the batch was committed.
            DecidedTransactionLostError: the brokers aborted decided transactions.
            TransactionInDoubtError: the outcome of a transaction is unknown.
            BrokerError: the brokers do not respond; the next start finds out whether the batch was decided.
        """
        for _ in range(_CLAIM_ATTEMPTS):
            try:
                return self._commit(batch, messages)
            except LogWriterFenced:
                self._release_prefix()
                error = fencing_error(self._config, self.writer, batch)
                if error is not None:
                    self._abort_undecided(messages)
                    raise error from None
        raise fencing_contention(self.writer)

    def _release_prefix(self) -> None:
        if self._owner is not None:
            self._owner.log.close()
        self._owner = None

    def _commit(self, batch: int | None, messages: Sequence[PreparedTransaction]) -> None:
        try:
            owner = self._owner = self._owner or claim_prefix(self._config, self.writer, batch, self._active_runs)
            prepared = [m for m in messages if m.transaction is not None]
            already_committed: tuple[DecidedTransaction, ...] = ()
            completed = self._complete_earlier(owner, batch, messages)
            if completed is not None:
                already_committed, missing = completed
                prepared = [m for m in prepared if m.partition in missing]
            with ThreadPoolExecutor(1) as executor:
                cleanup = executor.submit(self._abort_lingering, owner, {str(m.transaction) for m in prepared})
                decided = self._check_prepared(owner, batch, prepared)
            cleanup.result()
            if not decided:
                return  # no task has rows, or an earlier decision has committed all, even if the replay's tasks differ
        except (BrokerError, CheckpointError):
            self._abort_undecided(messages)
            raise
        self._record_decision(owner, batch, (*already_committed, *decided))
        _, lost = commit_all(self._transactions, decided)
        if lost:
            raise decided_lost(self.writer, batch, lost)
        if batch is None:
            owner.record_decisions(without=tuple(d for d in owner.decisions if d.query is None))

    def _complete_earlier(
        self, owner: PrefixOwner, batch: int | None, messages: Sequence[PreparedTransaction]
    ) -> tuple[tuple[DecidedTransaction, ...], set[int]] | None:
        """Complete earlier decisions.

        Returns:
            None if this batch was not decided before. Otherwise its committed transactions, and the Spark partitions
            whose rows are still missing.
        """
        for statement in [d for d in owner.decisions if d.query is None]:
            self._complete_statement(owner, statement)
        query_decisions = [d for d in owner.decisions if self.writer.wrote(d)]
        last = max(query_decisions, key=lambda d: d.batch or 0, default=None)
        if batch is None or last is None or last.batch != batch:
            return None
        if last.accepted:
            return last.transactions, set()
        if last.run == self.writer.run and self._is_complete(last):
            raise batch_written_twice(self.writer, batch)
        committed, lost = commit_all(self._transactions, last.transactions)
        if not lost:
            self._warn_if_replay_differs(last, messages)
            return tuple(committed), set()
        if not committed:
            owner.record_decisions(without=(last,))
            return None
        if not _has_same_rows(last, messages):
            raise replay_differs(self.writer, batch, lost)
        return tuple(committed), {d.partition for d in lost}

    def _warn_if_replay_differs(self, last: Decision, messages: Sequence[PreparedTransaction]) -> None:
        """Warn if a replay has a different row count: the query is not deterministic, or the checkpoint was reset."""
        old_count, new_count = sum(d.rows for d in last.transactions), sum(m.rows for m in messages)
        if old_count != new_count:
            _LOG.warning(
                "table '%s': batch %s was written with %d rows before a crash. The replay has %d rows, which are not "
                "written. If the query is deterministic, the checkpoint is an old copy, and rows are missing",
                self.writer.name,
                last.batch,
                old_count,
                new_count,
            )

    def _complete_statement(self, owner: PrefixOwner, statement: Decision) -> None:
        if not statement.accepted:
            _, lost = commit_all(self._transactions, statement.transactions)
            if lost:
                raise statement_lost(statement, lost)
        owner.record_decisions(without=(statement,))

    def _is_complete(self, decision: Decision) -> bool:
        states = self._transactions.describe([d.id for d in decision.transactions]).values()
        return all(d is not None and d.state in ("CompleteCommit", "PrepareCommit") for d in states)

    def _abort_lingering(self, owner: PrefixOwner, keep: set[str]) -> None:
        """End the open transactions of earlier runs and failed task attempts: commit decided ones, abort the rest.

        Args:
            keep: transactional ids that the current batch has prepared.
        """
        client = self._cleanup_transactions
        decided = {d.id: d for decision in owner.decisions for d in decision.transactions}
        runs = owner.superseded_runs | {self.writer.run}
        for prefix in owner.prefixes:
            ids = [t for t, run in find_lingering(client, prefix).items() if run in runs and t not in keep]
            descriptions = client.describe(ids)
            still_open = [decided[t] for t in ids if t in decided and _is_same_transaction(decided[t], descriptions[t])]
            if still_open:
                commit_all(client, still_open)
            committed = {d.id for d in still_open}
            aborted = abort_all(client, [t for t in ids if t not in committed])
            if aborted:
                _LOG.info("aborted lingering transactions: %s", ", ".join(aborted))

    def _active_runs(self) -> set[str]:
        return set(find_lingering(self._cleanup_transactions, self.writer.prefix).values())

    def _check_prepared(
        self, owner: PrefixOwner, batch: int | None, prepared: Sequence[PreparedTransaction]
    ) -> tuple[DecidedTransaction, ...]:
        """Check that all prepared transactions are still open, and return what to write to the decision log."""
        if not prepared:
            return ()
        owner.log.announce_write()
        message_by_id = {str(m.transaction): m for m in prepared}
        self._transactions.set_coordinators(
            {key: m.hint.coordinator for key, m in message_by_id.items() if m.hint.coordinator}
        )
        descriptions = self._transactions.describe(list(message_by_id))
        ongoing = {key: d for key, d in descriptions.items() if d is not None and d.state == ONGOING}
        if len(ongoing) < len(prepared):
            states = [(key, _state_name(descriptions[key])) for key in message_by_id if key not in ongoing]
            raise fencing_error(self._config, self.writer, batch) or prepared_lost(self.writer, len(prepared), states)
        hints = {key: m.hint.first_record for key, m in message_by_id.items() if m.hint.first_record is not None}
        # The first batch ignores the hints and asks the brokers: this shows missing ACLs that a recovery will need.
        witnesses = hints if self._first_offsets_fetched else {}
        witnesses |= self._transactions.first_offsets({key: d for key, d in ongoing.items() if key not in witnesses})
        self._first_offsets_fetched = True
        return tuple(
            DecidedTransaction(
                m.partition,
                m.rows,
                m.digest,
                key,
                ongoing[key].producer_id,
                ongoing[key].producer_epoch,
                witnesses.get(key),
            )
            for key, m in message_by_id.items()
        )

    def _record_decision(
        self, owner: PrefixOwner, batch: int | None, transactions: tuple[DecidedTransaction, ...]
    ) -> None:
        """Write the decision to the log. This is the point of no return."""
        writer = self.writer
        decision = Decision(writer.prefix, writer.run, writer.query, writer.topics, batch, transactions)
        # also replaces decisions of the same query under its earlier prefixes
        old_decisions = tuple(d for d in owner.decisions if writer.wrote(d))
        owner.record_decisions(decision, without=old_decisions)

    def _abort_undecided(self, messages: Sequence[PreparedTransaction]) -> None:
        """Abort undecided transactions, as far as possible. The next start aborts the rest.

        The log shows all decisions of this driver: this driver or the one that fenced it has called
        ``fence_older_writers`` since the last write.
        """
        try:
            decided = decided_ids(parse_decisions(read_decisions(self._config)))
            ids = [m.transaction for m in messages if m.transaction is not None and m.transaction not in decided]
            abort_all(self._transactions, ids)
        except BrokerError as e:
            _LOG.warning("transactions stay open until the next start: %s", e)


def _is_same_transaction(decided: DecidedTransaction, description: TransactionDescription | None) -> bool:
    """Return whether an open transaction is the decided one, not a later one with the same pooled id."""
    return description is not None and (description.producer_id, description.producer_epoch) == (
        decided.producer,
        decided.epoch,
    )


def _state_name(description: TransactionDescription | None) -> str:
    return "unknown" if description is None else description.state


def _has_same_rows(last: Decision, messages: Sequence[PreparedTransaction]) -> bool:
    """Return whether a replay's tasks have the same rows as the decided ones. Only then can it write missing rows."""
    decided_rows = {d.partition: (d.rows, d.digest) for d in last.transactions}
    return decided_rows == {m.partition: (m.rows, m.digest) for m in messages if m.rows}
