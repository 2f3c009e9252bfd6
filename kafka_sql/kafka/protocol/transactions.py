"""Request what transactions need: find coordinators, initialize producers, add partitions, end, list, describe.

Listing and describing: KIP-664. Finding several coordinators with one request: KIP-699. Identifying a producer by its
epoch: KIP-360. How a transaction ended after its coordinator has forgotten it: the evidence is one record of it and
the list of aborted transactions in a ``read_committed`` fetch.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kafka_sql.kafka.protocol.addresses import Address
from kafka_sql.kafka.protocol.codec import ApiKey, Reader
from kafka_sql.kafka.protocol.connection import Connection
from kafka_sql.kafka.protocol.fetch import fetch, read_fetch
from kafka_sql.kafka.protocol.layouts import APIS
from kafka_sql.kafka.protocol.messages import Request, make_request, read_response
from kafka_sql.kafka.topic_partition import TopicPartition, group_by_topic

ONGOING: Final = "Ongoing"

GROUP, TRANSACTION = 0, 1  # the coordinator types of FindCoordinator
_FIRST_VERSION_WITH_SEVERAL_COORDINATORS: Final = 4  # of FindCoordinator
_FIRST_VERSION_WITH_CURRENT_EPOCH: Final = 3  # of InitProducerId
_MAX_BYTES: Final = 1 << 20  # the first batch is returned complete whatever its size
# base offset; length, leader epoch, magic, checksum, attributes; last offset delta; two timestamps; producer id
_BATCH: Final = struct.Struct(">q4x4x1x4x2xi8x8xq")


@dataclass(frozen=True)
class TransactionDescription:
    """The state of a transaction as its coordinator reports it."""

    state: str  # 'Ongoing', 'PrepareCommit', 'CompleteCommit', 'PrepareAbort', 'CompleteAbort', 'Empty' or 'Dead'
    producer_id: int
    producer_epoch: int
    timeout_ms: int  # milliseconds after which the broker aborts it
    start_time_ms: int  # milliseconds since 1970; -1 if it contains nothing yet
    partitions: tuple[TopicPartition, ...]  # partitions to which it has written


@dataclass(frozen=True)
class ActiveProducer:
    """The state of a producer as a partition's leader reports it."""

    producer_id: int
    producer_epoch: int
    txn_start_offset: int  # the first offset of its open transaction in this partition; -1 if none is open


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
    api = ApiKey.FIND_COORDINATOR
    version = connection.choose_version(api, APIS[api].oldest, APIS[api].latest)
    if version >= _FIRST_VERSION_WITH_SEVERAL_COORDINATORS:
        response = connection.ask(make_request(api, coordinator_keys=keys, key_type=key_type))
        coordinators = read_response(response, api)["coordinators"]
    else:
        responses = connection.ask_all([make_request(api, key=key, key_type=key_type) for key in keys])
        coordinators = [{"key": key} | read_response(r, api) for key, r in zip(keys, responses, strict=True)]
    return {c["key"]: (c["error_code"], (c["host"], c["port"])) for c in coordinators}


def init_producer_id(transactional_id: str | None, timeout_ms: int) -> Request:
    """Request a producer id and epoch. An open transaction of the transactional id is aborted.

    Args:
        timeout_ms: milliseconds after which the brokers abort a transaction.
    """
    return make_request(ApiKey.INIT_PRODUCER_ID, transactional_id=transactional_id, transaction_timeout_ms=timeout_ms)


def bump_producer_epoch(transactional_id: str, current: TransactionDescription) -> Request:
    """Increment the epoch of a transactional id, which fences its producer and aborts its open transaction.

    The coordinator returns an error if the epoch differs from ``current`` (KIP-360).
    """
    return make_request(
        ApiKey.INIT_PRODUCER_ID,
        oldest=_FIRST_VERSION_WITH_CURRENT_EPOCH,
        transactional_id=transactional_id,
        transaction_timeout_ms=current.timeout_ms,
        producer_id=current.producer_id,
        producer_epoch=current.producer_epoch,
    )


def read_init_producer_id(response: Reader) -> tuple[int, int, int]:
    """Read the response to ``init_producer_id`` or ``bump_producer_epoch``: error code, producer id, producer epoch."""
    body = read_response(response, ApiKey.INIT_PRODUCER_ID)
    return body["error_code"], body["producer_id"], body["producer_epoch"]


