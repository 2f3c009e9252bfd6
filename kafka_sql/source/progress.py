"""How a stream goes on from where its checkpoint says: in which partitions, and from which offsets."""

from __future__ import annotations

import logging

from kafka_sql.definition import Definition
from kafka_sql.errors import OffsetError
from kafka_sql.kafka.cluster import Cluster, Offsets
from kafka_sql.options import connector as opt
from kafka_sql.options.java_pattern import java_pattern
from kafka_sql.source.loss import held

_LOG = logging.getLogger("kafka_sql.source")


def batch_starts(definition: Definition, cluster: Cluster, starts: Offsets, stops: Offsets) -> Offsets:
    """Where a micro-batch starts: as its checkpoint says; a partition that is new since, at its earliest offset.

    Args:
        starts: the offsets of the batch before.
        stops: the end of the batch, of all its partitions.

    Raises:
        OffsetError: the checkpoint is another query's, or a topic was recreated.
        DataLossError: records were removed before they were read.
    """
    new = [p for p in stops if p not in starts]
    known = {p: at for p, at in starts.items() if p in stops}
    return held(definition, cluster, {**known, **cluster.earliest(new)}, stops)


def check_progress(definition: Definition, starts: Offsets, stops: Offsets) -> None:
    """Check that a stream goes on where its checkpoint says, in the topics that it is about.

    Raises:
        OffsetError: the checkpoint is another query's, or a topic was deleted or recreated since; its offsets mean
            nothing in the new one, and going on would lose or double rows.
    """
    foreign = sorted({topic for topic, _ in starts if not _has(definition, topic)})
    if foreign:
        raise OffsetError(
            f"Table '{definition.name}': the checkpoint holds offsets of '{', '.join(foreign)}', which option 'topic' "
            "does not name. It belongs to another query: SET another 'pipeline.name' or 'execution.checkpointing.dir'."
        )
    for (topic, partition), start in sorted(starts.items()):
        stop = stops.get((topic, partition))
        if stop is None or stop < start:
            found = "it does not exist any more" if stop is None else f"it ends at {stop}"
            raise OffsetError(
                f"{topic}[{partition}]@{start}: the checkpoint goes on from here, but {found}. The topic was deleted "
                "or recreated. To read the new one, start with another 'pipeline.name' (or an empty checkpoint folder)."
            )


def _has(definition: Definition, topic: str) -> bool:
    topics = opt.topics(definition.options)
    if topics is not None:
        return topic in topics
    return java_pattern(definition.options.get(opt.TOPIC_PATTERN) or "").fullmatch(topic) is not None
