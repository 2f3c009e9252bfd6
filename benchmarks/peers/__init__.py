"""The three peers as processes that take requests: this project on Spark, Spark's own Kafka source, Flink SQL."""
