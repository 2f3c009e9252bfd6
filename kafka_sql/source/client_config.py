"""Configure the source's Kafka clients: client ids derived from ``client.id.prefix`` as in Flink, and the rack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_sql.definition import Definition
from kafka_sql.kafka.split import SourceCluster
from kafka_sql.options import connector as opt
from kafka_sql.source.reader.rack import resolve_rack_id

ENUMERATOR: Final = "enumerator-admin-client"


def client_config(definition: Definition, role: str, cluster: SourceCluster | None = None) -> Mapping[str, str]:
    """Return a table's client configuration with a client id for the role.

    Args:
        role: a task's number, or ``ENUMERATOR``.
        cluster: one of the clusters of a 'dynamic-kafka' table.
    """
    config = definition.client_config if cluster is None else cluster.config
    prefix = definition.options.get(opt.CLIENT_ID_PREFIX)
    if prefix is None and "client.id" not in config:
        prefix = definition.options.get(opt.GROUP_ID)
    if prefix is None:
        return config
    return {**config, "client.id": f"{prefix}-{role}" if cluster is None else f"{prefix}-{cluster.id}-{role}"}


def task_client_config(definition: Definition, task: int, cluster: SourceCluster | None = None) -> Mapping[str, str]:
    """Return the client configuration of a task, with the rack of the current process.

    Raises:
        InvalidOptionError: 'scan.rack-id' could not be resolved in this process.
    """
    config, rack = client_config(definition, str(task), cluster), resolve_rack_id(definition)
    return config if rack is None else {**config, "client.rack": rack}
