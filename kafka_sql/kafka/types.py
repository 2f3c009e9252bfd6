"""Define types that all Kafka clients share. Planning imports them, so this module must not import compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

TopicPartition: TypeAlias = tuple[str, int]
Offsets: TypeAlias = dict[TopicPartition, int]


@dataclass(frozen=True)
class Split:
    """A range of one partition: offsets ``start`` (inclusive) to ``stop`` (exclusive).

    ``Split("orders", 0, 100, 250)`` is offsets 100 to 249 of partition 0 of ``orders``.

    Attributes:
        end_may_not_exist: whether ``stop`` was beyond the partition's end when the read was planned, so that the reader
            waits for it.
    """

    topic: str
    partition: int
    start: int
    stop: int
    end_may_not_exist: bool = False

    def describe_offset(self, offset: int) -> str:
        """Return an offset of the partition as error messages show it: ``topic[partition]@offset``."""
        return f"{self.topic}[{self.partition}]@{offset}"


# Takes the split, the first deleted offset and the first available offset. Returns to resume at the latter, or raises.
DataLossHandler: TypeAlias = Callable[[Split, int, int], None]
