"""'sink.topic.create': topics are created as declared, and existing ones are compared with the table."""

from __future__ import annotations

import uuid

import pytest
from confluent_kafka.admin import ConfigResource, ResourceType

from kafka_sql.definition import Definition, validate_table
from kafka_sql.errors import BrokerUnreachableError, InvalidOptionError, TopicMismatchError, TopicNotFoundError
from kafka_sql.sink.topics import ensure_topics_exist
from kafka_sql.table.table import Column, Table
from tests.topics import Topics

pytestmark = pytest.mark.integration


def table(bootstrap: str, topic: str, **overrides: str) -> Definition:
    options = {"connector": "kafka", "topic": topic, "properties.bootstrap.servers": bootstrap, "format": "json"}
    return validate_table(Table(("t",), (Column("a", "INT", "INT"),), {**options, **overrides}))


def upsert(bootstrap: str, topic: str, **overrides: str) -> Definition:
    options = {
        "connector": "upsert-kafka",
        "topic": topic,
        "properties.bootstrap.servers": bootstrap,
        "key.format": "json",
        "value.format": "json",
    }
    return validate_table(
        Table(("t",), (Column("a", "INT", "INT", nullable=False),), {**options, **overrides}, primary_key=("a",))
    )


def new_name() -> str:
    return f"created-{uuid.uuid4().hex[:8]}"


def config(topics: Topics, topic: str, key: str) -> str:
    resource = ConfigResource(ResourceType.TOPIC, topic)
    value: str = topics.admin.describe_configs([resource])[resource].result(30)[key].value
    return value


CREATE = {"sink.topic.create": "true"}


def test_no_topic_is_created_by_default(topics: Topics) -> None:
    name = new_name()
    with pytest.raises(TopicNotFoundError):
        ensure_topics_exist(table(topics.bootstrap, name))
    assert name not in topics.admin.list_topics(timeout=30).topics


def test_topics_are_created_as_declared(topics: Topics) -> None:
    first, second = new_name(), new_name()
    overrides = {"sink.topic.partitions": "3", "sink.topic.replication-factor": "1"}
    overrides["sink.topic.config.retention.ms"] = "123000"
    ensure_topics_exist(table(topics.bootstrap, f"{first};{second}", **CREATE, **overrides))
    metadata = topics.admin.list_topics(timeout=30).topics
    for name in (first, second):
        assert len(metadata[name].partitions) == 3
        assert config(topics, name, "retention.ms") == "123000"
        assert config(topics, name, "cleanup.policy") == "delete"


def test_the_topic_of_an_upsert_table_is_compacted(topics: Topics) -> None:
    first, second = new_name(), new_name()
    ensure_topics_exist(upsert(topics.bootstrap, first, **CREATE))
    assert config(topics, first, "cleanup.policy") == "compact"
    policy = {"sink.topic.config.cleanup.policy": "compact,delete"}
    ensure_topics_exist(upsert(topics.bootstrap, second, **CREATE, **policy))
    assert config(topics, second, "cleanup.policy") == "compact,delete"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"sink.topic.partitions": "3"}, "has partitions 2, but option 'sink.topic.partitions' = '3'"),
        ({"sink.topic.replication-factor": "2"}, "has replication-factor 1, but option"),
        (
            {"sink.topic.config.cleanup.policy": "compact"},
            "has cleanup.policy 'delete', but option 'sink.topic.config.cleanup.policy' = 'compact'",
        ),
    ],
)
def test_an_existing_topic_is_compared(topics: Topics, overrides: dict[str, str], message: str) -> None:
    topic = topics.create(2)
    ensure_topics_exist(table(topics.bootstrap, topic, **CREATE, **{"sink.topic.partitions": "2"}))
    with pytest.raises(TopicMismatchError) as e:
        ensure_topics_exist(table(topics.bootstrap, topic, **CREATE, **overrides))
    assert f"Table 't': topic '{topic}' exists and {message}" in str(e.value)


@pytest.mark.parametrize(
    ("overrides", "option"),
    [
        ({"sink.topic.replication-factor": "3"}, "sink.topic.replication-factor"),
        ({"sink.topic.config.retention.ms": "soon"}, r"sink.topic.config.\*"),
        ({"sink.topic.config.retention": "1"}, r"sink.topic.config.\*"),
    ],
)
def test_settings_that_the_cluster_rejects(topics: Topics, overrides: dict[str, str], option: str) -> None:
    with pytest.raises(InvalidOptionError, match=rf"cannot be created .* Check option '{option}'"):
        ensure_topics_exist(table(topics.bootstrap, new_name(), **CREATE, **overrides))


def test_no_broker() -> None:
    wait = {"properties.default.api.timeout.ms": "500"}
    with pytest.raises(BrokerUnreachableError, match=r"No broker of '127\.0\.0\.1:1'"):
        ensure_topics_exist(table("127.0.0.1:1", "t", **CREATE, **wait))
