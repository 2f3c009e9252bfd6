"""Exactly-once on brokers with access control lists: what it needs, and what is said where a part of it is missing."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from kafka_sql.definition import Definition
from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.embedded.protocol_probe import free_ports
from kafka_sql.errors import AuthorizationError, TopicNotFoundError
from kafka_sql.kafka.admin.cluster import Cluster
from kafka_sql.kafka.config.properties import to_librdkafka
from kafka_sql.kafka.decision_log import LOG_TOPIC, create_log
from kafka_sql.kafka.fetch import read_records
from kafka_sql.kafka.types import Split
from kafka_sql.sink.topics import ensure_topics_exist
from tests.kills.simulated_query import ROWS, SimulatedQuery, sink_table
from tests.topics import Topics, grant

pytestmark = pytest.mark.integration
USERS = 20
TOPIC, ID = ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID
LITERAL, PREFIXED = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED

Right = tuple[ResourceType, str, ResourcePatternType, AclOperation]


@dataclass
class Guarded:
    """A broker on which nobody may do what was not granted; whoever comes by its other listener may do all."""

    topics: Topics
    port: int
    users: Iterator[str]

    def grant(self, user: str, rights: list[Right]) -> None:
        """Allow a user so much."""
        rules = [
            AclBinding(kind, name, pattern, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
            for kind, name, pattern, operation in rights
        ]
        grant(self.topics.admin, rules)

    def properties(self, user: str) -> dict[str, str]:
        """A client's."""
        return {
            "bootstrap.servers": f"127.0.0.1:{self.port}",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": user,
            "sasl.password": "password",
        }

    def sink(self, user: str, topic: str, prefix: str) -> Definition:
        """A table that a user writes to."""
        options = {f"properties.{key}": value for key, value in self.properties(user).items()}
        return sink_table(options.pop("properties.bootstrap.servers"), topic, prefix, **options)


@pytest.fixture(scope="module")
def guarded() -> Iterator[Guarded]:
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
        yield Guarded(Topics(kafka.bootstrap_servers), port, iter(users))


def rights(topic: str, prefix: str) -> dict[str, list[Right]]:
    """All that exactly-once needs, by name."""
    on_log: list[Right] = [(TOPIC, LOG_TOPIC, LITERAL, op) for op in (AclOperation.READ, AclOperation.WRITE)]
    return {
        "id": [(ID, prefix, PREFIXED, AclOperation.WRITE)],
        "topic, READ": [(TOPIC, topic, LITERAL, AclOperation.READ)],
        "topic, WRITE": [(TOPIC, topic, LITERAL, AclOperation.WRITE)],
        "log, READ": on_log[:1],
        "log, WRITE": on_log[1:],
    }


def write(guarded: Guarded, folder: Path, without: tuple[str, ...] = ()) -> None:
    """Two batches by a user who has all rights but some, over a restart, so that all is used."""
    topic, prefix, user = guarded.topics.create(), uuid.uuid4().hex, next(guarded.users)
    guarded.grant(user, [r for name, some in rights(topic, prefix).items() if name not in without for r in some])
    sink = guarded.sink(user, topic, prefix)
    ensure_topics_exist(sink)
    for run in ("one", "two"):
        engine = SimulatedQuery(sink, folder, run, prefix)
        try:
            engine.run_batch(tasks=2)
        finally:
            engine.close()
    assert len(guarded.topics.take(topic, 2 * ROWS, **{"isolation.level": "read_committed"})) == 2 * ROWS


def test_the_log_that_nobody_may_create(guarded: Guarded, tmp_path: Path) -> None:
    """The first test of its file: those that follow make the log."""
    with pytest.raises(AuthorizationError, match=rf"'{LOG_TOPIC}', .* may not create it: .*CREATE, or create it"):
        write(guarded, tmp_path)


@pytest.fixture
def with_log(guarded: Guarded) -> Guarded:
    create_log(to_librdkafka({"bootstrap.servers": guarded.topics.bootstrap}))
    return guarded


def test_the_rights_that_are_named_suffice(with_log: Guarded, tmp_path: Path) -> None:
    write(with_log, tmp_path)


@pytest.mark.parametrize(
    ("without", "words"),
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
def test_what_is_missing_is_named(with_log: Guarded, tmp_path: Path, without: tuple[str, ...], words: str) -> None:
    with pytest.raises(AuthorizationError, match=words):
        write(with_log, tmp_path, without)


def test_a_topic_that_is_not_there_is_told_from_one_that_may_not_be_seen(guarded: Guarded) -> None:
    user = next(guarded.users)
    guarded.grant(user, [(TOPIC, "absent", LITERAL, AclOperation.WRITE)])
    with pytest.raises(TopicNotFoundError, match="Topic 'absent' does not exist on"):
        ensure_topics_exist(guarded.sink(user, "absent", "p"))
    with pytest.raises(
        AuthorizationError, match=r"'secret' does not exist on .*, or the user .* is not authorized to see it. Grant"
    ):
        ensure_topics_exist(guarded.sink(user, "secret", "p"))
    assert "absent" not in guarded.topics.admin.list_topics(timeout=30).topics


def test_a_reader_needs_no_right_on_a_group_that_it_does_not_use(guarded: Guarded) -> None:
    topic, user = guarded.topics.create(), next(guarded.users)
    guarded.topics.put(topic, b"a", b"b")
    guarded.grant(user, [(TOPIC, topic, LITERAL, AclOperation.READ)])
    config = to_librdkafka({**guarded.properties(user), "group.id": "nobodys"})
    for _ in range(3):  # when the answer about the group comes is by chance
        found = [v for records in read_records(config, Split(topic, 0, 0, 2)) for v in records.values.to_pylist()]
        assert found == [b"a", b"b"]
    cluster = Cluster(config)
    with pytest.raises(AuthorizationError, match=r"[Gg]roup.*READ on the group of 'properties.group.id'"):
        cluster.committed("nobodys", [(topic, 0)])
    with pytest.raises(AuthorizationError, match=r"[Gg]roup"):
        cluster.commit("nobodys", {(topic, 0): 1}).result(30)
