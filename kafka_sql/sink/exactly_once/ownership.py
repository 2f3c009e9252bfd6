"""Who may decide under a prefix: the newest run, for good."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Final

from kafka_sql.errors import WriterFencedError
from kafka_sql.kafka.decision_log import glance_at_log, make_log, read_log
from kafka_sql.kafka.decision_log_writer import LogWriter
from kafka_sql.sink.exactly_once.errors import overtaken, superseded
from kafka_sql.sink.exactly_once.records import Claim, Decision, Writer, claims, decisions
from kafka_sql.sink.exactly_once.transactional_ids import driver_id

_REMEMBERED: Final = 64  # runs that must not come back


@dataclass
class Owned:
    """A prefix that is one's own, until a newer run claims it.

    Attributes:
        log: by which decisions are written.
        prefixes: this one, and those under which the query wrote before.
        known: decisions of this prefix, and of this query under others that it had before.
        older: runs that cannot decide any more, so that what they left open may be aborted. What others have open may
            not: a driver that was stopped for a while, and goes on, would abort what a newer one has decided.
    """

    writer: Writer
    log: LogWriter
    prefixes: tuple[str, ...]
    known: list[Decision] = field(default_factory=list)
    older: frozenset[str] = frozenset()

    def record(self, *new: Decision, without: tuple[Decision, ...] = ()) -> None:
        """Write decisions down, in place of those that they replace, and delete others.

        Raises:
            Fenced: a newer writer has fenced this one.
        """
        gone = {d.key for d in without} - {d.key for d in new}
        self.log.write({**dict.fromkeys(gone), **{d.key: d.encoded() for d in new}})
        replaced = gone | {d.key for d in new}
        self.known = [d for d in self.known if d.key not in replaced] + list(new)


def own(config: Mapping[str, str], writer: Writer, batch: int | None, at_work: Callable[[], Collection[str]]) -> Owned:
    """Fence all older drivers of the prefix, and read what they have decided.

    The log is read before, too: a driver that was superseded and wakes up must not throw the new one out. Runs that
    have open transactions and never claimed the prefix are superseded as well.

    Args:
        batch: that is to be decided.
        at_work: gives the runs that have open transactions under the prefix.

    Raises:
        WriterFencedError: a newer run writes under this prefix, or is further.
        Fenced: a newer writer came in between.
        BrokerError: the brokers do not answer or refuse.
    """
    found = glance_at_log(config)
    if not found:
        make_log(config)
    _refuse_superseded(found, writer, batch)
    with ExitStack() as stack:
        log = stack.enter_context(closing(LogWriter(config, driver_id(writer.prefix))))
        log.fence()
        others = _others(found, writer)
        for other in others:
            with closing(LogWriter(config, driver_id(other))) as older:
                older.fence()
        found = read_log(config)
        _refuse_superseded(found, writer, batch)
        before = claims(found).get(writer.prefix)
        mine = next_claim(found, writer, at_work())
        if before is None or (before.run, before.superseded) != (mine.run, mine.superseded):
            log.write({mine.key: mine.encoded()})
        known = [d for d in decisions(found) if d.prefix == writer.prefix or writer.wrote(d)]
        once = [claims(found)[other] for other in others]
        ended = {*mine.superseded, *(d.run for d in known), *(r for c in once for r in (c.run, *c.superseded))}
        stack.pop_all()
    return Owned(writer, log, (writer.prefix, *others), known, frozenset(ended - {writer.run}))


def next_claim(log: dict[str, bytes], writer: Writer, at_work: Collection[str] = ()) -> Claim:
    """The claim with which a writer takes the place of the one before it.

    Args:
        at_work: runs whose place it takes, too.
    """
    before = claims(log).get(writer.prefix)
    runs = (*before.superseded, before.run) if before is not None else ()
    older = tuple(r for r in dict.fromkeys((*runs, *sorted(at_work))) if r != writer.run)[-_REMEMBERED:]
    topics = writer.topics if writer.query is not None else None
    return Claim(writer.prefix, writer.run, writer.query, topics, _who(writer), older)


def fenced(config: Mapping[str, str], writer: Writer, batch: int | None) -> WriterFencedError | None:
    """Who has taken this writer's place; None where nobody has, so that it may go on."""
    log = read_log(config)
    now = claims(log).get(writer.prefix)
    if now is not None and now.run != writer.run:
        return superseded(writer, now)
    further = _further(log, writer, batch)
    return overtaken(writer, batch, further) if further is not None else None


def _others(log: dict[str, bytes], writer: Writer) -> tuple[str, ...]:
    """Prefixes that the same query had before, and nobody has claimed since."""
    mine = (writer.query, writer.topics)
    found = [c.prefix for c in claims(log).values() if c.query is not None and (c.query, c.topics) == mine]
    return tuple(prefix for prefix in found if prefix != writer.prefix)


def _refuse_superseded(log: dict[str, bytes], writer: Writer, batch: int | None) -> None:
    now = claims(log).get(writer.prefix)
    if now is not None and writer.run in now.superseded:
        raise superseded(writer, now)
    further = _further(log, writer, batch)
    if further is not None:
        raise overtaken(writer, batch, further)


def _further(log: dict[str, bytes], writer: Writer, batch: int | None) -> Decision | None:
    """A decision of another run of the query, of a batch that comes later."""
    for decision in decisions(log):
        if writer.wrote(decision) and decision.run != writer.run and (decision.batch or 0) > (batch or 0):
            return decision
    return None


def _who(writer: Writer) -> str:
    kind = f"query {writer.query}" if writer.query else "a statement"
    now = datetime.now(timezone.utc).isoformat(" ", "seconds")
    return f"{kind} into '{writer.name}' on {socket.gethostname()}, process {os.getpid()}, at {now}"
