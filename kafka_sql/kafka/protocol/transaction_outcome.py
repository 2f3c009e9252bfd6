"""What became of a transaction, as the log of a partition tells it: by one of its records and the list of aborted
transactions that a fetch of committed records brings.

Layout: the header of a record batch (https://kafka.apache.org/documentation/#recordbatch).
"""

from __future__ import annotations

import struct
from enum import Enum
from typing import Final

from kafka_sql.kafka.protocol.codec import Reader
from kafka_sql.kafka.protocol.connection import Request
from kafka_sql.kafka.protocol.fetch import fetch, read_fetch

_ENOUGH: Final = 1 << 20  # bytes; the first batch comes whole, however large it is
# base offset; length, leader epoch, magic, checksum, attributes; last offset delta; two timestamps; producer id
_BATCH: Final = struct.Struct(">q4x4x1x4x2xi8x8xq")


class Outcome(Enum):
    """Of a transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"
    GONE = "gone"  # its record is not there any more, so it cannot be told


def look(topic: str, partition: int, offset: int) -> Request:
    """The first batch of committed records at an offset; asked of the partition's leader."""
    return fetch(topic, partition, offset, _ENOUGH, wait=0, committed=True)


def seen(answer: Reader, partition: int, offset: int, producer: int) -> tuple[int, Outcome]:
    """The error code, and what became of the producer's transaction whose first record in the partition is at "
    "``offset``."""
    code, stable, aborted, records = read_fetch(answer, partition)
    if 0 <= stable <= offset:
        return code, Outcome.OPEN
    if len(records) < _BATCH.size:
        return code, Outcome.GONE
    base, delta, writer = _BATCH.unpack_from(records)
    if writer != producer or not base <= offset <= base + delta:
        return code, Outcome.GONE
    return code, Outcome.ABORTED if (producer, offset) in aborted else Outcome.COMMITTED
