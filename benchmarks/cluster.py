"""The broker and the registry that all peers share."""

from __future__ import annotations

from types import TracebackType

from confluent_kafka.admin import AdminClient, NewTopic

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.embedded.registry import EmbeddedRegistry


class Cluster:
    """One broker with a server's JVM, and a schema registry, for the length of a ``with`` block."""

    def __enter__(self) -> Cluster:
        """Start them."""
        # at once: while deleted topics are kept for Kafka's minute, each write takes memory that the machine has not
        # touched yet, which doubled the broker's time for those that came late in a run
        gone = {"log.segment.delete.delay.ms": "0"}
        self._kafka = EmbeddedKafka(properties=gone, java_options=["-Xmx1g"]).start()
        try:
            self._registry = EmbeddedRegistry().start()
        except BaseException:
            self._kafka.stop()
            raise
        self.bootstrap, self.registry = self._kafka.bootstrap_servers, self._registry.url
        self._admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End them."""
        self._registry.stop()
        self._kafka.stop()

    def create(self, topic: str, partitions: int) -> None:
        """Make a topic."""
        self._admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(60)

    def delete(self, topic: str) -> None:
        """Delete one."""
        self._admin.delete_topics([topic])[topic].result(60)
