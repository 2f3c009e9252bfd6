"""The unit of reading; apart from the consumer, as planning has no use for the compiled loops and their load time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Split:
    """A range of one partition: offsets ``start`` (included) to ``stop`` (excluded).

    Attributes:
        waits: whether the end did not exist when the read was planned, and is waited for.
    """

    topic: str
    partition: int
    start: int
    stop: int
    waits: bool = False

    def at(self, offset: int) -> str:
        """A place in the partition as errors name it."""
        return f"{self.topic}[{self.partition}]@{offset}"
