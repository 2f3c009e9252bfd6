"""Let Spark find ``format("kafka_sql")`` without registration: it imports installed modules named pyspark_*."""

from kafka_sql.catalog.options_source import KafkaSource as DefaultSource

__all__ = ["DefaultSource"]
