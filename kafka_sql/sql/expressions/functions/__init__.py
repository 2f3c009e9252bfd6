"""Flink's functions in Spark's words: one file a subject, each with a table from the name to its translation."""
