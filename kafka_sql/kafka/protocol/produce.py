"""The requests of a producer: its id, its partitions' leaders, its transaction's partitions, and record batches.

Layouts: the message definitions of Apache Kafka (clients/src/main/resources/common/message), each in the oldest version
that has what is needed here and that brokers from 2.1 to 4.x know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple, TypeVar

from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import Reader
from kafka_sql.kafka.protocol.connection import Address, Request
from kafka_sql.kafka.protocol.transaction_requests import END, INIT, METADATA

PRODUCE, ADD_PARTITIONS = 0, 24
_ALL: Final = -1  # acks
_NOT_MADE: Final = False  # a topic that there is not

T = TypeVar("T")


class Topic(NamedTuple):
    """A topic as a broker knows it.

    Attributes:
        code: the error code.
        leaders: each partition's; None where it has none now.
    """

    code: int
    leaders: list[Address | None]


class Written(NamedTuple):
    """What became of a batch.

    Attributes:
        code: the error code.
        offset: of its first record; -1 where that is not known.
    """

    code: int
    offset: int


def describe(topic: str) -> Request:
    """A topic's partitions."""
    return Request(METADATA, 4, codec.pack("i", 1) + codec.string(topic) + codec.pack("?", _NOT_MADE))


def read_describe(answer: Reader) -> Topic:
    """The response to ``describe``."""
    nodes: dict[int, Address] = {}

    def broker() -> None:
        node = answer.number("i")
        nodes[node] = (str(answer.string()), answer.number("i"))
        answer.string()

    def partition() -> tuple[int, int]:
        answer.number("h")
        number, leader = answer.number("i"), answer.number("i")
        for _ in range(2):
            answer.array(lambda: answer.number("i"))
        return number, leader

    def topic() -> Topic:
        code = answer.number("h")
        answer.string()
        answer.number("?")
        led = dict(answer.array(partition))
        if sorted(led) != list(range(len(led))):
            raise codec.BrokenAnswer("the response leaves out partitions")
        return Topic(code, [nodes.get(led[number]) for number in range(len(led))])

    answer.number("i")
    answer.array(broker)
    answer.string()
    answer.number("i")
    found = answer.array(topic)
    if len(found) != 1:
        raise codec.BrokenAnswer("the response is not about the topic")
    return found[0]


def initialize(transaction: str | None, timeout: int) -> Request:
    """A producer's id, and in a transaction its epoch; what is open under the id is aborted.

    Args:
        timeout: milliseconds after which the brokers abort a transaction.
    """
    return Request(INIT, 1, codec.string(transaction) + codec.pack("i", timeout))


def read_initialize(answer: Reader) -> tuple[int, int, int]:
    """The response to ``initialize``: error code, id, epoch."""
    answer.number("i")
    return answer.number("h"), answer.number("q"), answer.number("h")


def add_partitions(transaction: str, producer: int, epoch: int, topic: str, partitions: Sequence[int]) -> Request:
    """Say where a transaction is going to write."""
    numbers = codec.pack(f"{len(partitions) + 1}i", len(partitions), *partitions)
    body = codec.string(transaction) + codec.pack("qhi", producer, epoch, 1) + codec.string(topic) + numbers
    return Request(ADD_PARTITIONS, 1, body)


def read_partition_codes(answer: Reader) -> dict[int, int]:
    """The response to ``add_partitions``: each partition's error code."""
    answer.number("i")
    return _by_partition(answer, lambda: answer.number("h"))


def end(transaction: str, producer: int, epoch: int, *, committed: bool) -> Request:
    """Commit or abort what is open."""
    return Request(END, 1, codec.string(transaction) + codec.pack("qh?", producer, epoch, committed))


def write(
    transaction: str | None, topic: str, batches: Iterable[tuple[int, int]], timeout: int
) -> tuple[Request, list[bytes]]:
    """Record batches, to be acknowledged by all replicas that are in sync.

    Args:
        batches: partition and size of each.
        timeout: milliseconds that the leader waits for the others.

    Returns:
        the request up to its topic, and what goes before each batch.
    """
    sizes = list(batches)
    start = codec.string(transaction) + codec.pack("hii", _ALL, timeout, 1) + codec.string(topic)
    heads = [codec.pack("ii", partition, size) for partition, size in sizes]
    return Request(PRODUCE, 7, start + codec.pack("i", len(sizes))), heads


def read_write(answer: Reader) -> dict[int, Written]:
    """The response to ``write``, by partition."""

    def written() -> Written:
        found = Written(answer.number("h"), answer.number("q"))
        for _ in range(2):  # time, and the log's start
            answer.number("q")
        return found

    return _by_partition(answer, written)


def _by_partition(answer: Reader, read: Callable[[], T]) -> dict[int, T]:
    """What is said of each partition of one topic."""

    def topic() -> list[tuple[int, T]]:
        answer.string()
        return answer.array(lambda: (answer.number("i"), read()))

    return {number: found for some in answer.array(topic) for number, found in some}
