"""Test the versions and the bytes of requests that end a transaction of another producer."""

from __future__ import annotations

import struct

import pytest

from kafka_sql.kafka.protocol import codec, transactions
from kafka_sql.kafka.protocol.transactions import TransactionDescription


@pytest.mark.parametrize(
    ("version", "flexible", "body"),
    [
        (0, False, b"\0\1x" + struct.pack(">qh?", 7, 2, True)),
        (4, True, b"\2x" + struct.pack(">qh?", 7, 2, True) + b"\0"),
    ],
)
def test_end_txn_uses_version_4_at_most(version: int, flexible: bool, body: bytes) -> None:
    request = transactions.end_txn("x", 7, 2, committed=True)
    assert (request.key, request.oldest, request.latest) == (26, 0, 4)  # never version 5
    assert (codec.is_flexible(request.key, version), request.encode(version, flexible)) == (flexible, body)


def test_init_producer_id_names_the_fenced_epoch() -> None:
    request = transactions.bump_producer_epoch("x", TransactionDescription("Ongoing", 7, 2, 60_000, 1, ()))
    body = b"\2x" + struct.pack(">iqh", 60_000, 7, 2) + b"\0"
    assert (request.key, request.oldest, request.encode(3, True)) == (22, 3, body)
