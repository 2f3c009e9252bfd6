"""This machine's clock beside others: Kafka's protocol tells no time, so that of records is what there is."""

from __future__ import annotations

import time
from typing import Final

from kafka_sql.checks.finding import Finding, run_check
from kafka_sql.definition import Definition
from kafka_sql.errors import BrokerError, KafkaSqlError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.source.enumerator.partitions import list_partitions

_AHEAD: Final = 60.0  # seconds


def check_clock(definition: Definition, cluster: Cluster) -> Finding:
    """Whether the newest record lies ahead of this machine's time: one of the clocks is wrong then."""
    try:
        newest = cluster.newest_timestamp(list_partitions(definition, cluster))()
    except KafkaSqlError as e:
        return Finding(definition.name, "clock", None, f"no record tells the time: {e}")
    if newest is None:
        return Finding(definition.name, "clock", None, "no record tells the time")
    return run_check(definition.name, "clock", lambda: _judged(newest / 1000 - time.time()))


def _judged(ahead: float) -> str:
    if ahead > _AHEAD:
        raise BrokerError(
            f"the newest record lies {ahead:.0f} s ahead of this machine's clock: that of the machine, or that of who "
            "wrote it, is wrong. Tokens, certificates and event times depend on it."
        )
    return f"the newest record is {max(-ahead, 0):.0f} s old"
