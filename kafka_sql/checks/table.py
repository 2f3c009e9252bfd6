"""All that is looked at of one table, in the order in which one thing needs the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pyarrow as pa

from kafka_sql.checks.clock import check_clock
from kafka_sql.checks.finding import Finding, open_connection, run_check
from kafka_sql.checks.schemas import check_schemas
from kafka_sql.definition import Definition
from kafka_sql.errors import AuthorizationError, BrokerError, KafkaSqlError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.admin.descriptions import TopicState, allowed_group_operations, describe_topics
from kafka_sql.kafka.config.kerberos import mechanism
from kafka_sql.kafka.config.properties import resolve_config
from kafka_sql.kafka.protocol.transaction_admin import TransactionAdmin
from kafka_sql.options import connector as opt
from kafka_sql.sink.exactly_once.timeout import transaction_timeout
from kafka_sql.sink.exactly_once.transactional_ids import driver_id, task_prefix
from kafka_sql.source.enumerator.partitions import list_partitions


def check_table(definition: Definition, schema: pa.Schema) -> Iterator[Finding]:
    """Look at one thing after the other; what rests on something that failed is left out.

    Args:
        schema: the columns that are written, as Arrow's.
    """
    name = definition.name
    settings = run_check(name, "settings", lambda: _settings(definition))
    yield settings
    if settings.ok:
        yield from _brokers(definition)
    yield from check_schemas(definition, schema)


def _settings(definition: Definition) -> str:
    resolve_config(definition.client)
    return "the options' references name something, and key and trust stores can be read"


def _brokers(definition: Definition) -> Iterator[Finding]:
    name = definition.name
    reachable = list(_reachable(definition))
    yield from reachable
    if not any(finding.ok for finding in reachable):
        return
    cluster = Cluster(definition.client)
    entered = run_check(name, "authentication", lambda: _entered(definition, cluster))
    yield entered
    if not entered.ok:
        return
    yield from _topics(definition, cluster)
    group = definition.options.get(opt.GROUP_ID)
    if group is not None:
        yield run_check(name, "group", lambda: _group(cluster, group))
    if definition.options[opt.DELIVERY_GUARANTEE] == opt.EXACTLY_ONCE:
        yield from _exactly_once(definition)
    yield check_clock(definition, cluster)


def _reachable(definition: Definition) -> Iterator[Finding]:
    for server in definition.client["bootstrap.servers"].split(","):
        address = server.strip().rpartition("://")[2]
        yield run_check(definition.name, f"reachable {address}", partial(_connect, address))


def _connect(address: str) -> str:
    host, _, port = address.rpartition(":")
    try:
        open_connection(host.strip("[]"), int(port))
    except (OSError, ValueError) as e:
        raise BrokerError(f"{e}. Check 'properties.bootstrap.servers' and the network.") from e
    return "a connection can be made"


def _entered(definition: Definition, cluster: Cluster) -> str:
    cluster.topics()
    protocol = definition.client.get("security.protocol", "plaintext").upper()
    how = mechanism(definition.client)
    return f"the brokers answer ({protocol}{', ' + how if how else ''})"


def _topics(definition: Definition, cluster: Cluster) -> Iterator[Finding]:
    name = definition.name
    try:
        topics = sorted({topic for topic, _ in list_partitions(definition, cluster)})
    except KafkaSqlError as e:
        yield Finding(name, "topic", False, str(e))
        return
    if not topics:
        yield Finding(name, "topic", None, "there is none yet")
    for topic, facts in describe_topics(cluster.admin(), topics).items():
        yield run_check(name, f"topic '{topic}'", partial(_whole, facts))
        for right in ("READ", "WRITE"):
            yield run_check(name, f"{right.lower()} '{topic}'", partial(_right, facts, right))


def _whole(facts: TopicState) -> str:
    if facts.leaderless:
        raise BrokerError(f"partitions without a leader: {_numbers(facts.leaderless)}. Are their brokers down?")
    behind = f"; with replicas that are behind: {_numbers(facts.under_replicated)}" if facts.under_replicated else ""
    return f"{facts.partitions} partitions, {facts.replication_factor} replicas each{behind}"


def _numbers(partitions: tuple[int, ...]) -> str:
    return ", ".join(map(str, partitions))


def _right(facts: TopicState, right: str) -> str:
    if facts.allowed_operations is None:
        return "the brokers do not tell rights"
    if right not in facts.allowed_operations:
        raise AuthorizationError(f"the user may not. Grant {right} on the topic.")
    return "the user may"


def _group(cluster: Cluster, group: str) -> str:
    rights = allowed_group_operations(cluster.admin(), group)
    if rights is not None and "READ" not in rights:
        raise AuthorizationError(f"the user may not use group '{group}'. Grant READ on it ('properties.group.id').")
    return "the user may commit and read offsets"


def _exactly_once(definition: Definition) -> Iterator[Finding]:
    prefix = definition.options[opt.TRANSACTIONAL_ID_PREFIX]
    for who, identifier in (("tasks", f"{task_prefix(prefix)}check"), ("the driver", f"{driver_id(prefix)}-check")):
        yield run_check(definition.name, f"transactional id of {who}", partial(_transactional, definition, identifier))
    yield run_check(definition.name, "exactly-once", lambda: _timeout(definition))


def _transactional(definition: Definition, identifier: str) -> str:
    client = TransactionAdmin(definition.client)
    with closing(client):
        if not client.can_write(identifier):
            raise AuthorizationError(
                f"the user may not write as '{identifier}'. Grant WRITE and DESCRIBE on the transactional ids that "
                "begin with 'sink.transactional-id-prefix'."
            )
    return f"the user may write as '{identifier}'"


def _timeout(definition: Definition) -> str:
    return f"the brokers keep a transaction open for {transaction_timeout(definition) / 1000:g} s"
