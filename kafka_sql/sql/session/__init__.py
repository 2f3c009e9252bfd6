"""Enable a session, and what its methods return for Kafka tables."""
