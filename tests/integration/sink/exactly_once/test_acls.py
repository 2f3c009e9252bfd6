"""Exactly-once on brokers with ACLs: the required ACLs suffice, and errors name missing ones."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from kafka_sql.definition import Definition
from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.embedded.loopback import free_ports
from kafka_sql.errors import AuthorizationError, TopicNotFoundError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.decision_log import LOG_TOPIC, create_log
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.split import Split
from kafka_sql.sink.topics import ensure_topics_exist
from tests.kills.simulated_query import ROWS, SimulatedQuery, sink_table
from tests.topics import Topics, grant

pytestmark = pytest.mark.integration
USERS = 20
TOPIC, ID = ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID
LITERAL, PREFIXED = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED

Acl = tuple[ResourceType, str, ResourcePatternType, AclOperation]


@dataclass
class BrokerWithAcls:
    """A broker with ACLs on one listener. Clients of the other listener are super users."""

    topics: Topics
    port: int
    users: Iterator[str]

    def grant(self, user: str, acls: list[Acl]) -> None:
        """Grant a user ACLs."""
        rules = [
            AclBinding(resource_type, name, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
            for resource_type, name, pattern, operation in acls
        ]
        grant(self.topics.admin, rules)

    def properties(self, user: str) -> dict[str, str]:
        """Return client properties."""
        return {
            "bootstrap.servers": f"127.0.0.1:{self.port}",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": user,
            "sasl.password": "password",
        }

    def sink(self, user: str, topic: str, prefix: str) -> Definition:
        """Return a table with the credentials of a user."""
        options = {f"properties.{key}": value for key, value in self.properties(user).items()}
        return sink_table(options.pop("properties.bootstrap.servers"), topic, prefix, **options)


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerWithAcls]:
    (port,) = free_ports(1)
    users = [f"user-{i}" for i in range(USERS)]
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    passwords = " ".join(f'user_{user}="password"' for user in users)
    properties = {
        "listeners": f"SASL://127.0.0.1:{port}",
        "advertised.listeners": f"SASL://127.0.0.1:{port}",
        "listener.security.protocol.map": "SASL:SASL_PLAINTEXT",
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": f"{module} required {passwords};",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with EmbeddedKafka(properties=properties) as kafka:
        yield BrokerWithAcls(Topics(kafka.bootstrap_servers), port, iter(users))


def required_acls(topic: str, prefix: str) -> dict[str, list[Acl]]:
    """Return the ACLs that exactly-once needs, by name."""
    on_log: list[Acl] = [(TOPIC, LOG_TOPIC, LITERAL, op) for op in (AclOperation.READ, AclOperation.WRITE)]
    return {
        "id": [(ID, prefix, PREFIXED, AclOperation.WRITE)],
        "topic, READ": [(TOPIC, topic, LITERAL, AclOperation.READ)],
        "topic, WRITE": [(TOPIC, topic, LITERAL, AclOperation.WRITE)],
        "log, READ": on_log[:1],
        "log, WRITE": on_log[1:],
    }


def write(broker: BrokerWithAcls, folder: Path, without: tuple[str, ...] = ()) -> None:
    """Write two batches, with a restart, so that all ACLs are used. The user lacks the ACLs in ``without``."""
    topic, prefix, user = broker.topics.create(), uuid.uuid4().hex, next(broker.users)
    broker.grant(
        user, [acl for name, acls in required_acls(topic, prefix).items() if name not in without for acl in acls]
    )
    sink = broker.sink(user, topic, prefix)
    ensure_topics_exist(sink)
    for run in ("one", "two"):
        driver = SimulatedQuery(sink, folder, run, prefix)
        try:
            driver.run_batch(tasks=2)
        finally:
            driver.close()
    assert len(broker.topics.consume(topic, 2 * ROWS, **{"isolation.level": "read_committed"})) == 2 * ROWS


@pytest.mark.long
def test_missing_create_on_the_decision_log(broker: BrokerWithAcls, tmp_path: Path) -> None:
    """Must run first: the following tests create the log."""
    with pytest.raises(AuthorizationError, match=rf"'{LOG_TOPIC}', .* may not create it: .*CREATE, or create it"):
        write(broker, tmp_path)


@pytest.fixture
def broker_with_log(broker: BrokerWithAcls) -> BrokerWithAcls:
    create_log(to_librdkafka({"bootstrap.servers": broker.topics.bootstrap}))
    return broker


def test_the_documented_acls_suffice(broker_with_log: BrokerWithAcls, tmp_path: Path) -> None:
    write(broker_with_log, tmp_path)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("without", "message"),
    [
        (("id",), r"^\[AUTHORIZATION\] Transaction '.*' could not be started: .*WRITE.* on the transactional ids"),
        (("topic, WRITE",), r"^\[AUTHORIZATION\] Table 'numbers': topic-\d+\[0\]: .*Grant .* WRITE on the topic"),
        (("topic, READ",), r"^\[AUTHORIZATION\] topic-\d+\[0\]: .* and READ and DESCRIBE on the topic"),
        (("topic, READ", "topic, WRITE"), r"^\[AUTHORIZATION\] Topic 'topic-\d+' does not exist on .*, or the user"),
        (("log, READ",), rf"^\[AUTHORIZATION\] Topic '{LOG_TOPIC}', .* cannot be read: .* READ, WRITE and DESCRIBE"),
        (
            ("log, WRITE",),
            rf"^\[AUTHORIZATION\] The decision log \(topic '{LOG_TOPIC}', .* cannot be written",
        ),
        (
            ("log, READ", "log, WRITE"),
            rf"^\[AUTHORIZATION\] Topic '{LOG_TOPIC}', .* not authorized to see it. .* DESCRIBE on it. .* CREATE",
        ),
    ],
)
def test_missing_acls_are_named(
    broker_with_log: BrokerWithAcls, tmp_path: Path, without: tuple[str, ...], message: str
) -> None:
    with pytest.raises(AuthorizationError, match=message):
        write(broker_with_log, tmp_path, without)


def test_a_missing_topic_and_an_invisible_topic_are_distinguished(broker: BrokerWithAcls) -> None:
    user = next(broker.users)
    broker.grant(user, [(TOPIC, "missing", LITERAL, AclOperation.WRITE)])
    with pytest.raises(TopicNotFoundError, match="Topic 'missing' does not exist on"):
        ensure_topics_exist(broker.sink(user, "missing", "p"))
    with pytest.raises(
        AuthorizationError, match=r"'secret' does not exist on .*, or the user .* is not authorized to see it. Grant"
    ):
        ensure_topics_exist(broker.sink(user, "secret", "p"))
    assert "missing" not in broker.topics.admin.list_topics(timeout=30).topics


def test_a_reader_needs_no_acl_on_an_unused_group(broker: BrokerWithAcls) -> None:
    topic, user = broker.topics.create(), next(broker.users)
    broker.topics.produce(topic, b"a", b"b")
    broker.grant(user, [(TOPIC, topic, LITERAL, AclOperation.READ)])
    config = to_librdkafka({**broker.properties(user), "group.id": "unused"})
    for _ in range(3):  # the response about the group arrives at random times
        values = [v for records in read_records(config, Split(topic, 0, 0, 2)) for v in records.values.to_pylist()]
        assert values == [b"a", b"b"]
    cluster = Cluster(config)
    with pytest.raises(AuthorizationError, match=r"[Gg]roup.*READ on the group of 'properties.group.id'"):
        cluster.committed("unused", [(topic, 0)])
    with pytest.raises(AuthorizationError, match=r"[Gg]roup"):
        cluster.commit("unused", {(topic, 0): 1}).result(30)
