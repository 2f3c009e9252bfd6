"""Check the brokers of a table: connections, permissions on the topics, the group and transactional ids, the clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Final

from kafka_sql.checks.finding import Finding, open_connection, run_check
from kafka_sql.definition import Definition
from kafka_sql.errors import AuthorizationError, BrokerError, KafkaSqlError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.admin.descriptions import TopicState, describe_topics
from kafka_sql.kafka.config import sasl
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin
from kafka_sql.options import connector as opt
from kafka_sql.sink.exactly_once.driver import transaction_timeout
from kafka_sql.sink.exactly_once.transactional_ids import driver_id, task_prefix
from kafka_sql.source.enumerator.partitions import list_partitions

_MAX_AHEAD: Final = 60.0  # seconds


def check_brokers(definition: Definition) -> Iterator[Finding]:
    """Check the connections, the topics, the group and the transactional ids, until a check fails."""
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
    yield _check_clock(definition, cluster)


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
    sasl_mechanism = sasl.sasl_mechanism(definition.client_config)
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


def _check_clock(definition: Definition, cluster: Cluster) -> Finding:
    """Compare this machine's clock with the newest record's timestamp. (Kafka's protocol has no server time.)"""
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
