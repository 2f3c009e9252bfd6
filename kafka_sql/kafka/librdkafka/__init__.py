"""Consumer and producer on librdkafka. Used where the direct client does not support a table's settings or records."""
