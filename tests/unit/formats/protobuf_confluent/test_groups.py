"""Test grouping of payloads by schema and message: in one pass, whatever prefixes producers make up."""

from __future__ import annotations

from collections import defaultdict
from random import Random

import numpy as np
import pytest

from kafka_sql.formats.confluent.wire_format import group_by_id
from kafka_sql.formats.protobuf_confluent import decoder
from kafka_sql.formats.protobuf_confluent.decoder import _group_by_message

PREFIXES = {b"\0": (0,), b"\2\2": (1,), b"\2\4": (2,), b"\4\0\2": (0, 1), b"\2\0": (0,), b"\x80\0": (0,)}
MALFORMED = [b"", b"\4", b"\1", b"\x80", b"\2"]


def prefix(number: int) -> bytes:
    """Return the index of a message."""
    bits, encoded = number << 1, bytearray(b"\2")
    while bits > 0x7F:
        encoded.append(bits & 0x7F | 0x80)
        bits >>= 7
    return bytes([*encoded, bits])


@pytest.mark.parametrize("rounds", [0, 2, 8])
def test_groups(monkeypatch: pytest.MonkeyPatch, rounds: int) -> None:
    monkeypatch.setattr(decoder, "_MESSAGES", rounds)
    generator = Random(1)
    known = {**PREFIXES, **{prefix(k): (k,) for k in range(3, 300)}}
    chosen = [generator.choice([*PREFIXES, *PREFIXES, *MALFORMED, *known]) for _ in range(500)]
    payloads = [text + (b"x" if text in known else b"") for text in chosen]
    ids = np.array([generator.choice([1, 2, 1 << 31]) for _ in payloads], np.uint32)
    ends = np.cumsum([len(payload) for payload in payloads])
    starts = ends - [len(payload) for payload in payloads]
    data = np.frombuffer(b"".join(payloads), np.uint8)
    actual = defaultdict(list)
    for key, positions, group_starts in _group_by_message(data, starts, ends, ids):
        actual[key] += zip(positions.tolist(), group_starts.tolist() if key[1] else positions.tolist(), strict=True)
    expected = defaultdict(list)
    for k, text in enumerate(chosen):
        key = int(ids[k]), known.get(text, ())
        expected[key].append((k, int(starts[k]) + len(text) if text in known else k))
    assert {key: sorted(members) for key, members in actual.items()} == expected


def test_a_loop_over_payloads_for_many_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    indexes_at = decoder._indexes_at
    monkeypatch.setattr(decoder, "_indexes_at", lambda *a: calls.append(a[1]) or indexes_at(*a))
    for payloads in ([prefix(k) for k in range(1, 1001)], [b"\1"] * 1000, [b"\2\2"] * 1000):
        ends = np.cumsum([len(payload) for payload in payloads])
        starts = ends - [len(payload) for payload in payloads]
        data = np.frombuffer(b"".join(payloads), np.uint8)
        list(_group_by_message(data, starts, ends, np.ones(1000, np.uint32)))
    assert len(calls) <= 2 * 1001 + 8 + 1


def test_group_by_id() -> None:
    assert list(group_by_id(np.array([], np.uint32))) == []
    groups = [(key, members.tolist()) for key, members in group_by_id(np.array([3, 1, 3, 2**32 - 1, 1], np.uint32))]
    assert groups == [(1, [1, 4]), (3, [0, 2]), (2**32 - 1, [3])]
