"""How a stream goes on from where its checkpoint says: in which partitions, and from which offsets."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from kafka_sql.definition import Definition
from kafka_sql.errors import OffsetError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.types import Offsets
from kafka_sql.options import connector as opt
from kafka_sql.options.java_pattern import compile_java_pattern
from kafka_sql.source.enumerator.data_loss import clamp_to_log_start

_LOG = logging.getLogger("kafka_sql.source")


def resolve_batch_starts(definition: Definition, cluster: Cluster, starts: Offsets, stops: Offsets) -> Offsets:
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
    return clamp_to_log_start(definition, cluster, {**known, **cluster.earliest(new)}, stops)


def resolve_resume(
    definition: Definition, cluster: Cluster, offsets: Offsets, ends: Offsets, others: Collection[str] = ()
) -> tuple[Offsets, Offsets]:
    """How a stream goes on from the offsets of its checkpoint to the ends of the partitions that there are now.

    Args:
        others: topics that are other ones than those of the checkpoint, by their ids.

    Returns:
        the ends; and where partitions begin anew whose topic was recreated, which needs 'scan.missing-topics' =
        'ignore'. A partition that is gone is not among the ends: it is forgotten.

    Raises:
        OffsetError: the checkpoint is another query's, or a topic was deleted or recreated since.
    """
    behind = [p for p, at in offsets.items() if p in ends and ends[p] < at]
    # a transaction that is open keeps the last stable offset behind what was read when transactions did not matter
    marks = cluster.high_watermarks(behind)
    stays = {p: offsets[p] for p in behind if marks[p] >= offsets[p] and p[0] not in others}
    ends = {**ends, **stays}
    check_checkpoint(definition, offsets, ends, others)
    gone = sorted(p for p in offsets if p not in ends)
    recreated = sorted(p for p in offsets if p in ends and (p[0] in others or (p in behind and p not in stays)))
    for words, places in (("are not read any more", gone), ("were recreated and are read from the start", recreated)):
        if places:
            said = ", ".join(f"{t}[{p}]" for t, p in places)
            _LOG.warning("table '%s': %s %s", definition.name, said, words, extra={"table": definition.name})
    return ends, cluster.earliest(recreated)


def recreated_topics(before: Mapping[str, str], now: Mapping[str, str]) -> set[str]:
    """The topics whose ids are other ones now; of which one id is unknown, nobody can say."""
    return {topic for topic, said in before.items() if now.get(topic, said) != said}


def check_checkpoint(definition: Definition, starts: Offsets, stops: Offsets, others: Collection[str] = ()) -> None:
    """Check that a stream goes on where its checkpoint says, in the topics that it is about.

    With 'scan.missing-topics' = 'ignore' it may forget what is gone, but one partition at least must be the same.

    Args:
        others: as in ``going_on``.

    Raises:
        OffsetError: the checkpoint is another query's, or a topic was deleted or recreated since; its offsets mean
            nothing in the new one, and going on would lose or double rows.
    """
    ignore = definition.options[opt.MISSING_TOPICS] == opt.IGNORE
    foreign = sorted({topic for topic, partition in starts if not _has(definition, topic, partition)})
    if foreign and not (ignore and any(_has(definition, *position) for position in starts)):
        own = opt.topics(definition.options)
        table = f"'{', '.join(own)}'" if own is not None else f"the pattern '{definition.options[opt.TOPIC_PATTERN]}'"
        raise OffsetError(
            f"Table '{definition.name}': the checkpoint holds offsets of '{', '.join(foreign)}', which option 'topic' "
            f"does not name: the table has {table}. It belongs to another query (SET another 'pipeline.name' or "
            "'execution.checkpointing.dir'), or the table has changed: "
            f"'{opt.MISSING_TOPICS.key}' = '{opt.IGNORE}' forgets what is not read any more."
        )
    if ignore:
        return
    for (topic, partition), start in sorted(starts.items()):
        stop = stops.get((topic, partition))
        if stop is None or stop < start or topic in others:
            found = "it does not exist any more" if stop is None else f"it ends at {stop}"
            found = found if stop is None or stop < start else "the topic has another id"
            raise OffsetError(
                f"{topic}[{partition}]@{start}: the checkpoint goes on from here, but {found}. The topic was deleted "
                "or recreated. To read the new one, start with another 'pipeline.name' (or an empty checkpoint "
                f"folder), or set '{opt.MISSING_TOPICS.key}' = '{opt.IGNORE}': what is gone is then forgotten."
            )


def _has(definition: Definition, topic: str, partition: int) -> bool:
    chosen, topics = definition.options.get(opt.SCAN_PARTITIONS), opt.topics(definition.options)
    if chosen is not None:
        return (topic, partition) in chosen
    if topics is not None:
        return topic in topics
    return compile_java_pattern(definition.options[opt.TOPIC_PATTERN]).fullmatch(topic) is not None
