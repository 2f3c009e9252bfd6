"""Find out from a partition's log whether a transaction was committed, after its coordinator has forgotten it.

The evidence is one record of the transaction and the list of aborted transactions in a ``read_committed`` fetch.

Layout: the header of a record batch (https://kafka.apache.org/documentation/#recordbatch).
"""

from __future__ import annotations

import struct
from enum import Enum
from typing import Final

from kafka_sql.kafka.protocol.codec import Reader
from kafka_sql.kafka.protocol.fetch import fetch, read_fetch
from kafka_sql.kafka.protocol.messages import Request

_MAX_BYTES: Final = 1 << 20  # the first batch is returned complete whatever its size
# base offset; length, leader epoch, magic, checksum, attributes; last offset delta; two timestamps; producer id
_BATCH: Final = struct.Struct(">q4x4x1x4x2xi8x8xq")


class Outcome(Enum):
    """How a transaction ended."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"
    UNKNOWN = "unavailable"  # the log no longer contains the record


def fetch_request(topic: str, partition: int, offset: int) -> Request:
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
