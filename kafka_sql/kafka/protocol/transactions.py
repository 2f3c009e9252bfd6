"""Request what transactions need: find coordinators, initialize producers, add partitions, end, list, describe.

Layouts: the message definitions of Apache Kafka (clients/src/main/resources/common/message). Listing and describing:
KIP-664. Finding several coordinators with one request: KIP-699. Identifying a producer by its epoch: KIP-360.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.addresses import Address
from kafka_sql.kafka.protocol.codec import ApiKey, Reader
from kafka_sql.kafka.protocol.connection import Connection, Request
from kafka_sql.kafka.topic_partition import TopicPartition

ONGOING: Final = "Ongoing"

GROUP, TRANSACTION = 0, 1  # the coordinator types of FindCoordinator
# Brokers without the feature transaction.version = 2 offer EndTxn version 5, but reject it and leave the transactional
# id unusable until the coordinator restarts. Version 4 works everywhere and does not change the epoch.
_LATEST_END_TXN_VERSION: Final = 4
_FIRST_VERSION_WITH_SEVERAL_COORDINATORS: Final = 4  # of FindCoordinator
_FIRST_VERSION_WITH_CURRENT_EPOCH: Final = 3  # of InitProducerId
_FIRST_VERSION_WITH_DURATION: Final = 1  # of ListTransactions (KIP-994)
_ANY_DURATION: Final = -1
_UNKNOWN_PRODUCER: Final = (-1, -1)  # id and epoch


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


def find_coordinators(
    connection: Connection, keys: Sequence[str], key_type: int = TRANSACTION
) -> dict[str, tuple[int, Address]]:
    """Request the coordinator of each transactional id or group: an error code and an address for each.

    Brokers before Apache Kafka 3.0 are asked about one after another.

    Args:
        key_type: TRANSACTION or GROUP.

    Raises:
        OSError: as ``Connection.ask_all``.
        UnsupportedVersionError: the broker supports no suitable version.
    """
    version = connection.choose_version(ApiKey.FIND_COORDINATOR, 1, _FIRST_VERSION_WITH_SEVERAL_COORDINATORS)
    if version == _FIRST_VERSION_WITH_SEVERAL_COORDINATORS:
        return _read_coordinators(connection.ask(_find_coordinators(keys, key_type)))
    responses = connection.ask_all([_find_coordinator(key, key_type) for key in keys])
    return {key: _read_coordinator(response) for key, response in zip(keys, responses, strict=True)}


def _find_coordinators(keys: Sequence[str], key_type: int) -> Request:
    def encode(_: int, flexible: bool) -> bytes:
        encoded = codec.array((codec.string(key, flexible) for key in keys), flexible)
        return codec.pack("b", key_type) + encoded + codec.tags(flexible)

    return Request(
        ApiKey.FIND_COORDINATOR,
        _FIRST_VERSION_WITH_SEVERAL_COORDINATORS,
        _FIRST_VERSION_WITH_SEVERAL_COORDINATORS,
        encode,
    )


def _read_coordinators(response: Reader) -> dict[str, tuple[int, Address]]:
    def coordinator() -> tuple[str, tuple[int, Address]]:
        key = str(response.string())
        response.number("i")  # node id
        address = (str(response.string()), response.number("i"))
        code = response.number("h")
        response.string()  # error message
        response.tags()
        return key, (code, address)

    response.throttle_time()
    return dict(response.array(coordinator))


def _find_coordinator(key: str, key_type: int) -> Request:
    def encode(_: int, flexible: bool) -> bytes:
        return codec.string(key, flexible) + codec.pack("b", key_type) + codec.tags(flexible)

    return Request(ApiKey.FIND_COORDINATOR, 1, _FIRST_VERSION_WITH_SEVERAL_COORDINATORS - 1, encode)


def _read_coordinator(response: Reader) -> tuple[int, Address]:
    response.throttle_time()
    code = response.number("h")
    response.string()  # error message
    response.number("i")  # node id
    return code, (str(response.string()), response.number("i"))


def init_producer_id(transactional_id: str | None, timeout_ms: int) -> Request:
    """Request a producer id and epoch. An open transaction of the transactional id is aborted.

    Args:
        timeout_ms: milliseconds after which the brokers abort a transaction.
    """
    return _init_producer_id(0, transactional_id, timeout_ms, *_UNKNOWN_PRODUCER)


def bump_producer_epoch(transactional_id: str, current: TransactionDescription) -> Request:
    """Increment the epoch of a transactional id, which fences its producer and aborts its open transaction.

    The coordinator returns an error if the epoch differs from ``current`` (KIP-360).
    """
    return _init_producer_id(
        _FIRST_VERSION_WITH_CURRENT_EPOCH,
        transactional_id,
        current.timeout_ms,
        current.producer_id,
        current.producer_epoch,
    )


def _init_producer_id(
    oldest_version: int, transactional_id: str | None, timeout_ms: int, producer_id: int, producer_epoch: int
) -> Request:
    def encode(version: int, flexible: bool) -> bytes:
        current = codec.pack("qh", producer_id, producer_epoch) if version >= _FIRST_VERSION_WITH_CURRENT_EPOCH else b""
        return codec.string(transactional_id, flexible) + codec.pack("i", timeout_ms) + current + codec.tags(flexible)

    return Request(ApiKey.INIT_PRODUCER_ID, oldest_version, 4, encode)


def read_init_producer_id(response: Reader) -> tuple[int, int, int]:
    """Read the response to ``init_producer_id``: error code, producer id, producer epoch."""
    response.throttle_time()
    return response.number("h"), response.number("q"), response.number("h")


def add_partitions_to_txn(
    transactional_id: str, producer_id: int, producer_epoch: int, topic: str, partitions: Sequence[int]
) -> Request:
    """Announce partitions to which the transaction is going to write."""

    def encode(_: int, flexible: bool) -> bytes:
        numbers = codec.array((codec.pack("i", partition) for partition in partitions), flexible)
        topics = codec.array([codec.string(topic, flexible) + numbers + codec.tags(flexible)], flexible)
        producer = codec.string(transactional_id, flexible) + codec.pack("qh", producer_id, producer_epoch)
        return producer + topics + codec.tags(flexible)

    return Request(ApiKey.ADD_PARTITIONS_TO_TXN, 0, 3, encode)  # later versions are for brokers only


def read_add_partitions_to_txn(response: Reader) -> dict[int, int]:
    """Read the response to ``add_partitions_to_txn``: the error code of each partition."""

    def partition() -> tuple[int, int]:
        number, code = response.number("i"), response.number("h")
        response.tags()
        return number, code

    def topic() -> list[tuple[int, int]]:
        response.string()
        codes = response.array(partition)
        response.tags()
        return codes

    response.throttle_time()
    return {number: code for codes in response.array(topic) for number, code in codes}


def end_txn(transactional_id: str, producer_id: int, producer_epoch: int, *, committed: bool) -> Request:
    """Commit or abort the open transaction."""

    def encode(_: int, flexible: bool) -> bytes:
        numbers = codec.pack("qh?", producer_id, producer_epoch, committed)
        return codec.string(transactional_id, flexible) + numbers + codec.tags(flexible)

    return Request(ApiKey.END_TXN, 0, _LATEST_END_TXN_VERSION, encode)


def read_error_code(response: Reader) -> int:
    """Read the error code of a response to ``end_txn`` or ``bump_producer_epoch``."""
    response.throttle_time()
    code: int = response.number("h")
    return code


def describe_transactions(transactional_ids: Sequence[str]) -> Request:
    """Request the state of transactions. Goes to their coordinator."""

    def encode(_: int, flexible: bool) -> bytes:
        return codec.array((codec.string(key, flexible) for key in transactional_ids), flexible) + codec.tags(flexible)

    return Request(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0, encode)


def read_describe_transactions(response: Reader) -> dict[str, tuple[int, TransactionDescription]]:
    """Read the response to ``describe_transactions``: an error code and the state for each id."""

    def topic() -> list[TopicPartition]:
        name = str(response.string())
        numbers = response.array(lambda: response.number("i"))
        response.tags()
        return [(name, number) for number in numbers]

    def transaction() -> tuple[str, tuple[int, TransactionDescription]]:
        code = response.number("h")
        key, state = str(response.string()), str(response.string())
        timeout_ms, start_time_ms, producer_id = response.number("i"), response.number("q"), response.number("q")
        epoch = response.number("h")
        partitions = tuple(partition for topics in response.array(topic) for partition in topics)
        response.tags()
        return key, (code, TransactionDescription(state, producer_id, epoch, timeout_ms, start_time_ms, partitions))

    response.throttle_time()
    return dict(response.array(transaction))


def list_ongoing_transactions() -> Request:
    """Request the transactions in the state Ongoing that a broker coordinates."""

    def encode(version: int, flexible: bool) -> bytes:
        states = codec.array([codec.string(ONGOING, flexible)], flexible)
        duration = codec.pack("q", _ANY_DURATION) if version >= _FIRST_VERSION_WITH_DURATION else b""
        return states + codec.array([], flexible) + duration + codec.tags(flexible)  # of all producers

    return Request(ApiKey.LIST_TRANSACTIONS, 0, 1, encode)


def read_list_transactions(response: Reader) -> tuple[int, list[str]]:
    """Read the response to ``list_ongoing_transactions``: the error code and the transactional ids."""

    def transaction() -> str:
        key = str(response.string())
        response.number("q")  # producer id
        response.string()  # state
        response.tags()
        return key

    response.throttle_time()
    code = response.number("h")
    response.array(response.string)  # unknown states
    return code, response.array(transaction)


def describe_producers(partitions: Sequence[TopicPartition]) -> Request:
    """Request the active producers of partitions. Goes to their leader."""
    topics: dict[str, list[int]] = {}
    for name, number in partitions:
        topics.setdefault(name, []).append(number)

    def encode(_: int, flexible: bool) -> bytes:
        encoded = (
            codec.string(name, flexible)
            + codec.array((codec.pack("i", number) for number in numbers), flexible)
            + codec.tags(flexible)
            for name, numbers in topics.items()
        )
        return codec.array(encoded, flexible) + codec.tags(flexible)

    return Request(ApiKey.DESCRIBE_PRODUCERS, 0, 0, encode)


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
        response.string()  # error message
        partitions[topic, number] = code, response.array(producer)
        response.tags()

    def topic() -> None:
        name = str(response.string())
        response.array(lambda: partition(name))
        response.tags()

    response.throttle_time()
    response.array(topic)
    return partitions
