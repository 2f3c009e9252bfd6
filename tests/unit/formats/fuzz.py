"""Mutated payloads among good ones: whatever they hold, the good ones keep their places and their values."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from kafka_sql.formats.format import Decoder

_BYTES: Final = (
    b"\0",
    b"\n",
    b"\r",
    b'"',
    b"'",
    b",",
    b";",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\\",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\x80",
)


def mutate(rng: random.Random, payload: bytes) -> bytes:
    """The payload with one to four random changes."""
    data = bytearray(payload)
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(data))
        match rng.randrange(7):
            case 0:
                del data[at : at + rng.randint(1, 4)]
            case 1:
                data[at:at] = rng.choice(_BYTES)
            case 2:
                data[at:at] = rng.randbytes(rng.randint(1, 9))
            case 3 if at < len(data):
                data[at] ^= 1 << rng.randrange(8)
            case 4 if at < len(data):
                data[at] = rng.choice((0, 1, 2, 127, 128, 255))
            case 5:
                del data[at:]
            case 6:
                data[at:at] = data[: rng.randint(0, len(data))]
    return bytes(data)


def assault(decoder: Decoder, good: Sequence[bytes], marks: Sequence[int], records: int, seed: int) -> int:
    """Decode batches of payloads, every second one mutated, with errors ignored; how many mutants became rows.

    Args:
        good: payloads whose first column is the mark at the same index.
    """
    rng, survived = random.Random(seed), 0
    for start in range(0, records, 5_000):
        count = min(5_000, records - start)
        picks = [rng.randrange(len(good)) for _ in range(count)]
        payloads = []
        for pick in picks:
            payloads += [good[pick] + decoder.terminator, mutate(rng, rng.choice(good)) + decoder.terminator]
        decoded = decoder.decode(pa.array(payloads, pa.binary()))
        for column in decoded.columns:
            column.validate(full=True)
        rows = list(range(len(payloads))) if decoded.rows is None else decoded.rows.to_pylist()
        assert all(len(column) == len(rows) for column in decoded.columns)
        assert rows == sorted(rows)
        values = zip(rows, decoded.columns[0].to_pylist(), strict=True)
        assert [(row, value) for row, value in values if row % 2 == 0] == [
            (2 * i, marks[pick]) for i, pick in enumerate(picks)
        ]
        survived += sum(row % 2 for row in rows)
    return survived
