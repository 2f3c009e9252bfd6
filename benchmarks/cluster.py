"""Start the broker and the schema registry that all of ``benchmarks.peers`` share."""

from __future__ import annotations

from types import TracebackType

from confluent_kafka.admin import AdminClient, NewTopic

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.embedded.registry import EmbeddedRegistry


class Cluster:
    """A broker and a schema registry that run during a ``with`` block. The broker's JVM has settings for servers."""

    def __enter__(self) -> Cluster:
        """Start both."""
        # Delete the files of deleted topics at once. With the default of one minute, each write uses new memory, which
        # doubled the broker's time for the later measurements of a run.
        properties = {"log.segment.delete.delay.ms": "0"}
        self._kafka = EmbeddedKafka(properties=properties, java_options=["-Xmx1g"]).start()
        try:
            self._registry = EmbeddedRegistry().start()
        except BaseException:
            self._kafka.stop()
            raise
        self.bootstrap, self.registry = self._kafka.bootstrap_servers, self._registry.url
        self._admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop both."""
        self._registry.stop()
        self._kafka.stop()

    def create(self, topic: str, partitions: int) -> None:
        """Create a topic."""
        self._admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(60)

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        self._admin.delete_topics([topic])[topic].result(60)
