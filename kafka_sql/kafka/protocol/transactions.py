"""The requests about transactions: find their coordinator, initialize producers, add partitions, end, list, describe.

Layouts: the message definitions of Apache Kafka (clients/src/main/resources/common/message). Listing and describing:
KIP-664. Finding several coordinators with one request: KIP-699. Requests of producers have the oldest version with all
required fields, which brokers from 2.1 to 4.x support.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import NO_TAGS, ApiKey, Reader
from kafka_sql.kafka.protocol.connection import Address, Request
from kafka_sql.kafka.types import TopicPartition

ONGOING: Final = "Ongoing"

_TRANSACTION: Final = 1  # the coordinator type of FindCoordinator
# Brokers without the feature transaction.version = 2 offer EndTxn version 5, but reject it and leave the transactional
# id unusable until the coordinator restarts. Version 4 works everywhere and does not change the epoch.
_MAX_END_TXN_VERSION: Final = 4
_FIRST_FLEXIBLE_END_TXN: Final = 3


@dataclass(frozen=True)
class TransactionDescription:
    """The state of a transaction as its coordinator reports it.

    Attributes:
        state: 'Ongoing', 'PrepareCommit', 'CompleteCommit', 'PrepareAbort', 'CompleteAbort', 'Empty' or 'Dead'.
        timeout_ms: milliseconds after which the broker aborts it.
        start_time_ms: milliseconds since 1970; -1 if it contains nothing yet.
        partitions: partitions to which it has written.
    """

    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_time_ms: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True)
class ActiveProducer:
    """The state of a producer as a partition's leader reports it.

    Attributes:
        txn_start_offset: the first offset of its open transaction in this partition; -1 if none is open.
    """

    producer_id: int
    producer_epoch: int
    txn_start_offset: int


def find_coordinators(transactional_ids: Sequence[str]) -> Request:
    """Request the coordinator of each transactional id."""
    return Request(
        ApiKey.FIND_COORDINATOR,
        4,
        codec.pack("b", _TRANSACTION) + codec.compact_array(map(codec.compact_string, transactional_ids)) + NO_TAGS,
        flexible=True,
    )


def read_find_coordinators(response: Reader) -> dict[str, tuple[int, Address]]:
    """Read the response to ``find_coordinators``: an error code and an address for each id."""

    def coordinator() -> tuple[str, tuple[int, Address]]:
        key = str(response.compact_string())
        response.number("i")  # node id
        address = (str(response.compact_string()), response.number("i"))
        code = response.number("h")
        response.compact_string()  # error message
        response.tags()
        return key, (code, address)

    response.number("i")  # throttle time
    return dict(response.compact_array(coordinator))


def init_producer_id(transactional_id: str | None, timeout_ms: int) -> Request:
    """Request a producer id and epoch. An open transaction of the transactional id is aborted.

    Args:
        timeout_ms: milliseconds after which the brokers abort a transaction.
    """
    return Request(ApiKey.INIT_PRODUCER_ID, 1, codec.string(transactional_id) + codec.pack("i", timeout_ms))


def bump_producer_epoch(transactional_id: str, current: TransactionDescription) -> Request:
    """Increment the epoch of a transactional id, which fences its producer and aborts its open transaction.

    The coordinator returns an error if the epoch differs from ``current`` (KIP-360).
    """
    numbers = codec.pack("iqh", current.timeout_ms, current.producer_id, current.producer_epoch)
    return Request(
        ApiKey.INIT_PRODUCER_ID, 3, codec.compact_string(transactional_id) + numbers + NO_TAGS, flexible=True
    )


def read_init_producer_id(response: Reader) -> tuple[int, int, int]:
    """Read the response to ``init_producer_id``: error code, producer id, producer epoch."""
    response.number("i")  # throttle time
    return response.number("h"), response.number("q"), response.number("h")


def add_partitions_to_txn(
    transactional_id: str, producer_id: int, producer_epoch: int, topic: str, partitions: Sequence[int]
) -> Request:
    """Announce partitions to which the transaction is going to write."""
    numbers = codec.pack(f"{len(partitions) + 1}i", len(partitions), *partitions)
    producer = codec.string(transactional_id) + codec.pack("qhi", producer_id, producer_epoch, 1)
    return Request(ApiKey.ADD_PARTITIONS_TO_TXN, 1, producer + codec.string(topic) + numbers)


def read_add_partitions_to_txn(response: Reader) -> dict[int, int]:
    """Read the response to ``add_partitions_to_txn``: the error code of each partition."""

    def topic() -> list[tuple[int, int]]:
        response.string()
        return response.array(lambda: (response.number("i"), response.number("h")))

    response.number("i")  # throttle time
    return {partition: code for codes in response.array(topic) for partition, code in codes}


def end_txn(
    transactional_id: str, producer_id: int, producer_epoch: int, *, committed: bool, latest_version: int = 1
) -> Request:
    """Commit or abort the open transaction.

    Args:
        latest_version: the latest version of EndTxn that the broker supports.
    """
    version = min(_MAX_END_TXN_VERSION, latest_version)
    numbers = codec.pack("qh?", producer_id, producer_epoch, committed)
    if version < _FIRST_FLEXIBLE_END_TXN:
        return Request(ApiKey.END_TXN, version, codec.string(transactional_id) + numbers)
    return Request(ApiKey.END_TXN, version, codec.compact_string(transactional_id) + numbers + NO_TAGS, flexible=True)


def read_error_code(response: Reader) -> int:
    """Read the error code of a response to ``end_txn`` or ``bump_producer_epoch``."""
    response.number("i")  # throttle time
    code: int = response.number("h")
    return code


def describe_transactions(transactional_ids: Sequence[str]) -> Request:
    """Request the state of transactions. Goes to their coordinator."""
    body = codec.compact_array(map(codec.compact_string, transactional_ids)) + NO_TAGS
    return Request(ApiKey.DESCRIBE_TRANSACTIONS, 0, body, flexible=True)


def read_describe_transactions(response: Reader) -> dict[str, tuple[int, TransactionDescription]]:
    """Read the response to ``describe_transactions``: an error code and the state for each id."""

    def topic() -> list[TopicPartition]:
        name = str(response.compact_string())
        numbers = response.compact_array(lambda: response.number("i"))
        response.tags()
        return [(name, number) for number in numbers]

    def transaction() -> tuple[str, tuple[int, TransactionDescription]]:
        code = response.number("h")
        key, state = str(response.compact_string()), str(response.compact_string())
        timeout_ms, start_time_ms, producer_id = response.number("i"), response.number("q"), response.number("q")
        epoch = response.number("h")
        partitions = tuple(partition for topics in response.compact_array(topic) for partition in topics)
        response.tags()
        return key, (code, TransactionDescription(state, producer_id, epoch, timeout_ms, start_time_ms, partitions))

    response.number("i")  # throttle time
    return dict(response.compact_array(transaction))


def list_ongoing_transactions() -> Request:
    """Request the transactions in the state Ongoing that a broker coordinates."""
    states = codec.compact_array([codec.compact_string(ONGOING)])
    return Request(ApiKey.LIST_TRANSACTIONS, 0, states + codec.compact_array([]) + NO_TAGS, flexible=True)


def read_list_transactions(response: Reader) -> tuple[int, list[str]]:
    """Read the response to ``list_ongoing_transactions``: the error code and the transactional ids."""

    def transaction() -> str:
        key = str(response.compact_string())
        response.number("q")  # producer id
        response.compact_string()  # state
        response.tags()
        return key

    response.number("i")  # throttle time
    code = response.number("h")
    response.compact_array(response.compact_string)  # unknown states
    return code, response.compact_array(transaction)


def describe_producers(partitions: Sequence[TopicPartition]) -> Request:
    """Request the active producers of partitions. Goes to their leader."""
    topics: dict[str, list[int]] = {}
    for name, number in partitions:
        topics.setdefault(name, []).append(number)
    body = codec.compact_array(
        codec.compact_string(name) + codec.compact_array(codec.pack("i", n) for n in numbers) + NO_TAGS
        for name, numbers in topics.items()
    )
    return Request(ApiKey.DESCRIBE_PRODUCERS, 0, body + NO_TAGS, flexible=True)


def read_describe_producers(response: Reader) -> dict[TopicPartition, tuple[int, list[ActiveProducer]]]:
    """Read the response to ``describe_producers``: an error code and the producers for each partition."""
    partitions: dict[TopicPartition, tuple[int, list[ActiveProducer]]] = {}

    def producer() -> ActiveProducer:
        producer_id, epoch = response.number("q"), response.number("i")
        response.number("i")  # last sequence
        response.number("q")  # last timestamp
        response.number("i")  # coordinator epoch
        start = response.number("q")
        response.tags()
        return ActiveProducer(producer_id, epoch, start)

    def partition(topic: str) -> None:
        number, code = response.number("i"), response.number("h")
        response.compact_string()  # error message
        partitions[topic, number] = code, response.compact_array(producer)
        response.tags()

    def topic() -> None:
        name = str(response.compact_string())
        response.compact_array(lambda: partition(name))
        response.tags()

    response.number("i")  # throttle time
    response.compact_array(topic)
    return partitions
