"""The requests about transactions, and what their responses say.

Layouts: the message definitions of Apache Kafka (clients/src/main/resources/common/message); KIP-664 for listing and
describing, KIP-699 for finding several coordinators at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import NO_TAGS, Reader
from kafka_sql.kafka.protocol.connection import Address, Request
from kafka_sql.kafka.types import TopicPartition

METADATA, FIND_COORDINATOR, INIT, END, DESCRIBE_PRODUCERS, DESCRIBE, LIST = 3, 10, 22, 26, 61, 65, 66
_TRANSACTION: Final = 1  # a coordinator's kind
# Version 5 is never asked for: brokers whose feature transaction.version is not 2 offer it, refuse it, and leave the
# id unusable until the coordinator is restarted. Version 4 serves everywhere and leaves the epoch as it is.
_END_VERSION: Final = 4


ONGOING: Final = "Ongoing"


@dataclass(frozen=True)
class Described:
    """What a coordinator knows of a transaction.

    Attributes:
        state: 'Ongoing', 'PrepareCommit', 'CompleteCommit', 'PrepareAbort', 'CompleteAbort', 'Empty' or 'Dead'.
        timeout: after which the broker aborts it, in milliseconds.
        started: milliseconds since 1970; -1 while nothing is in it.
        partitions: that it has written to.
    """

    state: str
    producer: int
    epoch: int
    timeout: int
    started: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True)
class Producing:
    """A producer that a partition's leader knows.

    Attributes:
        first_offset: of its open transaction in this partition; -1 where none is open.
    """

    producer: int
    epoch: int
    first_offset: int


def brokers() -> Request:
    """All brokers' addresses, and no topic."""
    return Request(METADATA, 1, codec.pack("i", 0))


def read_brokers(answer: Reader) -> list[Address]:
    """The response to ``brokers``."""

    def broker() -> Address:
        answer.number("i")
        host, port = answer.string(), answer.number("i")
        answer.string()
        return str(host), port

    return answer.array(broker)


def leaders(topics: Sequence[str]) -> Request:
    """Where the partitions of some topics are led."""
    return Request(METADATA, 1, codec.pack("i", len(topics)) + b"".join(map(codec.string, topics)))


def read_leaders(answer: Reader) -> dict[TopicPartition, Address]:
    """The response to ``leaders``; a partition without a leader is absent."""
    found: dict[TopicPartition, Address] = {}
    nodes: dict[int, Address] = {}

    def broker() -> None:
        node = answer.number("i")
        nodes[node] = (str(answer.string()), answer.number("i"))
        answer.string()

    def topic() -> None:
        answer.number("h")
        name = str(answer.string())
        answer.number("?")
        answer.array(lambda: partition(name))

    def partition(name: str) -> None:
        answer.number("h")
        number, leader = answer.number("i"), answer.number("i")
        for _ in range(2):
            answer.array(lambda: answer.number("i"))
        if leader in nodes:
            found[name, number] = nodes[leader]

    answer.array(broker)
    answer.number("i")
    answer.array(topic)
    return found


def coordinators(ids: Sequence[str]) -> Request:
    """Which broker coordinates each transactional id."""
    return Request(
        FIND_COORDINATOR,
        4,
        codec.pack("b", _TRANSACTION) + codec.compact_array(map(codec.compact_string, ids)) + NO_TAGS,
        flexible=True,
    )


def read_coordinators(answer: Reader) -> dict[str, tuple[int, Address]]:
    """An error code and an address for each id."""

    def coordinator() -> tuple[str, tuple[int, Address]]:
        key = str(answer.compact_string())
        answer.number("i")
        address = (str(answer.compact_string()), answer.number("i"))
        code = answer.number("h")
        answer.compact_string()
        answer.tags()
        return key, (code, address)

    answer.number("i")
    return dict(answer.compact_array(coordinator))


