"""A real Apache Kafka on this machine: its jars, its processes, its end. Needs Java and nothing else.

From the shell: ``python -m kafka_sql.embedded``.
"""

from kafka_sql.embedded.cluster import EmbeddedKafka
from kafka_sql.embedded.node import Node

__all__ = ["EmbeddedKafka", "Node"]
