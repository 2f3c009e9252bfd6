"""A real Apache Kafka and schema registry on this machine: jars, processes, their end. Needs Java and nothing else.

From the shell: ``python -m kafka_sql.embedded``.
"""

from kafka_sql.embedded.cluster import EmbeddedKafka
from kafka_sql.embedded.node import Node
from kafka_sql.embedded.registry import EmbeddedRegistry

__all__ = ["EmbeddedKafka", "EmbeddedRegistry", "Node"]