def commit(transaction: str, producer: int, epoch: int, last: int) -> Request:
    """Commit a transaction.

    Args:
        last: version that the broker knows.
    """
    version = min(_END_VERSION, last)
    if version < 3:
        return Request(END, version, codec.string(transaction) + codec.pack("qh?", producer, epoch, True))
    body = codec.compact_string(transaction) + codec.pack("qh?", producer, epoch, True) + NO_TAGS
    return Request(END, version, body, flexible=True)


def fence(transaction: str, found: Described) -> Request:
    """Give the id another epoch, which aborts what is open; refused where it has one already (KIP-360)."""
    numbers = codec.pack("iqh", found.timeout, found.producer, found.epoch)
    return Request(INIT, 3, codec.compact_string(transaction) + numbers + NO_TAGS, flexible=True)


def read_code(answer: Reader) -> int:
    """The error code, of ``commit`` and of ``fence``."""
    answer.number("i")
    code: int = answer.number("h")
    return code


def describe(ids: Sequence[str]) -> Request:
    """What the coordinator knows of transactions that are its own."""
    return Request(DESCRIBE, 0, codec.compact_array(map(codec.compact_string, ids)) + NO_TAGS, flexible=True)


def read_describe(answer: Reader) -> dict[str, tuple[int, Described]]:
    """An error code and what is known, for each id."""

    def topic() -> list[TopicPartition]:
        name = str(answer.compact_string())
        numbers = answer.compact_array(lambda: answer.number("i"))
        answer.tags()
        return [(name, number) for number in numbers]

    def transaction() -> tuple[str, tuple[int, Described]]:
        code = answer.number("h")
        key, state = str(answer.compact_string()), str(answer.compact_string())
        timeout, started, producer = answer.number("i"), answer.number("q"), answer.number("q")
        epoch = answer.number("h")
        partitions = tuple(position for found in answer.compact_array(topic) for position in found)
        answer.tags()
        return key, (code, Described(state, producer, epoch, timeout, started, partitions))

    answer.number("i")
    return dict(answer.compact_array(transaction))


def list_ongoing() -> Request:
    """The transactions in the state Ongoing that a broker coordinates."""
    states = codec.compact_array([codec.compact_string(ONGOING)])
    return Request(LIST, 0, states + codec.compact_array([]) + NO_TAGS, flexible=True)


def read_list(answer: Reader) -> tuple[int, list[str]]:
    """The error code and the transactional ids."""

    def transaction() -> str:
        key = str(answer.compact_string())
        answer.number("q")
        answer.compact_string()
        answer.tags()
        return key

    answer.number("i")
    code = answer.number("h")
    answer.compact_array(answer.compact_string)
    return code, answer.compact_array(transaction)


def describe_producers(positions: Sequence[TopicPartition]) -> Request:
    """Which producers write to partitions; asked of their leader."""
    topics: dict[str, list[int]] = {}
    for name, number in positions:
        topics.setdefault(name, []).append(number)
    body = codec.compact_array(
        codec.compact_string(name) + codec.compact_array(codec.pack("i", n) for n in numbers) + NO_TAGS
        for name, numbers in topics.items()
    )
    return Request(DESCRIBE_PRODUCERS, 0, body + NO_TAGS, flexible=True)


def read_describe_producers(answer: Reader) -> dict[TopicPartition, tuple[int, list[Producing]]]:
    """An error code and the producers, for each partition."""
    found: dict[TopicPartition, tuple[int, list[Producing]]] = {}

    def producer() -> Producing:
        number, epoch = answer.number("q"), answer.number("i")
        answer.number("i")
        answer.number("q")
        answer.number("i")
        first = answer.number("q")
        answer.tags()
        return Producing(number, epoch, first)

    def partition(name: str) -> None:
        number, code = answer.number("i"), answer.number("h")
        answer.compact_string()
        found[name, number] = code, answer.compact_array(producer)
        answer.tags()

    def topic() -> None:
        name = str(answer.compact_string())
        answer.compact_array(lambda: partition(name))
        answer.tags()

    answer.number("i")
    answer.compact_array(topic)
    return found
