"""Move start offsets to the beginning of the log if the records before it were removed."""

from __future__ import annotations

from kafka_sql.definition import Definition
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.topic_partition import Offsets
from kafka_sql.source.data_loss import LostRange, report_data_loss


def clamp_to_log_start(
    definition: Definition, cluster: Cluster, starts: Offsets, stops: Offsets, earliest: Offsets | None = None
) -> Offsets:
    """Return the start offsets, moved to the beginning of the log if they are before it.

    Args:
        starts: the next offset to read of each partition.
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
