"""Fixtures: one Kafka and one Spark for all integration tests, started by the package itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from confluent_kafka import Message
    from pyspark.sql import SparkSession

    from kafka_sql.embedded import EmbeddedKafka

_NAMES = count(1)


@pytest.fixture(scope="session")
def kafka() -> Iterator[EmbeddedKafka]:
    """One broker for the whole run."""
    from kafka_sql.embedded import EmbeddedKafka

    with EmbeddedKafka(properties={"log.cleaner.backoff.ms": "200"}) as broker:
        yield broker


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One local Spark that knows Flink's statements."""
    from pyspark.sql import SparkSession

    import kafka_sql

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield kafka_sql.enable(session)
    session.stop()


@pytest.fixture
def sql(spark: SparkSession) -> Iterator[Callable[..., Any]]:
    """``spark.sql``, with the session's settings and tables as they were before, afterwards."""
    before = {row.tableName for row in spark.sql("SHOW TABLES").collect()}
    yield spark.sql
    for query in spark.streams.active:
        query.stop()
    for key in (
        "execution.runtime-mode",
        "execution.checkpointing.dir",
        "execution.checkpointing.interval",
        "pipeline.name",
    ):
        spark.sql(f"RESET '{key}'")
    for row in spark.sql("SHOW TABLES").collect():
        if row.tableName not in before:
            spark.sql(f"DROP TABLE `{row.tableName}`")


class Topics:
    """Topics of one test on the session's broker."""

    def __init__(self, bootstrap: str) -> None:
        """Connect."""
        from confluent_kafka.admin import AdminClient

        self.bootstrap = bootstrap
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def create(self, partitions: int = 1, **config: str) -> str:
        """A new topic's name."""
        from confluent_kafka.admin import NewTopic

        name = f"topic-{next(_NAMES)}"
        settings = {key.replace("_", "."): value for key, value in config.items()}
        self.admin.create_topics([NewTopic(name, partitions, 1, config=settings)])[name].result(30)
        return name

    def with_options(self, topic: str, **more: str) -> str:
        """The WITH clause of a JSON table that reads from the start; ``more`` adds or replaces options."""
        options = {
            "connector": "kafka",
            "topic": topic,
            "properties.bootstrap.servers": self.bootstrap,
            "scan.startup.mode": "earliest-offset",
            "format": "json",
        }
        return "WITH (" + ", ".join(f"'{k}' = '{v}'" for k, v in {**options, **more}.items()) + ")"

    def put(self, topic: str, *values: bytes | None, partition: int = 0, **more: Any) -> None:
        """Send records by Kafka's own client and wait for them."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.bootstrap, "log_level": 0, "acks": "all"})
        for value in values:
            producer.produce(topic, value, partition=partition, **more)
        assert producer.flush(30) == 0

    def take(self, topic: str, expected: int, partitions: int = 1, **config: str) -> list[Message]:
        """All records of a topic by Kafka's own client, sorted by place; fails unless there are ``expected``."""
        from confluent_kafka import Consumer, KafkaError, TopicPartition

        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "tests",
                "enable.partition.eof": "true",
                "enable.auto.commit": "false",
                **config,
            }
        )
        consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
        found: list[Message] = []
        ended: set[int | None] = set()
        while len(ended) < partitions:
            message = consumer.poll(30)
            assert message is not None, f"{topic}: no end of the partition within 30 s"
            error = message.error()
            if error is None:
                found.append(message)
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(message.partition())
        consumer.close()
        assert len(found) == expected, [m.value() for m in found]
        return sorted(found, key=lambda m: (m.partition() or 0, m.offset() or 0))


@pytest.fixture
def topics(kafka: EmbeddedKafka) -> Topics:
    """Topics on the session's broker."""
    return Topics(kafka.bootstrap_servers)
