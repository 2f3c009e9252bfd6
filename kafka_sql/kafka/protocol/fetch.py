"""Record batches of a partition.

Layout: Fetch version 4 of Apache Kafka's message definitions, the oldest that brokers know from 4.0 on; those before it
leave out what was aborted.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from kafka_sql.kafka.protocol import codec
from kafka_sql.kafka.protocol.codec import Reader
from kafka_sql.kafka.protocol.connection import Request

FETCH: Final = 1
_CONSUMER: Final = -1  # no replica


class Fetched(NamedTuple):
    """What a leader has at an offset.

    Attributes:
        code: the error code.
        stable: the last stable offset; -1 where the broker does not tell.
        aborted: producer and first offset of each transaction that was aborted and reaches into the records.
        records: whole batches, the last of them may be cut off; the first may begin before the offset.
    """

    code: int
    stable: int
    aborted: list[tuple[int, int]]
    records: memoryview


def fetch(topic: str, partition: int, offset: int, size: int, *, wait: int, committed: bool) -> Request:
    """Records from an offset on; asked of the partition's leader.

    Args:
        size: in bytes, about so many; the first batch comes whole, however large it is.
        wait: milliseconds for the first record, where there is none.
        committed: whether transactions that are open or aborted are told of.
    """
    body = codec.pack("iiiibi", _CONSUMER, wait, int(wait > 0), size, int(committed), 1) + codec.string(topic)
    return Request(FETCH, 4, body + codec.pack("iiqi", 1, partition, offset, size))


def read_fetch(answer: Reader, partition: int) -> Fetched:
    """The response to ``fetch``."""
    answer.number("i")

    def one() -> Fetched:
        number, code = answer.number("i"), answer.number("h")
        answer.number("q")
        stable = answer.number("q")
        aborted = answer.array(lambda: (answer.number("q"), answer.number("q")))
        if number != partition:
            raise codec.BrokenAnswer("the response is about another partition")
        return Fetched(code, stable, aborted, answer.view())

    def topic() -> list[Fetched]:
        answer.string()
        return answer.array(one)

    found = [one for topic in answer.array(topic) for one in topic]
    if len(found) != 1:
        raise codec.BrokenAnswer("the response is not about the partition")
    return found[0]
