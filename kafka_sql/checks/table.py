"""Check one table. Checks run in dependency order; a check that depends on a failed one is skipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from kafka_sql.checks.brokers import check_brokers
from kafka_sql.checks.credentials import check_encryption, check_permissions, check_tokens
from kafka_sql.checks.finding import Finding, run_check
from kafka_sql.checks.schemas import check_schemas
from kafka_sql.definition import Definition
from kafka_sql.errors import KafkaSqlError
from kafka_sql.kafka.client_choice import choose_reader, choose_writer
from kafka_sql.kafka.config.properties import resolve_config
from kafka_sql.options import connector as opt
from kafka_sql.realtime.checks import check_sink, check_source
from kafka_sql.realtime.client_properties import java_properties
from kafka_sql.source.dynamic.clusters import Clusters, table_cluster
from kafka_sql.source.enumerator.partitions import list_partitions


def check_table(definition: Definition, schema: pa.Schema) -> Iterator[Finding]:
    """Run all checks of a table, whose written columns have the Arrow schema."""
    if definition.is_dynamic:
        streams = run_check(definition.name, "metadata service", lambda: _check_streams(definition))
        yield streams
        yield from check_encryption(definition, _clusters(definition) if streams.ok else {})
        return
    settings = run_check(definition.name, "settings", lambda: _check_settings(definition))
    yield settings
    if settings.ok:
        yield from _check_clients(definition)
        yield _check_real_time_mode(definition)
        yield from check_encryption(definition, {"": definition.client_config})
        yield from check_permissions(definition)
        yield from check_tokens(definition)
        yield from check_brokers(definition)
    yield from check_schemas(definition, schema)


def _check_streams(definition: Definition) -> str:
    """Check that the clusters of a 'dynamic-kafka' table can be looked up and have its topics."""
    with table_cluster(definition) as cluster:
        if isinstance(cluster, Clusters):
            cluster.check_streams()
        partitions = list_partitions(definition, cluster)
    topics = sorted({topic for topic, _ in partitions})
    return f"{len(partitions)} partitions of {', '.join(topics) or 'no topics'}"


def _clusters(definition: Definition) -> Mapping[str, Mapping[str, str]]:
    """Return the configuration of the clients of each cluster of a 'dynamic-kafka' table."""
    with table_cluster(definition) as cluster:
        return cluster.configs() if isinstance(cluster, Clusters) else {}


def _check_settings(definition: Definition) -> str:
    resolve_config(definition.client_config)
    return "secret references can be resolved, and key and trust stores can be read"


def _check_clients(definition: Definition) -> Iterator[Finding]:
    for option, choose in ((opt.SCAN_CLIENT, choose_reader), (opt.SINK_CLIENT, choose_writer)):
        client, reason = choose(definition.options[option], definition.client_config)
        yield Finding(definition.name, option.key, True, f"{client}, because {reason}")


def _check_real_time_mode(definition: Definition) -> Finding:
    """Return whether streaming INSERTs can read and write a table in real-time mode. If not, it is no failure."""
    reasons: dict[str, str] = {}
    for operation, check in (("read", check_source), ("written", check_sink)):
        try:
            check(definition)
            java_properties(definition)
            reasons[operation] = ""
        except KafkaSqlError as e:
            reasons[operation] = e.message
    parts = []
    for reason in dict.fromkeys(reasons.values()):
        operations = [operation for operation in reasons if reasons[operation] == reason]
        parts.append(
            f"cannot be {' or '.join(operations)}: {reason}" if reason else f"can be {' and '.join(operations)}"
        )
    return Finding(definition.name, "real-time mode", True if "" in reasons.values() else None, "; ".join(parts))
