"""Data loss: the log of a partition begins behind the offset that is to be read next.

Nothing else is loss. Compacted records, aborted ones and transactions' markers leave gaps that lose nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafka_sql.definition import Definition
from kafka_sql.errors import DataLossError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.types import Offsets, Split
from kafka_sql.options import connector as opt

_LOG = logging.getLogger("kafka_sql.source")


def clamp_to_log_start(definition: Definition, cluster: Cluster, starts: Offsets, stops: Offsets) -> Offsets:
    """The starts, moved to the beginning of the log where it is beyond them.

    Args:
        starts: the offsets that are to be read next.
        stops: where reading ends; what lies there or beyond is nobody's loss.

    Raises:
        DataLossError: offsets in the range are gone, and 'scan.fail-on-data-loss' is true.
    """
    wanted = {p: at for p, at in starts.items() if p in stops and at < stops[p]}
    earliest = cluster.earliest(wanted)
    gone = {p: min(earliest[p], stops[p]) for p, at in wanted.items() if earliest[p] > at}
    if not gone:
        return starts
    report_data_loss(definition, [(f"{t}[{p}]", starts[t, p], earliest[t, p], stops[t, p]) for t, p in sorted(gone)])
    return {**starts, **gone}


def data_loss_handler(definition: Definition) -> Callable[[Split, int, int], None]:
    """What a task does where the log moves away beneath it: the same."""
    return lambda split, wanted, first: report_data_loss(
        definition, [(f"{split.topic}[{split.partition}]", wanted, first, split.stop)]
    )


def report_data_loss(definition: Definition, places: list[tuple[str, int, int, int]]) -> None:
    """Say what is lost.

    Args:
        places: topic[partition], the wanted offset, the first available one, the end of the read.

    Raises:
        DataLossError: 'scan.fail-on-data-loss' is true; else it is logged.
    """
    lost = "; ".join(
        f"{where}: offset {wanted} was wanted, the first available one is {available}, "
        f"{min(available, stop) - wanted} are lost"
        for where, wanted, available, stop in places
    )
    said = f"Table '{definition.name}': records were removed before they were read, by retention or by hand. {lost}."
    if definition.options[opt.FAIL_ON_DATA_LOSS]:
        raise DataLossError(f"{said} Set '{opt.FAIL_ON_DATA_LOSS.key}' = 'false' to continue with what there is.")
    _LOG.warning("%s", said, extra={"table": definition.name})
