"""Types that all Kafka clients share. Planning imports them, so this module must not import compiled loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

TopicPartition: TypeAlias = tuple[str, int]
Offsets: TypeAlias = dict[TopicPartition, int]


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
