"""What a task says of its writing, and the sum of it over a batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figures:
    """What was written.

    Attributes:
        rows: records that the brokers have acknowledged.
        bytes: of their keys and values, before compression.
        errors: what the client reported of its brokers and mended by itself.
        send_time: milliseconds that the last records took to be acknowledged (Flink's currentSendTime).
    """

    rows: int = 0
    bytes: int = 0
    errors: int = 0
    send_time: float = 0


def total(parts: Iterable[Figures]) -> Figures:
    """The sum over tasks; the send time is the longest."""
    found = list(parts)
    return Figures(
        sum(f.rows for f in found),
        sum(f.bytes for f in found),
        sum(f.errors for f in found),
        max((f.send_time for f in found), default=0),
    )
