"""Topics for tests, filled and read by Kafka's own client: what this project does is checked from outside."""

from __future__ import annotations

import time
from itertools import count
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AclBinding, AclBindingFilter, AdminClient, NewTopic

from kafka_sql.kafka.config.properties import to_librdkafka
from tests.chaos.clusters import until

_NAMES = count(1)


def grant(admin: AdminClient, rules: list[AclBinding]) -> None:
    """Make access rules, and wait until the broker goes by them: the controller answers before it does."""
    for rule, made in (admin.create_acls(rules) if rules else {}).items():
        made.result(30)
        known = AclBindingFilter(
            rule.restype,
            rule.name,
            rule.resource_pattern_type,
            rule.principal,
            rule.host,
            rule.operation,
            rule.permission_type,
        )
        while not admin.describe_acls(known).result(30):
            pass  # each question waits for the broker's answer


class Topics:
    """Topics of one test on the session's broker."""

    def __init__(self, bootstrap: str) -> None:
        """Connect."""
        self.bootstrap = bootstrap
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def create(self, partitions: int = 1, **config: str) -> str:
        """A new topic's name."""
        return self._create(f"topic-{next(_NAMES)}", partitions, config)

    def create_named(self, name: str, partitions: int = 1, **config: str) -> str:
        """The same under a given name, instead of what another test has left there."""
        self.delete(name)
        return self._create(name, partitions, config)

    def delete(self, name: str) -> None:
        """Without what another test may have left under the name."""
        if name in self.admin.list_topics(timeout=30).topics:
            self.admin.delete_topics([name])[name].result(30)
            until(lambda: self._count(name) == 0, f"the broker has no '{name}'")

    def _create(self, name: str, partitions: int, config: dict[str, str]) -> str:
        # tests write records with times long past, which the broker would otherwise remove at its next look
        settings = {"retention.ms": "-1"} | {key.replace("_", "."): value for key, value in config.items()}
        self.admin.create_topics([NewTopic(name, partitions, 1, config=settings)])[name].result(30)
        until(lambda: self._count(name) == partitions, f"the broker has '{name}'")  # and not the one before it
        return name

    def _count(self, name: str) -> int:
        found = self.admin.list_topics(timeout=30).topics.get(name)
        return len(found.partitions) if found is not None else 0

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

    def client(self, **more: str) -> dict[str, str]:
        """A client's configuration by Java's properties, with ``_`` for the dots of their names."""
        return to_librdkafka({"bootstrap.servers": self.bootstrap, **{k.replace("_", "."): v for k, v in more.items()}})

    def put(self, topic: str, *values: bytes | None, partition: int = 0, **more: Any) -> None:
        """Send records by Kafka's own client and wait for them."""
        # one request at a time: a new topic's first ones are sent again, and must not change places; idempotence would
        # have each of these short-lived producers ask for an id first
        settings = {"acks": "all", "max.in.flight.requests.per.connection": 1}
        producer = Producer({"bootstrap.servers": self.bootstrap, "log_level": 0, **settings})
        for value in values:
            producer.produce(topic, value, partition=partition, **more)
        assert producer.flush(30) == 0

    def take(self, topic: str, expected: int, partitions: int = 1, **config: str) -> list[Message]:
        """All records of a topic by Kafka's own client, sorted by place; fails unless there are ``expected``.

        Those of a transaction may be seen a moment after its commit was answered: what is missing is waited for.
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
        found: list[Message] = []
        ended: set[int | None] = set()
        deadline = time.monotonic() + 30
        while len(ended) < partitions or (len(found) < expected and time.monotonic() < deadline):
            message = consumer.poll(max(deadline - time.monotonic(), 0.1))
            assert message is not None or ended, f"{topic}: no end of a partition within 30 s"
            if message is None:
                break
            error = message.error()
            if error is None:
                found.append(message)
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(message.partition())
        consumer.close()
        assert len(found) == expected, [m.value() for m in found[:100]]
        return sorted(found, key=lambda m: (m.partition() or 0, m.offset() or 0))
