"""Rewrite Flink's windows in queries, by position, to subqueries that Spark can run in batches and in streams."""