def add_partitions_to_txn(
    transactional_id: str, producer_id: int, producer_epoch: int, topic: str, partitions: Sequence[int]
) -> Request:
    """Announce partitions to which the transaction is going to write."""
    return make_request(
        ApiKey.ADD_PARTITIONS_TO_TXN,
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        topics=[{"name": topic, "partitions": partitions}],
    )


def read_add_partitions_to_txn(response: Reader) -> dict[int, int]:
    """Read the response to ``add_partitions_to_txn``: the error code of each partition."""
    return {
        result["partition_index"]: result["partition_error_code"]
        for topic in read_response(response, ApiKey.ADD_PARTITIONS_TO_TXN)["results"]
        for result in topic["results_by_partition"]
    }


def end_txn(transactional_id: str, producer_id: int, producer_epoch: int, *, committed: bool) -> Request:
    """Commit or abort the open transaction."""
    return make_request(
        ApiKey.END_TXN,
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        committed=committed,
    )


def read_end_txn(response: Reader) -> int:
    """Read the error code of a response to ``end_txn``."""
    code: int = read_response(response, ApiKey.END_TXN)["error_code"]
    return code


def describe_transactions(transactional_ids: Sequence[str]) -> Request:
    """Request the state of transactions. Goes to their coordinator."""
    return make_request(ApiKey.DESCRIBE_TRANSACTIONS, transactional_ids=transactional_ids)


def read_describe_transactions(response: Reader) -> dict[str, tuple[int, TransactionDescription]]:
    """Read the response to ``describe_transactions``: an error code and the state for each id."""
    results = {}
    for state in read_response(response, ApiKey.DESCRIBE_TRANSACTIONS)["transaction_states"]:
        description = TransactionDescription(
            state["transaction_state"],
            state["producer_id"],
            state["producer_epoch"],
            state["transaction_timeout_ms"],
            state["transaction_start_time_ms"],
            tuple((topic["topic"], number) for topic in state["topics"] for number in topic["partitions"]),
        )
        results[state["transactional_id"]] = state["error_code"], description
    return results


def list_ongoing_transactions() -> Request:
    """Request the transactions in the state Ongoing that a broker coordinates."""
    return make_request(ApiKey.LIST_TRANSACTIONS, state_filters=[ONGOING], producer_id_filters=[])


def read_list_transactions(response: Reader) -> tuple[int, list[str]]:
    """Read the response to ``list_ongoing_transactions``: the error code and the transactional ids."""
    body = read_response(response, ApiKey.LIST_TRANSACTIONS)
    return body["error_code"], [state["transactional_id"] for state in body["transaction_states"]]


def describe_producers(partitions: Sequence[TopicPartition]) -> Request:
    """Request the active producers of partitions. Goes to their leader."""
    topics = [{"name": name, "partition_indexes": numbers} for name, numbers in group_by_topic(partitions).items()]
    return make_request(ApiKey.DESCRIBE_PRODUCERS, topics=topics)


def read_describe_producers(response: Reader) -> dict[TopicPartition, tuple[int, list[ActiveProducer]]]:
    """Read the response to ``describe_producers``: an error code and the producers for each partition."""
    results = {}
    for topic in read_response(response, ApiKey.DESCRIBE_PRODUCERS)["topics"]:
        for result in topic["partitions"]:
            producers = [
                ActiveProducer(p["producer_id"], p["producer_epoch"], p["current_txn_start_offset"])
                for p in result["active_producers"]
            ]
            results[topic["name"], result["partition_index"]] = result["error_code"], producers
    return results


class Outcome(Enum):
    """How a transaction ended."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"
    UNKNOWN = "unavailable"  # the log no longer contains the record


def fetch_first_record(topic: str, partition: int, offset: int) -> Request:
    """Request the batch at an offset with isolation level ``read_committed``. Goes to the partition's leader."""
    return fetch(topic, partition, offset, _MAX_BYTES, wait_ms=0, committed=True)


def parse_outcome(response: Reader, partition: int, offset: int, producer_id: int) -> tuple[int, Outcome]:
    """Return the error code, and the outcome of the producer's transaction whose first record in the partition has this
    offset.
    """
    result = read_fetch(response, partition)
    if 0 <= result.last_stable_offset <= offset:
        return result.code, Outcome.OPEN
    if len(result.records) < _BATCH.size:
        return result.code, Outcome.UNKNOWN
    base, delta, batch_producer_id = _BATCH.unpack_from(result.records)
    if batch_producer_id != producer_id or not base <= offset <= base + delta:
        return result.code, Outcome.UNKNOWN
    return result.code, Outcome.ABORTED if (producer_id, offset) in result.aborted else Outcome.COMMITTED
