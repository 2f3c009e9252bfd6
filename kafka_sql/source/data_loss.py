"""Report data loss: the next offset to read is before the beginning of a partition's log, to which reads move then.

Gaps inside the log are not data loss: compaction, aborted transactions and transaction markers leave them.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_sql.definition import Definition
from kafka_sql.errors import DataLossError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.split import DataLossHandler
from kafka_sql.kafka.topic_partition import Offsets
from kafka_sql.options import connector as opt
from kafka_sql.source.table_log import warn


class LostRange(NamedTuple):
    """Offsets of one partition that were removed before they were read."""

    topic: str
    partition: int
    start: int  # the offset to read
    available: int  # the first offset that the log has
    stop: int  # the end of the read


def data_loss_handler(definition: Definition) -> DataLossHandler:
    """Return a function that a task calls if the log's beginning passes the offset it is about to read."""
    return lambda split, offset, log_start: report_data_loss(
        definition, [LostRange(split.qualified_topic, split.partition, offset, log_start, split.stop)]
    )


def report_data_loss(definition: Definition, ranges: list[LostRange]) -> None:
    """Raise or log a data loss, depending on 'scan.fail-on-data-loss'.

    Raises:
        DataLossError: 'scan.fail-on-data-loss' is true.
    """
    details = "; ".join(
        f"{r.topic}[{r.partition}]@{r.start}: the earliest available offset is {r.available}, "
        f"{min(r.available, r.stop) - r.start} offsets are lost"
        for r in ranges
    )
    message = f"records were deleted before they could be read (retention?). {details}."
    if definition.options[opt.FAIL_ON_DATA_LOSS]:
        raise DataLossError(
            f"Table '{definition.name}': {message} "
            f"Set '{opt.FAIL_ON_DATA_LOSS.key}' = 'false' to continue with the available records.",
            topic=ranges[0].topic,
            partition=ranges[0].partition,
            offset=ranges[0].start,
            table=definition.name,
        )
    warn(definition.name, "%s", message)


def clamp_to_log_start(
    definition: Definition, cluster: Cluster, starts: Offsets, stops: Offsets, earliest: Offsets | None = None
) -> Offsets:
    """Return the start offsets, moved to the beginning of the log if they are before it.

    Args:
        stops: where the read ends. Records removed at or after the end do not count as lost.
        earliest: the first offsets of the log, if the caller has them. They are requested if a partition is missing.

    Raises:
        DataLossError: offsets in the range were removed, and 'scan.fail-on-data-loss' is true.
    """
    to_read = {p: offset for p, offset in starts.items() if p in stops and offset < stops[p]}
    if earliest is None or not to_read.keys() <= earliest.keys():
        earliest = cluster.earliest(to_read)
    new_starts = {p: min(earliest[p], stops[p]) for p, offset in to_read.items() if earliest[p] > offset}
    if not new_starts:
        return starts
    report_data_loss(definition, [LostRange(*p, starts[p], earliest[p], stops[p]) for p in sorted(new_starts)])
    return {**starts, **new_starts}
