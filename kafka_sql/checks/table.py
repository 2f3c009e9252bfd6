"""Check one table. Checks run in dependency order; a check that depends on a failed one is skipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial

import pyarrow as pa

from kafka_sql.checks.clock import check_clock
from kafka_sql.checks.encryption import check_encryption
from kafka_sql.checks.finding import Finding, open_connection, run_check
from kafka_sql.checks.permissions import check_permissions
from kafka_sql.checks.real_time import check_real_time_mode
from kafka_sql.checks.schemas import check_schemas
from kafka_sql.checks.tokens import check_tokens
from kafka_sql.definition import Definition
from kafka_sql.errors import AuthorizationError, BrokerError, KafkaSqlError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.admin.descriptions import TopicState, describe_topics
from kafka_sql.kafka.client_choice import choose_reader, choose_writer
from kafka_sql.kafka.config import kerberos
from kafka_sql.kafka.config.properties import resolve_config
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin
from kafka_sql.options import connector as opt
from kafka_sql.sink.exactly_once.timeout import transaction_timeout
from kafka_sql.sink.exactly_once.transactional_ids import driver_id, task_prefix
from kafka_sql.source.dynamic.clusters import Clusters, table_cluster
from kafka_sql.source.enumerator.partitions import list_partitions


def check_table(definition: Definition, schema: pa.Schema) -> Iterator[Finding]:
    """Run all checks of a table.

    Args:
        schema: the Arrow schema of the written columns.
    """
    if definition.is_dynamic:
        streams = run_check(definition.name, "metadata service", lambda: _check_streams(definition))
        yield streams
        yield from check_encryption(definition, _clusters(definition) if streams.ok else {})
        return
    settings = run_check(definition.name, "settings", lambda: _check_settings(definition))
    yield settings
    if settings.ok:
        yield from _check_clients(definition)
        yield check_real_time_mode(definition)
        yield from check_encryption(definition, {"": definition.client_config})
        yield from check_permissions(definition)
        yield from check_tokens(definition)
        yield from _check_brokers(definition)
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


def _check_brokers(definition: Definition) -> Iterator[Finding]:
    name = definition.name
    connections = list(_check_bootstrap_servers(definition))
    yield from connections
    if not any(finding.ok for finding in connections):
        return
    cluster = Cluster(definition.client_config)
    authentication = run_check(name, "authentication", lambda: _check_authentication(definition, cluster))
    yield authentication
    if not authentication.ok:
        return
    yield from _check_topics(definition, cluster)
    group = definition.options.get(opt.GROUP_ID)
    if group is not None:
        yield run_check(name, "group", lambda: _check_group(cluster, group))
    if definition.is_exactly_once:
        yield from _check_exactly_once(definition)
    yield check_clock(definition, cluster)


def _check_bootstrap_servers(definition: Definition) -> Iterator[Finding]:
    for server in definition.client_config["bootstrap.servers"].split(","):
        address = server.strip().rpartition("://")[2]
        yield run_check(definition.name, f"reachable {address}", partial(_check_connection, address))


def _check_connection(address: str) -> str:
    host, _, port = address.rpartition(":")
    try:
        open_connection(host.strip("[]"), int(port))
    except (OSError, ValueError) as e:
        raise BrokerError(f"{e}. Check 'properties.bootstrap.servers' and the network.") from e
    return "connected"


def _check_authentication(definition: Definition, cluster: Cluster) -> str:
    cluster.topics()
    protocol = definition.client_config.get("security.protocol", "plaintext").upper()
    sasl_mechanism = kerberos.sasl_mechanism(definition.client_config)
    return f"the brokers responded ({protocol}{', ' + sasl_mechanism if sasl_mechanism else ''})"


def _check_topics(definition: Definition, cluster: Cluster) -> Iterator[Finding]:
    name = definition.name
    try:
        topics = sorted({topic for topic, _ in list_partitions(definition, cluster)})
    except KafkaSqlError as e:
        yield Finding(name, "topic", False, str(e))
        return
    if not topics:
        yield Finding(name, "topic", None, "no topic exists yet")
    for topic, state in describe_topics(cluster.admin(), topics).items():
        yield run_check(name, f"topic '{topic}'", partial(_check_partitions, state))
        for operation in ("READ", "WRITE"):
            yield run_check(name, f"{operation.lower()} '{topic}'", partial(_check_operation, state, operation))


def _check_partitions(state: TopicState) -> str:
    if state.leaderless:
        raise BrokerError(f"partitions without a leader: {_join(state.leaderless)}. Check the brokers.")
    under_replicated = f"; under-replicated: {_join(state.under_replicated)}" if state.under_replicated else ""
    return f"{state.partitions} partitions, replication factor {state.replication_factor}{under_replicated}"


def _join(partitions: tuple[int, ...]) -> str:
    return ", ".join(map(str, partitions))


def _check_operation(state: TopicState, operation: str) -> str:
    if state.allowed_operations is None:
        return "the brokers do not report allowed operations"
    if operation not in state.allowed_operations:
        raise AuthorizationError(f"not allowed. Grant {operation} on the topic.")
    return "allowed"


def _check_group(cluster: Cluster, group: str) -> str:
    if cluster.may_read_group(group) is False:
        raise AuthorizationError(f"not allowed to use group '{group}' ('properties.group.id'). Grant READ on it.")
    return "allowed to commit and read offsets"


def _check_exactly_once(definition: Definition) -> Iterator[Finding]:
    prefix = definition.options[opt.TRANSACTIONAL_ID_PREFIX]
    for owner, identifier in (("tasks", f"{task_prefix(prefix)}check"), ("the driver", f"{driver_id(prefix)}-check")):
        check = partial(_check_transactional_id, definition, identifier)
        yield run_check(definition.name, f"transactional id of {owner}", check)
    yield run_check(definition.name, "exactly-once", lambda: _check_transactions(definition))


def _check_transactional_id(definition: Definition, transactional_id: str) -> str:
    client = TransactionAdmin(definition.client_config)
    with closing(client):
        if not client.can_write(transactional_id):
            raise AuthorizationError(
                f"not allowed to write as '{transactional_id}'. Grant WRITE and DESCRIBE on the transactional ids with "
                "the prefix 'sink.transactional-id-prefix'."
            )
    return f"allowed to write as '{transactional_id}'"


def _check_transactions(definition: Definition) -> str:
    with closing(TransactionAdmin(definition.client_config)) as client:
        client.require_support()
    return f"the brokers keep a transaction open for {transaction_timeout(definition) / 1000:g} s"
