"""Report data loss: the next offset to read is before the beginning of a partition's log.

Gaps inside the log are not data loss: compaction, aborted transactions and transaction markers leave them.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

from kafka_sql.definition import Definition
from kafka_sql.errors import DataLossError
from kafka_sql.kafka.split import DataLossHandler
from kafka_sql.options import connector as opt

_LOG = logging.getLogger("kafka_sql.source")


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
    message = f"Table '{definition.name}': records were deleted before they could be read (retention?). {details}."
    if definition.options[opt.FAIL_ON_DATA_LOSS]:
        raise DataLossError(
            f"{message} Set '{opt.FAIL_ON_DATA_LOSS.key}' = 'false' to continue with the available records.",
            topic=ranges[0].topic,
            partition=ranges[0].partition,
            offset=ranges[0].start,
            table=definition.name,
        )
    _LOG.warning("%s", message, extra={"table": definition.name})
