"""Flink's own test programs, read from its published test jar and run on Kafka tables of this project."""
