"""Splits: what a reader reads. Planning imports this module, so it must not import compiled loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class SourceCluster:
    """One of the clusters of a 'dynamic-kafka' table.

    Attributes:
        id: its id in the metadata service.
        config: librdkafka's configuration of its clients. May contain secrets, or references to them.
    """

    id: str
    config: Mapping[str, str] = field(repr=False, compare=False)


@dataclass(frozen=True)
class Split:
    """A range of one partition: offsets ``start`` (inclusive) to ``stop`` (exclusive).

    ``Split("orders", 0, 100, 250)`` is offsets 100 to 249 of partition 0 of ``orders``.

    Attributes:
        end_may_not_exist: whether ``stop`` was beyond the partition's end when the read was planned, so that the reader
            waits for it.
        cluster: the cluster, if the table has several.
    """

    topic: str
    partition: int
    start: int
    stop: int
    end_may_not_exist: bool = False
    cluster: SourceCluster | None = None

    @property
    def qualified_topic(self) -> str:
        """The topic, as ``cluster/topic`` if the table has several clusters."""
        return self.topic if self.cluster is None else f"{self.cluster.id}/{self.topic}"

    def describe_offset(self, offset: int) -> str:
        """Return an offset of the partition as error messages show it: ``topic[partition]@offset``."""
        return f"{self.qualified_topic}[{self.partition}]@{offset}"

    def at(self, offset: int) -> dict[str, Any]:
        """Return an offset of the partition as attributes of errors."""
        return {"topic": self.topic, "partition": self.partition, "offset": offset}


# Takes the split, the first deleted offset and the first available offset. Returns to resume at the latter, or raises.
DataLossHandler: TypeAlias = Callable[[Split, int, int], None]
