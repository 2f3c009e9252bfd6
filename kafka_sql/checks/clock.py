"""Compare this machine's clock with the newest record's timestamp. (Kafka's protocol has no server time.)"""

from __future__ import annotations

import time
from typing import Final

from kafka_sql.checks.finding import Finding, run_check
from kafka_sql.definition import Definition
from kafka_sql.errors import BrokerError, KafkaSqlError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.source.enumerator.partitions import list_partitions

_MAX_AHEAD: Final = 60.0  # seconds


def check_clock(definition: Definition, cluster: Cluster) -> Finding:
    """Check that the newest record's timestamp is at most a minute ahead of this machine's clock."""
    try:
        newest = cluster.newest_timestamp(list_partitions(definition, cluster))()
    except KafkaSqlError as e:
        return Finding(definition.name, "clock", None, f"could not be checked: {e}")
    if newest is None:
        return Finding(definition.name, "clock", None, "no record with a timestamp")
    return run_check(definition.name, "clock", lambda: _check_ahead(newest / 1000 - time.time()))


def _check_ahead(seconds_ahead: float) -> str:
    if seconds_ahead > _MAX_AHEAD:
        raise BrokerError(
            f"the newest record is {seconds_ahead:.0f} s ahead of this machine's clock. Synchronize the clocks of this "
            "machine and of the producers: token and certificate validation and event times depend on them."
        )
    return f"the newest record is {max(-seconds_ahead, 0):.0f} s old"
