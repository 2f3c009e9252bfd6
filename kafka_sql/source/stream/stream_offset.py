"""A stream's offset as Spark's checkpoint keeps it: readable JSON with a version.

    {"version": 2, "offsets": {"orders": {"0": 42, "1": 17}}, "starts": {"orders": {"1": 5}}, "stops": {...},
     "ids": {"orders": "rVp9..."}}

``offsets`` is the next offset of each partition. ``starts`` says where partitions begin that the offset before this
one did not know: a new partition, and in the first batch all of them. Spark does not keep where a query started, so a
first batch that is read again after a crash has it from here. ``stops`` says where a bounded read ends. ``ids`` says
which topics of these names are meant: one that is deleted and made anew has another (Kafka's topic id, KIP-516).

Version 1 had no number and nothing but the offsets: ``{"orders": {"0": 42, "1": 17}}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafka_sql.errors import CheckpointError
from kafka_sql.kafka.types import TopicPartition

VERSION: Final = 2
Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True)
class StreamOffset:
    """A stream's offset.

    Attributes:
        offsets: the next offset of each partition.
        starts: where the partitions begin that are new in it.
        stops: where a bounded read ends; a partition that is not here has no end.
        ids: of the topics, as far as they are known.
    """

    offsets: Offsets
    starts: Offsets = field(default_factory=dict)
    stops: Offsets = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """Where reading goes on, be it at the beginning."""
        return {**self.starts, **self.offsets}


def to_json(progress: StreamOffset, **more: Any) -> dict[str, Any]:
    """What Spark keeps; equal progress gives equal text, as Spark compares texts."""
    parts = {"offsets": progress.offsets, "starts": progress.starts, "stops": progress.stops}
    told: dict[str, Any] = {
        name: nest_by_topic(offsets) for name, offsets in parts.items() if offsets or name == "offsets"
    }
    if progress.ids:
        told["ids"] = dict(sorted(progress.ids.items()))
    return {"version": VERSION, **told, **more}


def from_json(kept: Any) -> StreamOffset:
    """What Spark has kept.

    Raises:
        CheckpointError: it is no offset of this source, or a later version's.
    """
    version = kept.get("version", 1) if isinstance(kept, Mapping) else 1
    if isinstance(version, Mapping):
        version = 1  # a topic of this name
    if version not in (1, VERSION):
        raise CheckpointError(
            f"The checkpoint's offset has version {version!r}, and this version of kafka_sql knows 1 and {VERSION}. Go "
            "on with the version that wrote it, or start with another checkpoint folder."
        )
    try:
        parts = {"offsets": kept} if version == 1 else {n: kept.get(n, {}) for n in ("offsets", "starts", "stops")}
        ids = {} if version == 1 else {str(topic): str(said) for topic, said in kept.get("ids", {}).items()}
        return StreamOffset(**{name: flatten(offsets) for name, offsets in parts.items()}, ids=ids)
    except (AttributeError, TypeError, ValueError) as e:
        raise CheckpointError(
            f"The checkpoint's offset {str(kept)[:200]} is none of a Kafka table. It belongs to another query: "
            "SET another 'pipeline.name' or 'execution.checkpointing.dir'."
        ) from e


def nest_by_topic(offsets: Offsets) -> dict[str, dict[str, int]]:
    """``{topic: {partition: offset}}``, sorted."""
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        topics.setdefault(topic, {})[str(partition)] = offset
    return topics


def flatten(topics: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    """The offsets of ``nested``."""
    return {(t, int(p)): int(offset) for t, partitions in topics.items() for p, offset in partitions.items()}
