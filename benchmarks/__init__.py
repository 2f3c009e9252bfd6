"""Benchmarks against Spark's own Kafka connector and Flink SQL. Claims are ratios of runs on the same broker."""
