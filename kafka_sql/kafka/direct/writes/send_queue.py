"""Order the batches of one partition: which one is sent next, and which ones a response acknowledges."""

from __future__ import annotations

import itertools
import math
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from kafka_sql.kafka.direct.writes.batch import NO_PRODUCER, Batch, ProducerIdAndEpoch, next_sequence
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.retries import Backoff

MAX_IN_FLIGHT: Final = 5  # brokers remember the last five batches of a producer (KIP-98)
_KNOWN_SECONDS: Final = 1.0  # after an acknowledgment, how long the leader is assumed to remember the producer


@dataclass(eq=False)
class SendQueue:
    """The batches of one partition that are not acknowledged, and what the next batches need to know.

    It outlives the task: the next one of the process continues its sequence numbers.
    """

    topic: str
    partition: int
    producer: ProducerIdAndEpoch | None = None  # the producer id of its batches; None before the first one
    batches: deque[Batch] = field(default_factory=deque)  # in the order of their sequence numbers
    in_flight: int = 0  # how many of them are in flight
    connection: Connection | None = None  # the connection on which those were sent
    was_acknowledged: bool = False  # whether any batch was acknowledged so far
    is_retrying: bool = False  # whether the oldest batch failed. Then only one batch is sent at a time.
    probe: int = 0  # index of the batch to send while retrying; see ``skip_to_next``
    # the error code that showed that the leader does not know the producer's sequence numbers, or 0
    lost_sequence_code: int = 0
    retry_at: float = 0.0  # when the next batch may be sent, in seconds of ``time.monotonic``
    _next_sequence: int = 0
    _failures: int = 0
    _was_verified_again: bool = False
    _acknowledged_by: Connection | None = None
    _acknowledged_at: float = -math.inf

    def append(self, batch: Batch) -> None:
        assert self.producer is not None
        if self.producer == NO_PRODUCER:
            batch.write_header(NO_PRODUCER, -1)
        else:
            batch.write_header(self.producer, self._next_sequence)
            self._next_sequence = next_sequence(self._next_sequence, batch.records)
        self.batches.append(batch)

    def has_unsent(self) -> bool:
        """Return whether a batch is not in flight."""
        return self.in_flight < len(self.batches)

    def next_batch(self, connection: Connection, now: float) -> Batch | None:
        """Return the batch that may be sent to the leader now; None if none may.

        A second batch is sent while the first one is in flight only if this leader has acknowledged one just before. A
        leader that does not know the producer, because it is new or has forgotten it, accepts any sequence number: if
        it rejected the first batch, it would accept the second one in its place.
        """
        if self.retry_at > now or not self.has_unsent():
            return None
        if not self.in_flight:
            return self.batches[self.probe]
        is_known = self._acknowledged_by is connection and now - self._acknowledged_at < _KNOWN_SECONDS
        can_pipeline = is_known and not self.is_retrying and self.connection is connection
        return self.batches[self.in_flight] if can_pipeline and self.in_flight < MAX_IN_FLIGHT else None

    def start(self, batch: Batch, connection: Connection) -> None:
        batch.sends += 1
        batch.tries += 1
        self.in_flight += 1
        self.connection = connection

    def end(self) -> None:
        """Note that the response to a batch arrived, or never will."""
        self.in_flight -= 1

    def acknowledge(self, batch: Batch, now: float) -> list[Batch] | None:
        """Remove an acknowledged batch, and the earlier ones that its acknowledgment shows to be written.

        Returns:
            the removed batches. None if the leader accepted the batch although it had rejected an earlier one: it does
            not know the producer's sequence numbers. Without sequence numbers, leaders accept batches in any order.
        """
        index = self.batches.index(batch)
        earlier = itertools.islice(self.batches, index)
        if self.producer != NO_PRODUCER and any(not batch.may_be_written for batch in earlier):
            return None
        if index == self.probe:
            written = [self.batches.popleft() for _ in range(index + 1)]
            self.is_retrying, self.probe, self.retry_at, self._failures = False, 0, 0.0, 0
        else:  # an earlier one is sent again, and the leader recognizes it if it has a sequence number
            written = [batch]
            del self.batches[index]
        self.was_acknowledged = True
        self._acknowledged_by, self._acknowledged_at = self.connection, now
        return written

    def skip_to_next(self, batch: Batch) -> bool:
        """Handle OUT_OF_ORDER_SEQUENCE_NUMBER. Return whether to continue; if not, the batch was not written.

        A batch after the oldest one is out of order because an earlier one failed; it is sent again after that one. If
        the retried batch itself is out of order, the leader has an earlier or a later state of the producer. The state
        is later if the leader wrote this batch, its response was lost, and the leader was restarted: it then only
        remembers the producer's last batch. The next batch decides: sequence numbers have no gaps, so if the next batch
        is written or accepted, this one is written too. Only a batch that may be written can be skipped, never one that
        was rejected.
        """
        index = self.batches.index(batch)
        if index != self.probe:
            return True
        has_next = index + 1 < len(self.batches) and self.batches[index + 1].may_be_written
        if not (batch.may_be_written and has_next):
            return False
        self.probe += 1
        return True

    def may_verify_again(self) -> bool:
        """Handle INVALID_TXN_STATE. Return whether to send the batch again, which happens once.

        Leaders verify with the coordinator that a partition is in the transaction before they write its first batch
        (KIP-890). Brokers 3.6 do not verify a partition that they do not lead yet, for example of a new topic. If they
        lead it as soon as they have verified the other partitions of the request, they reject its batch with this error
        or NOT_LEADER_OR_FOLLOWER. The second attempt is verified: its error shows that the transaction has ended.
        """
        may_verify = not self.was_acknowledged and not self._was_verified_again
        self._was_verified_again = True
        return may_verify

    def delay(self, now: float, backoff: Backoff) -> None:
        """Send the oldest batch again, after a pause that grows with each failure."""
        self.is_retrying = True
        if self.retry_at <= now:  # else another batch of the same request failed
            self._failures += 1
            self.retry_at = now + backoff.seconds(self._failures)

    def can_restart(self) -> bool:
        """Return whether all batches can be sent again with another epoch without a change of their order.

        They cannot after one of them was removed because a later leader had acknowledged it.
        """
        records = sum(batch.records for batch in self.batches)
        return next_sequence(self.batches[0].sequence, records) == self._next_sequence

    def restart(self, producer: ProducerIdAndEpoch) -> None:
        self.producer, self._next_sequence, self.lost_sequence_code, self.probe = producer, 0, 0, 0
        self._acknowledged_by = None  # the leader does not know the new id or epoch
        batches = list(self.batches)
        self.batches.clear()
        for batch in batches:
            batch.may_be_written = False  # with the new id or epoch
            self.append(batch)
