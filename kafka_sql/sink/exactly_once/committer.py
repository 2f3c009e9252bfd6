"""The driver's side: decide, record the decision, end the transactions; and finish what a dead driver has left."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from kafka_sql.errors import BrokerError
from kafka_sql.kafka.config.properties import API_TIMEOUT, DELIVERY_TIMEOUT
from kafka_sql.kafka.decision_log import read_log
from kafka_sql.kafka.decision_log_writer import Fenced
from kafka_sql.kafka.protocol.transaction_admin import Transactions
from kafka_sql.kafka.protocol.transaction_requests import ONGOING, Described
from kafka_sql.sink.exactly_once.end_transactions import abort_all, commit_all, left_open
from kafka_sql.sink.exactly_once.errors import (
    contested,
    cut_otherwise,
    decided_lost,
    prepared_lost,
    statement_lost,
    written_twice,
)
from kafka_sql.sink.exactly_once.ownership import Owned, fenced, own
from kafka_sql.sink.exactly_once.records import Decided, Decision, Prepared, Writer, decisions

_LOG = logging.getLogger("kafka_sql.sink")
_ATTEMPTS: Final = 3  # of a driver that an outsider fences without claiming


class Committer:
    """Commits the batches of one run, or one statement."""

    def __init__(self, config: Mapping[str, str], writer: Writer) -> None:
        """Keep how to connect; nothing is asked yet.

        Args:
            config: librdkafka's, with references to secrets.

        Raises:
            InvalidOptionError: a security setting that the protocol's client does not know.
        """
        self.writer = writer
        # brokers that are away may come back: wait as long as for a record
        self._config = {**config, API_TIMEOUT: config[DELIVERY_TIMEOUT]}
        self._transactions, self._sweeping = Transactions(config), Transactions(config)
        self._owned: Owned | None = None
        self._asked = False  # for a transaction's first offsets

    def close(self) -> None:
        """Close the connections."""
        for transactions in (self._transactions, self._sweeping):
            transactions.close()
        self._disown()

    def commit(self, batch: int | None, messages: Sequence[Prepared]) -> None:
        """Commit what the tasks have prepared, once and for all; a batch that was decided before is only completed.

        Raises:
            WriterFencedError: another run, query or statement has taken over.
            PreparedTransactionLostError: a transaction is no longer open; nothing of the batch is to be seen.
            DecidedTransactionLostError: the brokers have aborted what was decided.
            TransactionInDoubtError: what became of a transaction cannot be told.
            BrokerError: the brokers do not answer; whether it was decided is found out at the next start.
        """
        for _ in range(_ATTEMPTS):
            try:
                return self._commit(batch, messages)
            except Fenced:
                self._disown()
                why = fenced(self._config, self.writer, batch)
                if why is not None:
                    self._abort(messages)
                    raise why from None
        raise contested(self.writer)

    def _disown(self) -> None:
        if self._owned is not None:
            self._owned.log.close()
        self._owned = None

    def _commit(self, batch: int | None, messages: Sequence[Prepared]) -> None:
        try:
            self._owned = self._owned or own(self._config, self.writer, batch, self._at_work)
            todo = [m for m in messages if m.transaction is not None]
            settled: tuple[Decided, ...] = ()
            earlier = self._finish_earlier(batch, messages)
            if earlier is not None:
                settled, missing = earlier
                todo = [m for m in todo if m.partition in missing]
            with ThreadPoolExecutor(1) as meanwhile:
                swept = meanwhile.submit(self._sweep, {str(m.transaction) for m in todo})
                decided = self._decided(batch, todo)
            swept.result()
            if not decided:
                return  # all of it is there, however the replay was cut; or there are no rows
        except BrokerError:
            self._abort(messages)
            raise
        self._decide(batch, (*settled, *decided))
        _, lost = commit_all(self._transactions, decided)
        if lost:
            raise decided_lost(self.writer, batch, lost)
        if batch is None:
            self._owned.record(without=tuple(d for d in self._owned.known if d.query is None))

    def _finish_earlier(
        self, batch: int | None, messages: Sequence[Prepared]
    ) -> tuple[tuple[Decided, ...], set[int]] | None:
        """Complete what was decided before.

        Returns:
            where this batch was decided before: the transactions that are committed, and the partitions whose rows are
            still missing; None where it was not.
        """
        assert self._owned is not None
        for statement in [d for d in self._owned.known if d.query is None]:
            self._finish_statement(statement)
        same = [d for d in self._owned.known if self.writer.wrote(d)]
        last = max(same, key=lambda d: d.batch or 0, default=None)
        if batch is None or last is None or last.batch != batch:
            return None
        if last.accepted:
            return last.transactions, set()
        if last.run == self.writer.run and self._is_complete(last):
            raise written_twice(self.writer, batch)
        committed, lost = commit_all(self._transactions, last.transactions)
        if not lost:
            self._compare(last, messages)
            return tuple(committed), set()
        if not committed:
            self._owned.record(without=(last,))
            return None
        if not _alike(last, messages):
            raise cut_otherwise(self.writer, batch, lost)
        return tuple(committed), {d.partition for d in lost}

    def _compare(self, last: Decision, messages: Sequence[Prepared]) -> None:
        """A replay of other rows may be a query's that is not deterministic, or a checkpoint that was set back."""
        before, now = sum(d.rows for d in last.transactions), sum(m.rows for m in messages)
        if before != now:
            _LOG.warning(
                "table '%s': batch %s was written with %d rows before a crash. Done again it has %d, which are left "
                "out. Where the answer depends on the input alone, the checkpoint is an old copy: rows are missing",
                self.writer.name,
                last.batch,
                before,
                now,
            )

    def _finish_statement(self, statement: Decision) -> None:
        assert self._owned is not None
        if not statement.accepted:
            _, lost = commit_all(self._transactions, statement.transactions)
            if lost:
                raise statement_lost(statement, lost)
        self._owned.record(without=(statement,))

    def _is_complete(self, decision: Decision) -> bool:
        states = self._transactions.describe([d.id for d in decision.transactions]).values()
        return all(d is not None and d.state in ("CompleteCommit", "PrepareCommit") for d in states)

    def _sweep(self, keep: set[str]) -> None:
        """End what dead runs and lost attempts left open: commit what was decided, abort the rest."""
        assert self._owned is not None
        client = self._sweeping
        decided = {d.id: d for decision in self._owned.known for d in decision.transactions}
        runs = self._owned.older | {self.writer.run}
        for prefix in self._owned.prefixes:
            ids = [t for t, run in left_open(client, prefix).items() if run in runs and t not in keep]
            open_ = client.describe(ids)
            late = [decided[t] for t in ids if t in decided and _is_of(decided[t], open_[t])]
            if late:
                commit_all(client, late)
            committed = {d.id for d in late}
            aborted = abort_all(client, [t for t in ids if t not in committed])
            if aborted:
                _LOG.info("aborted what was left open: %s", ", ".join(aborted))

    def _at_work(self) -> set[str]:
        """The runs that have open transactions under the prefix."""
        return set(left_open(self._sweeping, self.writer.prefix).values())

    def _decided(self, batch: int | None, todo: Sequence[Prepared]) -> tuple[Decided, ...]:
        """What is to be decided, after a look at the brokers that all of it is still there."""
        assert self._owned is not None
        if not todo:
            return ()
        self._owned.log.ahead()
        self._transactions.expect({str(m.transaction): m.hint.coordinator for m in todo if m.hint.coordinator})
        known = self._transactions.describe([str(m.transaction) for m in todo])
        gone = [m for m in todo if (found := known[str(m.transaction)]) is None or found.state != ONGOING]
        if gone:
            states = [(str(m.transaction), _state(known[str(m.transaction)])) for m in gone]
            raise fenced(self._config, self.writer, batch) or prepared_lost(self.writer, len(todo), states)
        open_ = {key: found for key, found in known.items() if found is not None}
        hinted = {str(m.transaction): m.hint.first for m in todo if m.hint.first is not None}
        # the first time the brokers are asked: a right that a recovery will need is missed then
        witnesses = hinted if self._asked else {}
        witnesses |= self._transactions.first_offsets({k: found for k, found in open_.items() if k not in witnesses})
        self._asked = True
        return tuple(
            Decided(
                m.partition,
                m.rows,
                m.digest,
                str(m.transaction),
                open_[str(m.transaction)].producer,
                open_[str(m.transaction)].epoch,
                witnesses.get(str(m.transaction)),
            )
            for m in todo
        )

    def _decide(self, batch: int | None, transactions: tuple[Decided, ...]) -> None:
        """The point of no return."""
        assert self._owned is not None
        w = self.writer
        decision = Decision(w.prefix, w.run, w.query, w.topics, batch, transactions)
        # of the same query under another prefix, which it had before
        elsewhere = tuple(d for d in self._owned.known if self.writer.wrote(d))
        self._owned.record(decision, without=elsewhere)

    def _abort(self, messages: Sequence[Prepared]) -> None:
        """Abort what was not decided: as well as that can be done, the next start does the rest.

        Whatever this driver may have decided is in the log by now: it, or the one that fenced it, has fenced since.
        """
        try:
            decided = {d.id for decision in decisions(read_log(self._config)) for d in decision.transactions}
            ours = [m.transaction for m in messages if m.transaction is not None and m.transaction not in decided]
            abort_all(self._transactions, ours)
        except BrokerError as e:
            _LOG.warning("transactions stay open until the next start: %s", e)


def abort_attempt(config: Mapping[str, str], messages: Sequence[Prepared | None]) -> None:
    """Abort the transactions of a job that failed.

    Where all tasks were done, the driver may have decided: nothing is touched then. Fences nobody.
    """
    ours = [m.transaction for m in messages if m is not None and m.transaction is not None]
    if not ours or all(m is not None for m in messages):
        return
    transactions = Transactions(config)
    try:
        abort_all(transactions, ours)
    except BrokerError as e:
        _LOG.warning("transactions stay open until the next start: %s", e)
    finally:
        transactions.close()


def _is_of(decided: Decided, found: Described | None) -> bool:
    """Whether an open transaction is the decided one, and not a later one of the same pooled name."""
    return found is not None and (found.producer, found.epoch) == (decided.producer, decided.epoch)


def _state(found: Described | None) -> str:
    return "unknown" if found is None else found.state


def _alike(last: Decision, messages: Sequence[Prepared]) -> bool:
    """Whether a replay's tasks were given the same rows as the decided ones: only then can it fill what is missing."""
    before = {d.partition: (d.rows, d.digest) for d in last.transactions}
    return before == {m.partition: (m.rows, m.digest) for m in messages if m.rows}
