"""Find Kafka tables in queries by position, and replace them with text that Spark can read."""
