"""The client that ends transactions and a simulated broker: commits, and outcomes from a partition's log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from kafka_sql.errors import AuthorizationError, TransactionError, UnsupportedVersionError
from kafka_sql.kafka.direct.writes.batch import ProducerIdAndEpoch, small_batch
from kafka_sql.kafka.error_codes import ErrorCode
from kafka_sql.kafka.protocol.codec import ApiKey, pack
from kafka_sql.kafka.protocol.transaction_admin import EndTxnTarget, TransactionAdmin
from kafka_sql.kafka.protocol.transactions import Outcome, TransactionDescription
from tests.unit.kafka.direct.simulated_broker import LOST, SimulatedBroker, simulated_broker


@pytest.fixture
def broker() -> Iterator[SimulatedBroker]:
    with simulated_broker(t=1) as running:
        for offset in (0, 3):  # a batch of three records, and one of two
            records = {str(i): b"v" for i in range(3 if offset == 0 else 2)}
            batch = small_batch("t", 0, records)
            batch.write_header(ProducerIdAndEpoch(7, 0, "id"), 0)
            running.logs["t", 0].append(pack("q", offset) + (batch.head + bytes(batch.body))[8:])
        yield running


@pytest.fixture
def client(broker: SimulatedBroker) -> Iterator[TransactionAdmin]:
    with closing(TransactionAdmin(broker.config(delivery_timeout_ms="5000", linger_ms="0"))) as admin:
        yield admin


@pytest.mark.parametrize(
    ("offset", "producer", "stable", "aborted", "expected"),
    [
        (0, 7, None, [], Outcome.COMMITTED),
        (3, 7, 4, [], Outcome.COMMITTED),
        (4, 7, None, [(7, 3)], Outcome.COMMITTED),  # another transaction was aborted
        (3, 7, None, [(8, 3), (7, 3)], Outcome.ABORTED),
        (3, 7, 3, [], Outcome.OPEN),
        (3, 7, 0, [], Outcome.OPEN),
        (3, 7, -1, [], Outcome.COMMITTED),  # the broker does not report it
        (3, 8, None, [], Outcome.UNKNOWN),  # another producer's record
        (5, 7, 9, [], Outcome.UNKNOWN),  # beyond the end
    ],
)
def test_outcome(
    broker: SimulatedBroker,
    client: TransactionAdmin,
    offset: int,
    producer: int,
    stable: int | None,
    aborted: list[tuple[int, int]],
    expected: Outcome,
) -> None:
    broker.last_stable_offset, broker.aborted = stable, aborted
    assert client.outcome(("t", 0, offset), producer) is expected


def test_outcome_of_a_compacted_record(broker: SimulatedBroker, client: TransactionAdmin) -> None:
    del broker.logs["t", 0][0]  # the first batch begins at offset 3
    broker.last_stable_offset = 9
    assert client.outcome(("t", 0, 2), 7) is Outcome.UNKNOWN
    assert client.outcome(("t", 0, 4), 7) is Outcome.COMMITTED


@pytest.mark.parametrize("error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, LOST])
@pytest.mark.parametrize("key", [ApiKey.METADATA, ApiKey.FETCH])
def test_outcome_is_requested_again(broker: SimulatedBroker, client: TransactionAdmin, error: int, key: ApiKey) -> None:
    broker.errors[key] = [error]
    assert client.outcome(("t", 0, 0), 7) is Outcome.COMMITTED
    assert broker.requests.count(key) == 2


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, AuthorizationError),
        (ErrorCode.INVALID_TOPIC_EXCEPTION, TransactionError),
        (ErrorCode.UNKNOWN_SERVER_ERROR, TransactionError),
    ],
)
def test_topics_with_an_error_are_not_requested_again(
    broker: SimulatedBroker, client: TransactionAdmin, code: int, error: type[Exception]
) -> None:
    broker.errors[ApiKey.METADATA] = [code] * 2
    description = TransactionDescription("Ongoing", 7, 0, 60_000, 0, (("t", 0),))
    for request in (lambda: client.outcome(("t", 0, 0), 7), lambda: client.first_offsets({"id": description})):
        with pytest.raises(error, match=f"Topic 't': .*{ErrorCode(code).name}"):
            request()
    assert broker.requests == [ApiKey.METADATA] * 2


def test_outcome_of_a_deleted_record(broker: SimulatedBroker, client: TransactionAdmin) -> None:
    broker.errors[ApiKey.FETCH] = [ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    assert client.outcome(("t", 0, 0), 7) is Outcome.UNKNOWN
    with pytest.raises(AuthorizationError, match=r"t\[0\]@0: .*READ and DESCRIBE on the topic"):
        client.outcome(("t", 0, 0), 7)


def test_commit(broker: SimulatedBroker, client: TransactionAdmin) -> None:
    targets = [EndTxnTarget("a", 1, 5), EndTxnTarget("b", 2, 6)]
    broker.errors[ApiKey.END_TXN] = [ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE]
    assert client.commit(targets) == {"a": ErrorCode.NONE, "b": ErrorCode.INVALID_TXN_STATE}
    assert broker.ended == [(1, 5, True)]
    assert broker.requests == [ApiKey.FIND_COORDINATOR, ApiKey.END_TXN, ApiKey.END_TXN]


def test_only_the_failed_commit_is_sent_again(broker: SimulatedBroker, client: TransactionAdmin) -> None:
    broker.errors[ApiKey.END_TXN] = [ErrorCode.NONE, ErrorCode.NOT_COORDINATOR]
    client.commit([EndTxnTarget("a", 1, 5), EndTxnTarget("b", 2, 6)])
    assert broker.ended == [(1, 5, True), (2, 6, True)]
    assert broker.requests.count(ApiKey.FIND_COORDINATOR) == 2


def test_abort(broker: SimulatedBroker, client: TransactionAdmin) -> None:
    """The epoch of a fenced producer was bumped by an earlier attempt, so its transaction is aborted."""
    description = TransactionDescription("Ongoing", 1, 5, 60_000, 0, (("t", 0),))
    broker.errors[ApiKey.INIT_PRODUCER_ID] = [
        ErrorCode.NONE,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    ]
    assert sorted(client.abort(dict.fromkeys("abcd", description))) == ["a", "b", "d"]
    assert broker.requests.count(ApiKey.INIT_PRODUCER_ID) == 5


def test_known_coordinators_are_not_looked_up(broker: SimulatedBroker, client: TransactionAdmin) -> None:
    client.set_coordinators({"a": broker.address})
    client.commit([EndTxnTarget("a", 1, 5)])
    assert broker.requests == [ApiKey.END_TXN]


@pytest.mark.parametrize(
    ("code", "expected"),
    [(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, False), (ErrorCode.INVALID_PRODUCER_ID_MAPPING, True)],
)
def test_write_permission(broker: SimulatedBroker, client: TransactionAdmin, code: int, expected: bool) -> None:
    broker.errors[ApiKey.END_TXN] = [code]
    assert client.can_write("p") is expected


def test_brokers_that_are_too_old(broker: SimulatedBroker, client: TransactionAdmin) -> None:
    with pytest.raises(UnsupportedVersionError, match=r"request ListTransactions .*Kafka 3\.0 or later"):
        client.list_ongoing("p")
