"""Test how the outcome of a transaction is determined from a Fetch response."""

from __future__ import annotations

import struct

import pytest

from kafka_sql.kafka.protocol import codec, transactions
from kafka_sql.kafka.protocol.codec import Reader
from kafka_sql.kafka.protocol.transactions import Outcome


def fetch_response(
    last_stable: int,
    aborted: list[tuple[int, int]],
    base_offset: int,
    last_delta: int,
    producer_id: int,
    header_bytes: int = 61,
) -> Reader:
    """Return a response with the header of one record batch, and aborted transactions (producer id, first offset)."""
    header = bytearray(61)
    struct.pack_into(">q", header, 0, base_offset)
    struct.pack_into(">i", header, 23, last_delta)
    struct.pack_into(">q", header, 43, producer_id)
    high_watermark = last_stable + 5
    body = codec.pack("ii", 0, 1) + codec.string("t") + codec.pack("iihqq", 1, 0, 0, high_watermark, last_stable)
    body += codec.pack("i", len(aborted)) + b"".join(codec.pack("qq", *pair) for pair in aborted)
    return Reader(body + codec.data(bytes(header[:header_bytes])))


@pytest.mark.parametrize(
    ("reader", "expected"),
    [
        (fetch_response(20, [], 10, 4, 7), Outcome.COMMITTED),
        (fetch_response(20, [(7, 10)], 10, 4, 7), Outcome.ABORTED),
        # aborted: a transaction of another producer, and a later one of this producer
        (fetch_response(20, [(8, 10), (7, 15)], 10, 4, 7), Outcome.COMMITTED),
        (fetch_response(10, [], 10, 4, 7), Outcome.OPEN),
        (fetch_response(20, [], 11, 4, 7), Outcome.UNKNOWN),  # compacted
        (fetch_response(20, [], 10, 4, 8), Outcome.UNKNOWN),  # the topic was recreated
        (fetch_response(20, [], 10, 4, 7, header_bytes=0), Outcome.UNKNOWN),
    ],
)
def test_transaction_outcome_from_a_fetch_response(reader: Reader, expected: Outcome) -> None:
    assert transactions.parse_outcome(reader, 0, 10, 7) == (0, expected)
