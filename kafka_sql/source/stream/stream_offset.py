"""Read and write a stream's offset as Spark stores it in its checkpoint: JSON with a version.

    {"version": 1, "offsets": {"orders": {"0": 42, "1": 17}}, "starts": {"orders": {"1": 5}}, "stops": {...},
     "ids": {"orders": "rVp9..."}}

``offsets`` has the next offset of each partition. ``starts`` has the first offset of partitions that the previous
offset did not have: new partitions, and all partitions in the first batch. Spark does not store where a query started,
so a first batch that is repeated after a crash takes its start from here. ``stops`` has the stop offsets of a bounded
read. ``ids`` has the topic ids (KIP-516), which distinguish a recreated topic from the original.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from kafka_sql.errors import CheckpointError
from kafka_sql.kafka.topic_partition import TopicPartition

VERSION: Final = 1
Offsets = Mapping[TopicPartition, int]  # read-only, unlike kafka.topic_partition.Offsets


@dataclass(frozen=True)
class StreamOffset:
    """A stream's offset, such as ``StreamOffset({("orders", 0): 42}, starts={("orders", 0): 0})``."""

    offsets: Offsets
    starts: Offsets = field(default_factory=dict)
    stops: Offsets = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """The next offset to read of each partition, including those not read yet."""
        return {**self.starts, **self.offsets}


def to_json(offset: StreamOffset, **details: Any) -> dict[str, Any]:
    """Return the JSON that Spark stores. Equal offsets give equal JSON text, which Spark compares."""
    parts = {"offsets": offset.offsets, "starts": offset.starts, "stops": offset.stops}
    content: dict[str, Any] = {
        name: nest_by_topic(value) for name, value in parts.items() if value or name == "offsets"
    }
    if offset.ids:
        content["ids"] = dict(sorted(offset.ids.items()))
    return {"version": VERSION, **content, **details}


def from_json(content: Any) -> StreamOffset:
    """Parse the JSON that Spark stored.

    Raises:
        CheckpointError: the JSON is not an offset of this source, or has another version.
    """
    version = content.get("version") if isinstance(content, Mapping) else None
    if isinstance(version, int) and version != VERSION:
        raise CheckpointError(
            f"Unsupported version {version} of the checkpoint's offset: this version of kafka_sql supports {VERSION}. "
            "Use the version that wrote the checkpoint, or another checkpoint folder."
        )
    try:
        if version != VERSION:
            raise ValueError("without a version")
        parts = {name: flatten(content.get(name, {})) for name in ("offsets", "starts", "stops")}
        ids = {str(topic): str(topic_id) for topic, topic_id in content.get("ids", {}).items()}
        return StreamOffset(**parts, ids=ids)
    except (AttributeError, TypeError, ValueError) as e:
        raise CheckpointError(
            f"The checkpoint's offset {str(content)[:200]} is not an offset of a Kafka table. The checkpoint belongs "
            "to another query: SET another 'pipeline.name' or 'execution.checkpointing.dir'."
        ) from e


def nest_by_topic(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Return the offsets as ``{topic: {partition: offset}}``, sorted."""
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        topics.setdefault(topic, {})[str(partition)] = offset
    return topics


def flatten(topics: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    """Return the offsets of ``{topic: {partition: offset}}``."""
    return {(t, int(p)): int(offset) for t, partitions in topics.items() for p, offset in partitions.items()}
