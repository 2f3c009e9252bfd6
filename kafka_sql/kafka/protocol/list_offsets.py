"""Where a partition ends.

Layout: ListOffsets version 2 of Apache Kafka's message definitions, which all brokers know that know transactions.
"""

from __future__ import annotations

from typing import Final

from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import Reader
from kafka_sql.kafka.protocol.connection import Request

_LIST_OFFSETS: Final = 2
_CONSUMER: Final = -1  # no replica
_LATEST: Final = -1  # in place of a time


def end(topic: str, partition: int, *, committed: bool) -> Request:
    """The offset after the last record; asked of the partition's leader.

    Args:
        committed: whether the first open transaction ends it.
    """
    body = codec.pack("ibi", _CONSUMER, int(committed), 1) + codec.string(topic)
    return Request(_LIST_OFFSETS, 2, body + codec.pack("iiq", 1, partition, _LATEST))


def read_end(answer: Reader, partition: int) -> tuple[int, int]:
    """The response to ``end``: an error code, and the offset."""
    answer.number("i")

    def one() -> tuple[int, int]:
        number, code = answer.number("i"), answer.number("h")
        answer.number("q")
        if number != partition:
            raise codec.BrokenAnswer("the response is about another partition")
        return code, answer.number("q")

    def topic() -> list[tuple[int, int]]:
        answer.string()
        return answer.array(one)

    found = [one for topic in answer.array(topic) for one in topic]
    if len(found) != 1:
        raise codec.BrokenAnswer("the response is not about the partition")
    return found[0]
