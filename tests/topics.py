"""Create, fill and read topics in tests with confluent-kafka, independently of this package."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import count
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AclBinding, AclBindingFilter, AdminClient, NewPartitions, NewTopic

from kafka_sql.kafka.config.properties import to_librdkafka
from tests.waiting import wait_until

# of a topic that accepts all timestamps, as all topics did before Kafka 4.0
ANY_TIMESTAMP: Final = {"message_timestamp_after_max_ms": str(2**63 - 1)}
_NAMES = count(1)


def grant(admin: AdminClient, rules: list[AclBinding]) -> None:
    """Create ACLs, and wait until the broker applies them: the controller responds earlier."""
    for rule, future in (admin.create_acls(rules) if rules else {}).items():
        future.result(30)
        filter_ = AclBindingFilter(
            rule.restype,
            rule.name,
            rule.resource_pattern_type,
            rule.principal,
            rule.host,
            rule.operation,
            rule.permission_type,
        )
        while not admin.describe_acls(filter_).result(30):
            pass  # each request waits for the broker's response


def _check_delivery(error: KafkaError | None, _: Message) -> None:
    if error is not None:
        raise KafkaException(error)


class Topics:
    """The topics of one broker."""

    def __init__(self, bootstrap: str, prefix: str = "topic") -> None:
        """Connect.

        Args:
            bootstrap: bootstrap servers.
            prefix: of the names of topics, which must be unique for each process that uses the broker.
        """
        self.bootstrap, self.prefix = bootstrap, prefix
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def create(self, partitions: int = 1, **config: str) -> str:
        """Create a topic and return its name."""
        return self._create(f"{self.prefix}-{next(_NAMES)}", partitions, config)

    def create_named(self, name: str, partitions: int = 1, **config: str) -> str:
        """Create a topic with a name; delete an existing one of another test before."""
        self.delete(name)
        return self._create(name, partitions, config)

    def delete(self, name: str) -> None:
        """Delete a topic if it exists."""
        if name in self.admin.list_topics(timeout=30).topics:
            self.admin.delete_topics([name])[name].result(30)
            wait_until(lambda: self._count(name) == 0, f"the broker has no '{name}'")

    def add_partitions(self, name: str, partitions: int) -> None:
        """Increase the number of partitions of a topic to ``partitions``, and wait until the broker knows them."""
        self.admin.create_partitions([NewPartitions(name, partitions)])[name].result(30)
        wait_until(lambda: self._count(name) == partitions, f"'{name}' has {partitions} partitions")

    def _create(self, name: str, partitions: int, config: dict[str, str]) -> str:
        # tests write records with old timestamps, which the broker would otherwise delete
        settings = {"retention.ms": "-1"} | {key.replace("_", "."): value for key, value in config.items()}
        self.admin.create_topics([NewTopic(name, partitions, 1, config=settings)])[name].result(30)
        wait_until(lambda: self._count(name) == partitions, f"the broker has '{name}'")  # and not its predecessor
        return name

    def _count(self, name: str) -> int:
        topic = self.admin.list_topics(timeout=30).topics.get(name)
        return len(topic.partitions) if topic is not None else 0

    def with_options(self, topic: str, **overrides: str) -> str:
        """Return the WITH clause of a JSON table that reads from the start; ``overrides`` adds or replaces options."""
        options = {
            "connector": "kafka",
            "topic": topic,
            "properties.bootstrap.servers": self.bootstrap,
            "scan.startup.mode": "earliest-offset",
            "format": "json",
        }
        return "WITH (" + ", ".join(f"'{k}' = '{v}'" for k, v in {**options, **overrides}.items()) + ")"

    def with_upsert_options(self, topic: str, **overrides: str) -> str:
        """Return the WITH clause of an upsert table with JSON; ``overrides`` adds or replaces options."""
        options = {
            "connector": "upsert-kafka",
            "topic": topic,
            "properties.bootstrap.servers": self.bootstrap,
            "key.format": "json",
            "value.format": "json",
            **overrides,
        }
        return "WITH (" + ", ".join(f"'{k}' = '{v}'" for k, v in options.items()) + ")"

    def client(self, **properties: str) -> dict[str, str]:
        """Return a client's configuration for Java's properties, with ``_`` for the dots of their names."""
        return to_librdkafka(
            {"bootstrap.servers": self.bootstrap, **{k.replace("_", "."): v for k, v in properties.items()}}
        )

    def produce(self, topic: str, *values: bytes | None, partition: int = 0, **record_fields: Any) -> None:
        """Produce records and wait until they are acknowledged. All have the same ``record_fields``, such as a key."""
        self._produce(topic, ({"value": value, "partition": partition, **record_fields} for value in values))

    def produce_all(self, topic: str, records: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Produce keys and values, each to the partition of its key, and wait until they are acknowledged."""
        self._produce(topic, ({"key": key, "value": value} for key, value in records))

    def _produce(self, topic: str, records: Iterable[Mapping[str, Any]]) -> None:
        self._producer.list_topics(topic, timeout=30)  # another topic may have had the name before
        for record in records:
            self._producer.produce(topic, on_delivery=_check_delivery, **record)
        assert self._producer.flush(30) == 0

    @cached_property
    def _producer(self) -> Producer:
        # idempotent, because requests may be retried; kept, because librdkafka waits half a second for a producer id
        settings = {"enable.idempotence": True, "queue.buffering.max.messages": 1000000, "log_level": 0}
        return Producer({"bootstrap.servers": self.bootstrap, **settings})

    def consume(self, topic: str, expected: int, partitions: int = 1, **config: str) -> list[Message]:
        """Return all records of a topic, sorted by partition and offset; fail unless there are ``expected``.

        Waits for missing records: those of a transaction may become visible shortly after the commit's response.
        """
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
        messages: list[Message] = []
        ended: set[int | None] = set()
        deadline = time.monotonic() + 30
        while len(ended) < partitions or (len(messages) < expected and time.monotonic() < deadline):
            message = consumer.poll(max(deadline - time.monotonic(), 0.1))
            assert message is not None or ended, f"{topic}: no end of a partition within 30 s"
            if message is None:
                break
            error = message.error()
            if error is None:
                messages.append(message)
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(message.partition())
        consumer.close()
        assert len(messages) == expected, [m.value() for m in messages[:100]]
        return sorted(messages, key=lambda m: (m.partition() or 0, m.offset() or 0))
