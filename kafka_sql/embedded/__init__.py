"""Run a real Apache Kafka cluster and a schema registry on this machine. Only Java is required.

Command line: ``python -m kafka_sql.embedded``.
"""

from kafka_sql.embedded.cluster import EmbeddedKafka
from kafka_sql.embedded.node import Node
from kafka_sql.embedded.registry import EmbeddedRegistry

__all__ = ["EmbeddedKafka", "EmbeddedRegistry", "Node"]
