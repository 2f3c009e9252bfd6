"""Run the three peers as processes: this project on Spark, Spark's own Kafka connector, and Flink SQL."""
