"""Where a query names Kafka tables, by position in its text, and what Spark reads in their place."""
