"""The name by which Spark finds ``format("kafka_sql")`` without any registration."""

from kafka_sql.catalog.options_source import KafkaFormat as DefaultSource

__all__ = ["DefaultSource"]
