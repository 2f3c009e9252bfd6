"""Resume a stream from its checkpoint: check that its partitions still exist, and resolve the next offsets."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafka_sql.definition import Definition
from kafka_sql.errors import OffsetError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.topic_partition import Offsets, TopicPartition
from kafka_sql.options import connector as opt
from kafka_sql.options.java_pattern import compile_java_pattern
from kafka_sql.source.data_loss import clamp_to_log_start
from kafka_sql.source.dynamic.clusters import Clusters, cluster_of
from kafka_sql.source.enumerator.starting_offsets import resolve_new_starts
from kafka_sql.source.stream.stream_offset import StreamOffset
from kafka_sql.source.table_log import warn


def resolve_batch_starts(
    definition: Definition, cluster: Cluster, starts: Offsets, stops: Offsets, earliest: Offsets | None = None
) -> Offsets:
    """Return where a micro-batch starts: at the checkpoint's offsets; see ``resolve_new_starts`` for new partitions.

    Args:
        starts: the offsets of the previous batch.
        stops: the end of the batch, for all its partitions.
        earliest: see ``clamp_to_log_start``.

    Raises:
        OffsetError: the checkpoint belongs to another query, or a topic was recreated.
        DataLossError: records were removed before they were read.
    """
    known_starts = {p: offset for p, offset in starts.items() if p in stops}
    new_starts = resolve_new_starts(definition, cluster, starts, [p for p in stops if p not in starts])
    return clamp_to_log_start(definition, cluster, {**known_starts, **new_starts}, stops, earliest)


def resolve_resume(
    definition: Definition, cluster: Cluster, offsets: Offsets, ends: Offsets, recreated_topics: Collection[str] = ()
) -> tuple[Offsets, Offsets]:
    """Resolve how a stream continues from the offsets of its checkpoint.

    Args:
        recreated_topics: topics whose ids differ from those of the checkpoint.

    Returns:
        the ends to read to, and the restart offsets of partitions whose topic was recreated, which requires
        'scan.missing-topics' = 'ignore'. Partitions that no longer exist are not among the ends.

    Raises:
        OffsetError: the checkpoint belongs to another query, or a topic was deleted or recreated.
    """
    ended_below = [p for p, offset in offsets.items() if p in ends and ends[p] < offset]
    # an open transaction keeps the last stable offset below what was read with read_uncommitted
    high_watermarks = cluster.high_watermarks(ended_below)
    unchanged = {
        p: offsets[p] for p in ended_below if high_watermarks[p] >= offsets[p] and p[0] not in recreated_topics
    }
    ends = {**ends, **unchanged}
    check_checkpoint(definition, offsets, ends, recreated_topics)
    removed = sorted(p for p in offsets if p not in ends)
    recreated = sorted(
        p for p in offsets if p in ends and (p[0] in recreated_topics or (p in ended_below and p not in unchanged))
    )
    for partitions, event in (
        (removed, "no longer exist and are ignored"),
        (recreated, "were recreated and are read from their earliest offset"),
    ):
        if partitions:
            names = ", ".join(f"{t}[{p}]" for t, p in partitions)
            warn(definition.name, "partitions %s %s", names, event)
    return ends, cluster.earliest(recreated)


def keep_subscribed(definition: Definition, cluster: Cluster, offset: StreamOffset) -> StreamOffset:
    """Return an offset without the topics that the metadata service of a 'dynamic-kafka' table no longer returns.

    Raises:
        OffsetError: the checkpoint belongs to a query of another connector.
    """
    if not isinstance(cluster, Clusters):
        return offset
    topics = cluster.subscribed_topics()
    removed = sorted({topic for topic, _ in offset.positions} - topics)
    if not removed:
        return offset
    if not cluster_of(removed[0]):
        raise OffsetError(
            f"Table '{definition.name}': the checkpoint has offsets of topic '{removed[0]}' without a cluster. It "
            "belongs to a query of another connector: SET another 'pipeline.name' or 'execution.checkpointing.dir'.",
            topic=removed[0],
            table=definition.name,
        )
    reason = "because the metadata service no longer returns them"
    warn(definition.name, "the offsets of topics %s are dropped, %s", ", ".join(removed), reason)
    return _keep_topics(offset, topics)


def keep_subscribed_batch(
    definition: Definition, cluster: Cluster, start: StreamOffset, end: StreamOffset
) -> tuple[StreamOffset, StreamOffset]:
    """Return the start and end of a batch without topics that its end or the metadata service does not have."""
    if not isinstance(cluster, Clusters):
        return start, end
    end = keep_subscribed(definition, cluster, end)
    return _keep_topics(start, {topic for topic, _ in end.offsets}), end


def _keep_topics(offset: StreamOffset, topics: Collection[str]) -> StreamOffset:
    offsets, starts, stops = (
        {p: value for p, value in part.items() if p[0] in topics}
        for part in (offset.offsets, offset.starts, offset.stops)
    )
    return StreamOffset(offsets, starts, stops, {t: topic_id for t, topic_id in offset.ids.items() if t in topics})


def find_recreated_topics(old_ids: Mapping[str, str], new_ids: Mapping[str, str]) -> set[str]:
    """Return the topics whose id has changed. A topic without a known id counts as unchanged."""
    return {topic for topic, topic_id in old_ids.items() if new_ids.get(topic, topic_id) != topic_id}


def check_checkpoint(
    definition: Definition, starts: Offsets, stops: Offsets, recreated_topics: Collection[str] = ()
) -> None:
    """Check that the checkpoint's offsets are of the table's topics, and still valid.

    With 'scan.missing-topics' = 'ignore', partitions may be gone, but at least one must still be the table's.

    Raises:
        OffsetError: the checkpoint belongs to another query; or a topic was deleted or recreated, so that its offsets
            are meaningless, and continuing would lose or duplicate rows.
    """
    ignores_missing = definition.options[opt.MISSING_TOPICS] == opt.IGNORE
    unread = sorted(p for p in starts if not _reads_partition(definition, *p))
    if unread and not (ignores_missing and len(unread) < len(starts)):
        raise OffsetError(
            f"Table '{definition.name}': the checkpoint has offsets of {_describe_partitions(definition, unread)}, but "
            f"the table reads {_describe_table(definition)}. If the checkpoint belongs to another query, SET another "
            "'pipeline.name' or 'execution.checkpointing.dir'. If the table was changed, set "
            f"'{opt.MISSING_TOPICS.key}' = '{opt.IGNORE}' to drop these offsets.",
            topic=unread[0][0],
            partition=unread[0][1],
            table=definition.name,
        )
    if ignores_missing:
        return
    for (topic, partition), start in sorted(starts.items()):
        stop = stops.get((topic, partition))
        if stop is None or stop < start or topic in recreated_topics:
            reason = (
                "the partition no longer exists"
                if stop is None
                else f"the partition ends at {stop}"
                if stop < start
                else "the topic has another id"
            )
            raise OffsetError(
                f"{topic}[{partition}]@{start}: cannot resume from the checkpoint's offset: {reason}. The topic was "
                "deleted or recreated. To read the new topic, SET another 'pipeline.name' (or use an empty checkpoint "
                f"folder), or set '{opt.MISSING_TOPICS.key}' = '{opt.IGNORE}' to drop the old offsets.",
                topic=topic,
                partition=partition,
                offset=start,
            )


def _describe_partitions(definition: Definition, partitions: Collection[TopicPartition]) -> str:
    if definition.options.get(opt.SCAN_PARTITIONS) is not None:
        return ", ".join(f"{topic}[{partition}]" for topic, partition in partitions)
    return f"'{', '.join(dict.fromkeys(topic for topic, _ in partitions))}'"


def _describe_table(definition: Definition) -> str:
    if definition.options.get(opt.SCAN_PARTITIONS) is not None:
        return f"the partitions of option '{opt.SCAN_PARTITIONS.key}'"
    topics = opt.topics(definition.options)
    if topics is not None:
        return f"'{', '.join(topics)}'"
    return f"topics that match the pattern '{definition.options[opt.TOPIC_PATTERN]}'"


def _reads_partition(definition: Definition, topic: str, partition: int) -> bool:
    selected, topics = definition.options.get(opt.SCAN_PARTITIONS), opt.topics(definition.options)
    if definition.is_dynamic:
        return True  # other topics have been dropped
    if selected is not None:
        return (topic, partition) in selected
    if topics is not None:
        return topic in topics
    return compile_java_pattern(definition.options[opt.TOPIC_PATTERN]).fullmatch(topic) is not None
