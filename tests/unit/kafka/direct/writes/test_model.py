"""The model test of the direct writer: random histories, and deliberate bugs that it has to find.

8,000 histories and 2,500 with transactions take about 15 seconds. ``make model`` runs a million of each.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest

from kafka_sql.kafka.direct.writes import send_queue, sender
from kafka_sql.kafka.direct.writes.batch import NO_PRODUCER, Batch, ProducerIdAndEpoch, small_batch
from kafka_sql.kafka.direct.writes.send_queue import SendQueue
from kafka_sql.kafka.direct.writes.sender import Sender
from kafka_sql.kafka.direct.writes.transaction_manager import TransactionManager
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.produce import ProduceResult
from kafka_sql.kafka.protocol.retries import Backoff
from tests.model import transactions
from tests.model.history import WRITTEN_AGAIN, History, Step, find_violation, generate, run

HISTORIES, TRANSACTION_HISTORIES = 8_000, 2_500
_HISTORIES_PER_BUG = 20_000  # at most; each bug was found within 15,000

_complete, _next_batch = Sender._complete, SendQueue.next_batch


def test_random_histories() -> None:
    found = find_violation(range(HISTORIES))
    assert found is None, f"{found[0]}\n=> {found[1]}"


def test_random_histories_of_transactions() -> None:
    found = transactions.find_violation(range(TRANSACTION_HISTORIES))
    assert found is None, f"{found[0]}\n=> {found[1]}"


def test_histories_are_repeatable() -> None:
    assert str(generate(7)) == str(generate(7))
    assert [run(generate(seed)) for seed in range(20)] == [None] * 20


def _take_out_of_order_as_written(self: Sender, queue: SendQueue, batch: Batch, result: ProduceResult) -> None:
    if result.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and batch is queue.batches[0]:
        result = result._replace(code=ErrorCode.NONE)
    _complete(self, queue, batch, result)


def _pipeline_at_once(self: SendQueue, connection: Connection, now: float) -> Batch | None:
    if self.in_flight and self.has_unsent() and not self.is_retrying and self.in_flight < 5 and self.retry_at <= now:
        return self.batches[self.in_flight]
    return _next_batch(self, connection, now)


_BUGS: dict[str, tuple[Any, str, Any]] = {
    "out of order taken as written": (Sender, "_complete", _take_out_of_order_as_written),
    "pipelining without an acknowledgement": (SendQueue, "next_batch", _pipeline_at_once),
    "lost batch not noted": (Batch, "may_be_written", property(lambda self: False, lambda self, value: None)),
    "timed out batch taken as rejected": (sender, "_NOT_WRITTEN", sender._NOT_WRITTEN | {ErrorCode.REQUEST_TIMED_OUT}),
    "moved leader taken as rejection": (
        sender,
        "_NOT_WRITTEN",
        sender._NOT_WRITTEN | {ErrorCode.NOT_LEADER_OR_FOLLOWER},
    ),
    "batch expires at its first failure": (sender, "_MIN_TRIES", 1),
    "acknowledgement never outdated": (send_queue, "_KNOWN_SECONDS", math.inf),
    "epoch not bumped": (ProducerIdAndEpoch, "next_epoch", lambda self: self),
    "gap in sequence numbers": (send_queue, "next_sequence", lambda sequence, records: sequence + records + 1),
}


@pytest.mark.parametrize("bug", _BUGS)
def test_bugs_are_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*_BUGS[bug])
    assert find_violation(range(_HISTORIES_PER_BUG)) is not None


def _violations_after_an_election() -> set[str | None]:
    """Run histories in which the new leader has all batches and remembers only the last one.

    Returns:
        the rules that were broken; "written again" if batches were.
    """
    sends = [Step("send", values=(0,)), Step("idle", seconds=0.01), Step("send", values=(0, 0, 0, 0))]
    moments = [number / 10_000 for number in range(300)]
    elections = [Step("elect", at, values=(0, 1, 5, 1)) for at in moments]
    histories = [History(1, 2, 1, False, False, [*sends, election]) for election in elections]
    return {run(history) or ("written again" if WRITTEN_AGAIN else None) for history in histories}


def test_new_leader_remembers_only_the_last_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _violations_after_an_election() == {None}
    monkeypatch.setattr(SendQueue, "skip_to_next", lambda self, batch: batch is not self.batches[self.probe])
    assert _violations_after_an_election() == {None, "written again"}


def test_rejected_batch_is_never_skipped() -> None:
    """The next one may be written before it: a leader that does not know the producer accepts any sequence number."""
    connection: Any = object()
    queue = SendQueue("t", 0, ProducerIdAndEpoch(1, 0))
    first, second = (small_batch("t", 0, {"key": None}) for _ in range(2))
    for batch in (first, second):
        queue.append(batch)
        queue.start(batch, connection)
        queue.end()
    second.may_be_written = True
    assert not queue.skip_to_next(first)
    assert queue.acknowledge(second, now=1.0) is None
    first.may_be_written = True
    assert queue.skip_to_next(first)
    assert queue.acknowledge(second, now=1.0) == [first, second]


def test_batches_are_not_sent_again_after_a_later_one_was_acknowledged() -> None:
    connection: Any = object()
    queue = SendQueue("t", 0, ProducerIdAndEpoch(1, 0))
    first, second, third = (small_batch("t", 0, {"key": None}) for _ in range(3))
    for batch in (first, second, third):
        queue.append(batch)
        queue.start(batch, connection)
        queue.end()
    assert queue.can_restart()
    first.may_be_written = second.may_be_written = True
    assert queue.acknowledge(third, now=1.0) == [third]
    assert not queue.can_restart()


def test_batches_without_sequence_numbers() -> None:
    """With 'enable.idempotence' = 'false', each is sent until it is acknowledged, whatever happens to the others."""
    connection: Any = object()
    queue = SendQueue("t", 0, NO_PRODUCER)
    first, second = (small_batch("t", 0, {"key": None}) for _ in range(2))
    for batch in (first, second):
        queue.append(batch)
        queue.start(batch, connection)
    assert (first.sequence, second.sequence) == (-1, -1)
    assert struct.unpack_from(">qhi", first.content, 43) == (-1, -1, -1)
    queue.end()
    queue.delay(0.0, Backoff(0.1, 0.1))  # the first one was rejected
    queue.end()
    assert queue.acknowledge(second, now=1.0) == [second]
    assert queue.next_batch(connection, 1.0) is first


_TRANSACTION_BUGS: dict[str, tuple[Any, str, Any]] = {
    "abort overtakes batches": (TransactionManager, "fence", TransactionManager.abort),
    "partitions not added": (TransactionManager, "add_partitions", lambda self, topic, partitions: None),
    "commit before the acknowledgements": (Sender, "flush", lambda self: None),
    "lost batch not noted": _BUGS["lost batch not noted"],
}


@pytest.mark.parametrize("bug", _TRANSACTION_BUGS)
def test_bugs_of_transactions_are_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*_TRANSACTION_BUGS[bug])
    assert transactions.find_violation(range(_HISTORIES_PER_BUG)) is not None


def test_batches_with_a_new_epoch_wait_for_its_first_acknowledgement() -> None:
    """The leader does not know the new epoch, so it would accept the second batch if it rejected the first."""
    connection: Any = object()
    queue = SendQueue("t", 0, ProducerIdAndEpoch(1, 0))
    first, second, third = (small_batch("t", 0, {"key": None}) for _ in range(3))
    queue.append(first)
    queue.start(first, connection)
    queue.end()
    assert queue.acknowledge(first, now=1.0) == [first]
    queue.append(second)
    queue.append(third)
    queue.restart(ProducerIdAndEpoch(1, 1))
    assert (queue.producer, second.sequence, third.sequence) == (ProducerIdAndEpoch(1, 1), 0, 1)
    queue.start(second, connection)
    assert queue.next_batch(connection, 1.1) is None
    queue.end()
    assert queue.acknowledge(second, now=1.2) == [second]
    assert queue.next_batch(connection, 1.3) is third
