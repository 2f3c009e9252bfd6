"""Where a read starts and ends, and the splits between. Runs on the driver, each time a read is planned."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_sql.definition import Definition
from kafka_sql.errors import MissingOptionError, OffsetError
from kafka_sql.kafka.cluster import Cluster, Position
from kafka_sql.kafka.split import Split
from kafka_sql.options import connector as opt

Offsets = dict[Position, int]


def snapshot(definition: Definition) -> list[Split]:
    """The splits of a batch read: from the startup position to the end as of now.

    Raises:
        BrokerError: the cluster, a topic or a position cannot be had.
    """
    cluster = Cluster(definition.client)
    positions = cluster.partitions(definition.options[opt.TOPIC])
    stops = cluster.latest(positions)
    starts = stops if _mode(definition) == opt.LATEST else start_offsets(definition, cluster, positions)
    return splits(starts, stops)


def start_offsets(definition: Definition, cluster: Cluster, positions: list[Position]) -> Offsets:
    """The startup position of each partition by ``scan.startup.mode``.

    Raises:
        MissingOptionError: group-offsets without a group.
        OffsetError: the group has no offset for a partition, and no reset strategy says where to start then.
    """
    if _mode(definition) == opt.EARLIEST:
        return cluster.earliest(positions)
    if _mode(definition) == opt.LATEST:
        return cluster.latest(positions)
    return _group_offsets(definition, cluster, positions)


def _mode(definition: Definition) -> str:
    # the latest row of a key can be known only from its first record on, as in Flink
    return opt.EARLIEST if definition.upsert else definition.options[opt.STARTUP_MODE]


def _group_offsets(definition: Definition, cluster: Cluster, positions: list[Position]) -> Offsets:
    group = definition.options.get(opt.GROUP_ID)
    if group is None:
        raise MissingOptionError(
            f"Table '{definition.name}': option 'properties.group.id' is required when 'scan.startup.mode' is "
            f"'group-offsets' "
            "(its default). Set it, or set 'scan.startup.mode' to 'earliest-offset' or 'latest-offset'."
        )
    committed = cluster.committed(group, positions)
    rest = [p for p in positions if p not in committed]
    if not rest:
        return committed
    reset = definition.client.get("auto.offset.reset", "error")
    if reset in ("earliest", "smallest", "beginning"):
        return {**cluster.earliest(rest), **committed}
    if reset in ("latest", "largest", "end"):
        return {**cluster.latest(rest), **committed}
    places = ", ".join(f"{t}[{p}]" for t, p in rest)
    raise OffsetError(
        f"Table '{definition.name}': group '{group}' has committed no offset for {places}. Set "
        f"'properties.auto.offset.reset' to "
        "'earliest' or 'latest', or 'scan.startup.mode' to 'earliest-offset' or 'latest-offset', or commit offsets "
        "for the group."
    )


def check_progress(definition: Definition, starts: Offsets, stops: Offsets) -> None:
    """Check that a stream goes on where its checkpoint says, in the topics that it is about.

    Raises:
        OffsetError: the checkpoint is another query's, or a topic was deleted or recreated since; its offsets mean
            nothing in the new one, and going on would lose or double rows.
    """
    topics: tuple[str, ...] = definition.options[opt.TOPIC]
    foreign = sorted({topic for topic, _ in starts} - set(topics))
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


def splits(starts: Mapping[Position, int], stops: Mapping[Position, int]) -> list[Split]:
    """One split a partition that has something to read."""
    return [
        Split(topic, partition, starts[topic, partition], stop)
        for (topic, partition), stop in sorted(stops.items())
        if starts[topic, partition] < stop
    ]
